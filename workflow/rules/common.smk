"""What the rules share: the configuration, checked, and the experiments of the tier with their hashes."""

import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.devices import gpus_wanted, visible_gpus
from reprise.errors import UserError
from reprise.files import write_if_changed


def stop(line):
    """Ends with one line instead of a traceback."""
    print(f"reprise: error: {line}", file=sys.stderr, flush=True)
    os._exit(2)


try:
    # Here `config` holds only what the command line says; the files are read strictly, by reprise.
    PROJECT = load_project(".", dict(config))
    EXPERIMENTS = resolve_tier(PROJECT)
except UserError as error:
    stop(error)

TIER = PROJECT.config.tier
RESULTS = f"results/{TIER}"
BY_ID = {experiment.id: experiment for experiment in EXPERIMENTS}
RECORDS = [path for experiment in EXPERIMENTS for path in experiment.record_paths()]
# A record that is there is a source and no output, so that nothing makes Snakemake train it again: as an output it is
# remade where its corpus is missing and has to be made for another experiment, `ancient` or not. One that is asked for
# by name stays an output: `snakemake --force <record>` trains it again.
DONE = "|".join(
    re.escape(path.removeprefix(f"{RESULTS}/runs/"))
    for path in RECORDS
    if Path(path).exists() and path not in sys.argv
)
# A corpus is made for whichever experiment reads it; its name says all that it depends on.
CORPORA = {e.corpus: e for e in EXPERIMENTS if e.corpus}

for experiment in EXPERIMENTS:
    write_if_changed(experiment.config_path(), experiment.to_json())

needs_conda = any(
    "conda" in str(method).lower()
    for method in workflow.deployment_settings.deployment_method
)
if needs_conda and shutil.which("conda") is None:
    stop(
        "--use-conda: no command 'conda' on this machine; leave the flag away to run with the Python at hand"
    )

# On a cluster the head node has no GPU: its profile sets the resource of the rule instead.
VISIBLE_GPUS = visible_gpus()


def resources_of(rule):
    """mem_mb and runtime (minutes) of a rule, doubled with every new attempt."""
    limits = getattr(PROJECT.config.resources, rule)
    return {
        "mem_mb": lambda wildcards, attempt: limits.mem_mb * 2 ** (attempt - 1),
        "runtime": lambda wildcards, attempt: limits.runtime * 2 ** (attempt - 1),
    }


def experiment_of_corpus(wildcards):
    return CORPORA[f"data/corpora/{wildcards.corpus}.npz"].id


def raw_files(wildcards):
    dataset = CORPORA[f"data/corpora/{wildcards.corpus}.npz"].config["data"]["dataset"]
    return [
        f"data/raw/{dataset}/{f.name}" for f in PROJECT.config.datasets[dataset].files
    ]


def resolved(wildcards):
    return BY_ID[f"{wildcards.paper}/{wildcards.experiment}"]


def gpus_of(wildcards):
    return gpus_wanted(resolved(wildcards), VISIBLE_GPUS)


def corpus_of(wildcards):
    corpus = resolved(wildcards).corpus
    return [corpus] if corpus else []


def sources(folder):
    return sorted(
        str(p)
        for p in Path("src/reprise", folder).rglob("*")
        if p.suffix in {".py", ".j2", ".css", ".js"}
    )
