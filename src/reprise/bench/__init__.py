"""Benchmarks: Reprise's engines and what else a user could run, on the same data, in the same minutes.

Nothing here imports torch: the peers in JAX run in a process without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bench:
    """A benchmark.

    `module` has WORKLOADS (each with `name`, `flops_a_token` and `described()`), GOALS, `make_task(workload, folder)`,
    which returns the task and facts about it, and `expected(task)`, the loss and the norms of the updates that every
    implementation has to show on the task's first `block` pieces. `tasks` has `read_task(folder)` and imports numpy
    alone. `implementations` names what is timed, "module:function" of a task; `ours` is the one that the others are
    set against.
    """

    module: str
    tasks: str
    implementations: Mapping[str, str]
    ours: str


BENCHES = {
    "rrntn": Bench(
        "reprise.bench.rrntn",
        "reprise.bench.task",
        {
            "fused": "reprise.bench.engines:fused",
            "eager": "reprise.bench.peers:eager",
            "eager-sparse": "reprise.bench.peers:eager_sparse",
            "compile": "reprise.bench.peers:Compiled",
            "compile-rows": "reprise.bench.peers:CompiledRows",
            "jax": "reprise.bench.jax_peer:dense",
            "jax-rows": "reprise.bench.jax_peer:rows",
        },
        ours="fused",
    ),
    "rrntn-gated": Bench(
        "reprise.bench.gated",
        "reprise.bench.gated_task",
        {
            "grouped": "reprise.bench.gated_engines:grouped",
            "eager": "reprise.bench.gated_engines:eager",
            "library": "reprise.bench.gated_engines:Library",
        },
        ours="grouped",
    ),
    "llrnn": Bench(
        "reprise.bench.llrnn",
        "reprise.bench.llrnn_task",
        {
            "fused": "reprise.bench.llrnn_engines:fused",
            "hand": "reprise.bench.llrnn_engines:hand",
            "sparse": "reprise.bench.llrnn_engines:SparseMatrix",
            "dense": "reprise.bench.llrnn_engines:Dense",
            "softmax": "reprise.bench.llrnn_engines:Eager",
        },
        ours="fused",
    ),
    "gso": Bench(
        "reprise.bench.gso",
        "reprise.bench.gso_task",
        {
            "fused": "reprise.bench.gso_engines:fused",
            "epoch": "reprise.bench.gso_engines:Epochs",
            "eager": "reprise.bench.gso_peers:Eager",
            "eager-indexing": "reprise.bench.gso_peers:EagerIndexing",
            "compile": "reprise.bench.gso_peers:Compiled",
            "library": "reprise.bench.gso_peers:Library",
            "jax": "reprise.bench.gso_jax:Scan",
        },
        ours="fused",
    ),
}
