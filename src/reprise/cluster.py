"""Limit the resources of a cluster's job: a request for more than every partition allows would wait for ever."""

import math
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reprise.errors import UserError
from reprise.processes import read_output

_SECONDS = 30.0
_TIME = re.compile(r"(?:(\d+)-)?(\d+):(\d+):(\d+)")


@dataclass(frozen=True)
class Limits:
    """Hold the most that a job in a partition may request, named as in Snakemake's plugin for SLURM.

    Without a statement time and memory are unlimited, and there are no GPUs.
    """

    max_runtime: float = math.inf
    max_mem_mb: float = math.inf
    max_gpu: int = 0


def limit_request(minutes: int, mem_mb: int, gpus: int, partitions: Iterable[Limits]) -> tuple[int, int]:
    """Cut minutes and memory (MB) down to what one partition allows.

    Only partitions with enough GPUs count; for a job without one, those without GPUs come first. If all allow too
    little, the one with the most time is taken. A training that runs out of time resumes from its checkpoint, but has
    to queue again. Without any partition the request stays as it is.
    """
    suitable = [limits for limits in partitions if limits.max_gpu >= gpus]
    suitable = [limits for limits in suitable if gpus or not limits.max_gpu] or suitable
    allowed = [(int(min(minutes, limits.max_runtime)), int(min(mem_mb, limits.max_mem_mb))) for limits in suitable]
    return max(allowed, default=(minutes, mem_mb))


def require_cluster(workflow: Any) -> None:
    """Refuse a profile for SLURM on a machine without it.

    Args:
        workflow: Snakemake's workflow, once the executor is known.

    Raises:
        UserError: Jobs would be submitted, and there is no command `sbatch`.
    """
    if not workflow.local_exec and shutil.which("sbatch") is None:
        raise UserError("profiles/slurm: no command 'sbatch' here; use the cluster's head node, or omit the profile")


def find_partition_limits(workflow: Any) -> list[Limits] | None:
    """Find the limits of the partitions that a profile names; else SLURM's, of the partition that jobs will go to.

    Args:
        workflow: Snakemake's workflow, whose settings of executor and resources are known once jobs are planned.

    Returns:
        None where jobs run on this machine; an empty list where SLURM has the last word.

    Raises:
        UserError: The profile's file of partitions is damaged.
    """
    executor, resources = workflow.executor_settings, workflow.resource_settings
    if not hasattr(executor, "partition_config"):
        return None
    path = executor.partition_config or os.environ.get("SNAKEMAKE_SLURM_PARTITIONS")
    if path and (partitions := _read_partitions(path)):
        return partitions
    if any("slurm_partition" in rule for rule in resources.overwrite_resources.values()):
        return []
    defaults = resources.default_resources or {}
    chosen = defaults["slurm_partition"] if "slurm_partition" in defaults else None  # noqa: SIM401
    limits = query_partition(chosen and str(getattr(chosen, "raw", chosen)))
    return [limits] if limits else []


def _read_partitions(path: str) -> list[Limits]:
    from snakemake_executor_plugin_slurm.partitions import read_partition_file
    from snakemake_interface_common.exceptions import WorkflowError

    try:
        return [partition.limits for partition in read_partition_file(path)]
    except (AttributeError, KeyError, TypeError, ValueError, WorkflowError) as error:
        raise UserError(f"{path}: key partitions: {error}; correct it, see docs/slurm.md") from None


def query_partition(name: str | None = None) -> Limits | None:
    """Query the limits of SLURM's partition `name`, by default of the default one, with `scontrol`.

    Return None without such a command, an answer or such a partition: SLURM has the last word anyway. Limits of an
    account or a QOS are not queried.
    """
    command = shutil.which("scontrol")
    if command is None:
        return None
    output = read_output([command, "--oneliner", "show", "partition"], _SECONDS)
    for line in (output or "").splitlines():
        stated = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if stated.get("PartitionName") == name or (name is None and stated.get("Default") == "YES"):
            memory = stated.get("MaxMemPerNode", "")
            return Limits(_parse_minutes(stated.get("MaxTime", "")), float(memory) if memory.isdigit() else math.inf)
    return None


def _parse_minutes(text: str) -> float:
    """Read SLURM's [days-]hours:minutes:seconds; infinity for UNLIMITED and whatever else is no such time."""
    if not (match := _TIME.fullmatch(text)):
        return math.inf
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + minutes + seconds / 60
