"""What a job asks a cluster for: never more than some partition allows, or it would wait for ever."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Limits(Protocol):
    """What a job in a partition may ask for; infinity where nobody said."""

    max_runtime: float
    max_mem_mb: float
    max_gpu: int


def within_limits(minutes: int, mem_mb: int, gpus: int, partitions: Iterable[Limits]) -> tuple[int, int]:
    """Minutes and memory (MB) that one partition with enough GPUs allows together.

    Where none allows both, of what it allows the time counts first: a training that runs out of it goes on from its
    checkpoint, but each time waits for its turn. Without such a partition what was asked for stays.
    """
    allowed = [
        (int(min(minutes, limits.max_runtime)), int(min(mem_mb, limits.max_mem_mb)))
        for limits in partitions
        if limits.max_gpu >= gpus
    ]
    return max(allowed, default=(minutes, mem_mb))
