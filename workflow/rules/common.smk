"""What the rules share: the plan of the jobs, what a run checks before its first one, and what a job asks for."""

import logging
import os
import shutil
import sys
from pathlib import Path

RULES = Path(workflow.current_basedir.get_path_or_uri(secret_free=False))
sys.path.insert(0, str(RULES.parents[1] / "src"))

from reprise.cluster import find_partition_limits, require_cluster
from reprise.environment import LDC_WSJ
from reprise.errors import UserError
from reprise.outputs import Outputs
from reprise.plan import TOGETHER, Plan, stop_on_error
from reprise.terminal import start_logging

# Jobs run in this Python's environment, also where nobody activated it; with --use-conda each activates its own.
PROGRAM_FOLDERS = [str(Path(sys.executable).parent), *os.get_exec_path()]
os.environ.update({"PATH": os.pathsep.join(PROGRAM_FOLDERS)})

# Two variables that a user's shell may export are unset. Without bytecode `import torch` takes twice as long in every
# job; without docstrings the page lacks its text. When a terminal closes, the job waits for its training to save.
shell.prefix(
    "set -euo pipefail; trap : HUP; unset PYTHONDONTWRITEBYTECODE PYTHONOPTIMIZE; "
    "report_kill() {{ local status=$?; [ $status -le 128 ] || "
    'echo "reprise: killed by signal $((status - 128)); memory is the usual cause of signal 9; '
    'run it again, and it goes on from its last checkpoint" >> $1; return $status; }}; '
)

start_logging(logging.INFO)
with stop_on_error():
    # Here `config` holds only what the command line says; the files are read strictly, by reprise.
    PLAN = Plan.load(config, lambda: find_partition_limits(workflow))
    if workflow.is_main_process:
        PLAN.report_omitted()
    methods = map(str, workflow.deployment_settings.deployment_method)
    if shutil.which("conda") is None and any("conda" in m.lower() for m in methods):
        raise UserError(
            "--use-conda: no command 'conda' on this machine; omit the flag"
        )

OUTPUTS, TIER, RESULTS = (
    Outputs(PLAN.project, PLAN.list_unavailable()),
    PLAN.tier,
    PLAN.results,
)
RECORD = f"{RESULTS}/runs/{{id}}/{{replica}}-{{config_hash}}.json"
# The jobs are commands of their own, which read config/ again.
os.environ.update({LDC_WSJ: PLAN.project.config.ldc_wsj or ""})


def mark_existing(paths):
    """Mark files that exist as made by no job. What the command line names stays an output, for `--force`."""
    settings = workflow.dag_settings
    named = set(map(os.path.normpath, {*settings.targets, *settings.forcerun}))
    return [
        before_update(path) if path not in named and Path(path).exists() else path
        for path in paths
    ]


def is_forced(record):
    """Return whether the command line has a record trained that exists."""
    settings = workflow.dag_settings
    named = {*settings.forcerun, *(settings.targets if settings.forcetargets else ())}
    by_name = record in map(os.path.normpath, named) or "train" in settings.forcerun
    return Path(record).exists() and (settings.forceall or by_name)


def list_records(wildcards):
    return mark_existing(PLAN.records)


def list_evaluations(wildcards):
    return mark_existing(PLAN.list_evaluations())


def list_training_inputs(wildcards):
    """Return what the training of a replica reads; to a record that stays as it is nothing counts as newer."""
    record = RECORD.format_map(wildcards)
    inputs, forced = PLAN.list_inputs(wildcards.id), is_forced(record)
    if forced:
        PLAN.require_alone(wildcards.id, record)
    inputs["corpus"] = mark_existing(inputs["corpus"])
    keep = ancient if Path(record).exists() and not forced else str
    return {name: list(map(keep, paths)) for name, paths in inputs.items()}


def make_resources(kind):
    """Return memory (MB) and minutes of a kind of job."""

    def request_part(part):
        return lambda wildcards, attempt: getattr(
            PLAN.make_request(kind, attempt, wildcards.get("id", "")), part
        )

    return {part: request_part(part) for part in ("mem_mb", "runtime")}
