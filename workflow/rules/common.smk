"""What the rules share: the configuration, checked, and the experiments of the tier with their hashes."""

import functools
import os
import re
import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from reprise.cluster import slurm_partition, within_limits
from reprise.config.project import load_project
from reprise.environment import LDC_WSJ
from reprise.config.resolve import other_tiers, resolve_tier
from reprise.plan import require_past
from reprise.training.locks import Held, lock_clone
from reprise.training.devices import gpus_wanted, learns, trains_together, visible_gpus
from reprise.errors import EXIT_INTERRUPTED, EXIT_USAGE, UserError
from reprise.estimate.estimates import estimates, memory_limit, summary, time_limit
from reprise.files import told_of, write_if_changed


def stop(error):
    """End with one line instead of a traceback."""
    line = told_of(error) if isinstance(error, OSError) else error
    print(f"reprise: error: {line}", file=sys.stderr, flush=True)
    sys.exit(EXIT_INTERRUPTED if isinstance(error, Held) else EXIT_USAGE)


# What the user's shell exports for other programs goes: without bytecode `import torch` takes twice as long in every
# job, and without docstrings the page lacks its text. Where a terminal goes, the job waits for its training to save.
shell.prefix(
    "set -euo pipefail; trap : HUP; unset PYTHONDONTWRITEBYTECODE PYTHONOPTIMIZE; "
    "report_kill() {{ local status=$?; [ $status -le 128 ] || "
    'echo "reprise: killed by signal $((status - 128)); memory is the usual cause of signal 9; '
    'run it again, and it goes on from its last checkpoint" >> $1; return $status; }}; '
)


try:
    # Here `config` holds only what the command line says; the files are read strictly, by reprise.
    PROJECT = load_project(".", dict(config))
    EXPERIMENTS = resolve_tier(PROJECT)
except UserError as error:
    stop(error)

# The jobs are commands of their own, which read config/ again.
if PROJECT.config.ldc_wsj:
    os.environ[LDC_WSJ] = PROJECT.config.ldc_wsj

TIER = PROJECT.config.tier
RESULTS = f"results/{TIER}"
BY_ID = {experiment.id: experiment for experiment in EXPERIMENTS}
RECORDS = [path for experiment in EXPERIMENTS for path in experiment.record_paths()]


def pattern_of_existing(name, paths):
    """A pattern of the files that are there, called as the wildcard of their rule has them; "" where there is none.

    They are sources then and no outputs of the rule. One that is asked for by name stays an output, so that
    `snakemake --force <record>` makes it again.
    """
    there = [p for p in paths if Path(p).exists() and p not in sys.argv]
    return "|".join(re.escape(name(p)) for p in there)


# A record that is there is a source, so that nothing makes Snakemake train it again: as an output it is remade where
# its corpus is missing and has to be made for another experiment, `ancient` or not.
DONE = pattern_of_existing(lambda path: path.removeprefix(f"{RESULTS}/runs/"), RECORDS)
# A corpus is made for whichever experiment reads it; its name says all that it depends on.
CORPORA = {e.corpus: e for e in EXPERIMENTS if e.corpus}
# One that is there is a source as well: it was put there whole. As an output that was not marked as finished, because
# the power failed just then, it would be made again, and Snakemake leaves out whatever waits for an `ancient` file that
# is made again and is there (its issue 4166): the run would end early, as if all were done.
PREPARED = pattern_of_existing(lambda path: Path(path).name, CORPORA)

try:
    for experiment in EXPERIMENTS:
        write_if_changed(experiment.config_path(), experiment.to_json())
except OSError as error:
    stop(error)


def begin_run():
    """Before the first job: one run a clone, inputs that outputs can follow, and an orderly end where a terminal goes."""
    if hasattr(workflow.executor_settings, "partition_config") and not shutil.which(
        "sbatch"
    ):
        stop(
            "--profile profiles/slurm: no command 'sbatch' on this machine; run it on the cluster's head node, "
            "or omit the profile"
        )
    try:
        lock_clone(Path(".snakemake/reprise.lock"))
        inputs = [Path(path) for path in (*PAGE, *WORDING, *REFERENCE, *RECORDS)]
        require_past(path for path in inputs if path.exists())
    except (Held, UserError, OSError) as error:
        stop(error)
    # Under nohup it is ignored, and stays so.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))


needs_conda = any(
    "conda" in str(method).lower()
    for method in workflow.deployment_settings.deployment_method
)
if needs_conda and shutil.which("conda") is None:
    stop(
        "--use-conda: no command 'conda' on this machine; omit the flag to run with the Python at hand"
    )


@functools.cache
def partitions():
    """The limits of the partitions that a cluster's profile names, else those that SLURM states of where jobs will go.

    None where jobs run on this machine.
    """
    settings = workflow.executor_settings
    if not hasattr(settings, "partition_config"):
        return None
    path = settings.partition_config or os.environ.get("SNAKEMAKE_SLURM_PARTITIONS")
    if path:
        from snakemake_executor_plugin_slurm.partitions import read_partition_file
        from snakemake_interface_common.exceptions import WorkflowError

        try:
            named = [partition.limits for partition in read_partition_file(path)]
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
            WorkflowError,
        ) as error:
            stop(f"{path}: key partitions: {error}; correct it, see docs/slurm.md")
        if named:
            return named
    asked = workflow.resource_settings
    if any("slurm_partition" in given for given in asked.overwrite_resources.values()):
        return []  # a partition of its own for some rule: SLURM has the last word
    chosen = asked.default_resources or {}
    chosen = chosen["slurm_partition"] if "slurm_partition" in chosen else None
    found = slurm_partition(chosen and str(getattr(chosen, "raw", chosen)))
    return [found] if found else []


