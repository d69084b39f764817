"""What a job asks a cluster for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from reprise.cluster import within_limits


@dataclass
class Partition:
    max_runtime: float = math.inf
    max_mem_mb: float = math.inf
    max_gpu: int = 0


DAY = 1440
STANDARD, LONG, GPU = Partition(DAY, 180_000), Partition(7 * DAY, 90_000), Partition(2 * DAY, 180_000, max_gpu=4)


@pytest.mark.parametrize(
    ("asked", "partitions", "given"),
    [
        ((60, 4000, 0), [], (60, 4000)),
        ((60, 4000, 0), [Partition()], (60, 4000)),
        ((60, 4000, 0), [STANDARD, LONG, GPU], (60, 4000)),
        ((20 * DAY, 4000, 0), [STANDARD, LONG, GPU], (7 * DAY, 4000)),
        # The GPU's partition allows less time than another one.
        ((20 * DAY, 4000, 1), [STANDARD, LONG, GPU], (2 * DAY, 4000)),
        # No partition allows both: never the time of one with the memory of another.
        ((3 * DAY, 100_000, 0), [STANDARD, LONG], (3 * DAY, 90_000)),
        ((DAY, 400_000, 0), [STANDARD, LONG], (DAY, 180_000)),
        # None has a GPU: what SLURM says to it is clearer than a job without.
        ((3 * DAY, 4000, 1), [STANDARD], (3 * DAY, 4000)),
    ],
)
def test_no_more_than_one_partition_allows(asked, partitions, given):
    assert within_limits(*asked, partitions) == given
