"""Small workloads for the tests of the benchmarks."""

from __future__ import annotations

from reprise.bench.task import Workload

TINY = {
    "s-rnn": Workload("s-rnn", "none", 50, 8),
    "r-rntn": Workload("r-rntn", "none", 50, 8, matrices=5),
    "sentences": Workload("sentences", "none", 50, 8, matrices=5, sentences=True),
    "rntn": Workload("rntn", "none", 50, 8, matrices=50),
    "m-rnn": Workload("m-rnn", "none", 50, 8, factors=6),
}