@functools.cache
def most_gpus():
    """GPUs that a job can have. On a cluster the partitions say so: the head node has none."""
    if partitions() is None:
        return visible_gpus()
    return max((limits.max_gpu for limits in partitions()), default=0)


@functools.cache
def limits_of(experiment_id):
    """Minutes and memory (MB) of a replica: as estimated, else as config/config.yaml has them."""
    experiment, stated = BY_ID[experiment_id], PROJECT.config.resources.train
    like = BY_ID.get(f"{experiment.paper}/{experiment.base}")
    return (
        time_limit(experiment, stated.runtime, like=like),
        memory_limit(experiment, stated.mem_mb, like=like),
    )


def attempted(attempt, minutes, mem_mb, gpus):
    """Minutes and memory (MB) to ask for, doubled with every attempt as far as a partition allows it."""
    more = 2 ** (attempt - 1)
    return within_limits(minutes * more, mem_mb * more, gpus, partitions() or [])


def resources_of(kind):
    """mem_mb and runtime (minutes) of a kind of job, doubled with every new attempt as far as a partition allows it.

    A replica has what it was estimated to take and room besides, where it was.
    """
    stated = getattr(PROJECT.config.resources, kind)

    def wanted(wildcards, attempt):
        minutes, mem_mb = stated.runtime, stated.mem_mb
        if kind == "train" and trained_together(wildcards):
            minutes = MINUTES_TO_MOVE
        elif kind == "train":
            minutes, mem_mb = limits_of(resolved(wildcards).id)
        return attempted(attempt, minutes, mem_mb, 0)

    return {
        "mem_mb": lambda wildcards, attempt: wanted(wildcards, attempt)[1],
        "runtime": lambda wildcards, attempt: wanted(wildcards, attempt)[0],
    }


# Where the records of replicas that train together lie until the rule `train` takes each to its place.
FOUND = "build/together"
MINUTES_TO_MOVE = 10


def trained_together(wildcards):
    """The mark that a job leaves which trains all missing replicas of the experiment, where one does here."""
    if not trains_together(resolved(wildcards), most_gpus()):
        return []
    return [f"{FOUND}/{TIER}/{wildcards.paper}/{wildcards.experiment}.done"]


def wanted_together(wildcards, attempt):
    """Minutes and memory (MB) of the job. On a CPU its replicas take turns; on a GPU they take as long as one.

    Their memory adds up: what trains on a GPU passes through the program's when it is made and when it is saved.
    """
    experiment, gpus = resolved(wildcards), most_gpus()
    missing = sum(not Path(path).exists() for path in experiment.record_paths())
    minutes, mem_mb = limits_of(experiment.id)
    together = minutes if gpus else minutes * max(1, missing)
    room = max(PROJECT.config.resources.train.mem_mb, mem_mb * missing)
    return attempted(attempt, together, room, gpus_wanted(experiment, gpus))


def outlook():
    """How long the training will take, as far as that is known without measuring."""
    # A cluster has no cores to share out, but so many jobs at a time.
    at_a_time = workflow.cores if workflow.local_exec else workflow.nodes
    try:
        return summary(
            estimates(EXPERIMENTS, tiers=other_tiers(PROJECT)), max(1, at_a_time)
        )
    except (UserError, OSError) as error:
        return str(error)


def experiment_of_corpus(wildcards):
    return CORPORA[f"data/corpora/{wildcards.corpus}.npz"].id


def raw_files(wildcards):
    dataset = CORPORA[f"data/corpora/{wildcards.corpus}.npz"].config["data"]["dataset"]
    return [f"data/raw/{dataset}/{f.name}" for f in PROJECT.spec(dataset).files]


def resolved(wildcards):
    return BY_ID[f"{wildcards.paper}/{wildcards.experiment}"]


def device_of(wildcards, resources):
    """A job that asked for no GPU uses none, even where it sees one that is another's."""
    experiment = resolved(wildcards)
    if not resources.get("gpu") and (
        experiment.device == "auto" or not learns(experiment)
    ):
        return "--device cpu"
    return ""


def unless_trained(wildcards, paths):
    """As inputs. To a record that is there they are `ancient`; to one that is missing never (see PREPARED)."""
    record = resolved(wildcards).record_path(int(wildcards.replica))
    return [ancient(path) for path in paths] if Path(record).exists() else paths


def corpus_of(wildcards):
    corpus = resolved(wildcards).corpus
    return unless_trained(wildcards, [corpus] if corpus else [])


def sources(folder):
    return sorted(
        str(p)
        for p in Path("src/reprise", folder).rglob("*")
        if p.suffix in {".py", ".j2", ".css", ".js", ".mplstyle"}
    )
