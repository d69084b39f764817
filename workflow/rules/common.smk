"""What the rules share: the plan of the jobs, and what a run does before its first one."""

import os
import shutil
import signal
import sys
from pathlib import Path

RULES = Path(workflow.current_basedir.get_path_or_uri(secret_free=False))
sys.path.insert(0, str(RULES.parents[1] / "src"))

from reprise.cluster import partition_limits
from reprise.environment import LDC_WSJ
from reprise.errors import EXIT_INTERRUPTED, EXIT_USAGE, UserError
from reprise.files import describe_os_error
from reprise.plan import TOGETHER, Plan, require_past
from reprise.training.locks import Held, lock_clone


def stop(error):
    """End with one line instead of a traceback."""
    line = describe_os_error(error) if isinstance(error, OSError) else error
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
    PLAN = Plan.load(config, lambda: partition_limits(workflow))
except UserError as error:
    stop(error)

# The jobs are commands of their own, which read config/ again.
if PLAN.project.config.ldc_wsj:
    os.environ[LDC_WSJ] = PLAN.project.config.ldc_wsj

TIER, RESULTS = PLAN.tier, PLAN.results

if shutil.which("conda") is None and any(
    "conda" in str(m).lower() for m in workflow.deployment_settings.deployment_method
):
    stop("--use-conda: no command 'conda' on this machine; omit the flag")


def begin_run():
    """Before the first job: a cluster, one run a clone, inputs that outputs can follow; then the time it may take."""
    if not workflow.local_exec and shutil.which("sbatch") is None:
        stop(
            "profiles/slurm: no command 'sbatch' here; use the cluster's head node, or omit the profile"
        )
    try:
        lock_clone(Path(".snakemake/reprise.lock"))
        require_past(map(Path, (*PAGE, *WORDING, *REFERENCE, *PLAN.records)))
    except (Held, UserError, OSError) as error:
        stop(error)
    # A closed terminal ends a run as SIGTERM does. Under nohup SIGHUP is ignored, and stays so.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
    jobs = workflow.cores if workflow.local_exec else workflow.nodes
    print(f"reprise: tier {TIER}: {PLAN.outlook(jobs)}", file=sys.stderr, flush=True)


def resources_of(kind):
    """Memory (MB) and minutes of a kind of job."""
    request = lambda wildcards, attempt: PLAN.request(
        kind, attempt, wildcards.get("id", "")
    )
    return {
        "mem_mb": lambda wildcards, attempt: request(wildcards, attempt).mem_mb,
        "runtime": lambda wildcards, attempt: request(wildcards, attempt).runtime,
    }


def refuse_tier(wildcards):
    raise UserError(
        f"a file of the tier {wildcards.other}; write --config tier={wildcards.other}"
    )
