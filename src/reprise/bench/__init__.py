"""Benchmarks: Reprise's engines and what else a user could run, on the same data, in the same minutes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Bench(NamedTuple):
    """A benchmark.

    `module` has WORKLOADS, GOALS, SHOWN, the classes Workload, Task and Engine, and `make_task(workload, folder)`,
    which returns the task and facts about it. It imports no torch when it is imported: the peers in JAX run in a
    process without it. `implementations` names what is timed, "module:function" of a task, in the package
    `reprise.bench`; `ours` is the one that the others are set against.
    """

    module: str
    implementations: Mapping[str, str]
    ours: str


BENCHES = {
    "rntn": Bench(
        "reprise.bench.rntn",
        {
            "fused": "rntn:fused",
            "eager": "peers.rntn:Eager",
            "eager-sparse": "peers.rntn:EagerSparse",
            "compile": "peers.rntn:Compiled",
            "compile-rows": "peers.rntn:CompiledRows",
            "jax": "peers.rntn_jax:dense",
            "jax-rows": "peers.rntn_jax:rows",
        },
        ours="fused",
    ),
    "gated": Bench(
        "reprise.bench.gated",
        {"grouped": "gated:grouped", "eager": "gated:eager", "library": "peers.gated:Library"},
        ours="grouped",
    ),
    "gso": Bench(
        "reprise.bench.gso",
        {
            "fused": "gso:fused",
            "epoch": "gso:Epochs",
            "eager": "peers.gso:Eager",
            "eager-indexing": "peers.gso:EagerIndexing",
            "compile": "peers.gso:Compiled",
            "library": "peers.gso:Library",
            "jax": "peers.gso_jax:Scan",
        },
        ours="fused",
    ),
    "loglinear": Bench(
        "reprise.bench.loglinear",
        {
            "fused": "loglinear:fused",
            "sparse": "peers.loglinear:SparseMatrix",
            "dense": "peers.loglinear:Dense",
            "softmax": "peers.loglinear:Eager",
        },
        ours="fused",
    ),
    "gpu": Bench(
        "reprise.bench.gpu",
        {
            "stacked-1": "gpu:one",
            "stacked-8": "gpu:eight",
            "stacked-most": "gpu:most",
            "eager": "gpu:eager",
            "compile": "gpu:compiled",
            "cudnn": "gpu:cudnn",
        },
        ours="stacked-1",
    ),
}

RENAMED = {"rrntn": "rntn", "rrntn-gated": "gated", "llrnn": "loglinear"}
"""Earlier names, which files in results/bench/ may carry."""
