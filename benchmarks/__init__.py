"""Benchmarks: Reprise's engines and what else a user could run, on the same data, in the same minutes."""

BENCHES = {
    "rntn": {
        "fused": "rntn:fused",
        "eager": "peers.rntn:Eager",
        "eager-sparse": "peers.rntn:EagerSparse",
        "compile": "peers.rntn:Compiled",
        "compile-rows": "peers.rntn:CompiledRows",
        "jax": "peers.rntn_jax:dense",
        "jax-rows": "peers.rntn_jax:rows",
    },
    "gated": {"grouped": "gated:grouped", "eager": "gated:eager", "library": "peers.gated:Library"},
    "gso": {
        "fused": "gso:fused",
        "epoch": "gso:Epochs",
        "eager": "peers.gso:Eager",
        "eager-indexing": "peers.gso:EagerIndexing",
        "compile": "peers.gso:Compiled",
        "library": "peers.gso:Library",
        "jax": "peers.gso_jax:Scan",
    },
    "loglinear": {
        "fused": "loglinear:fused",
        "sparse": "peers.loglinear:SparseMatrix",
        "dense": "peers.loglinear:Dense",
        "softmax": "peers.loglinear:Eager",
    },
    "gpu": {
        "stacked-1": "gpu:one",
        "stacked-8": "gpu:eight",
        "stacked-most": "gpu:most",
        "eager": "gpu:make_eager",
        "compile": "gpu:make_compiled",
        "cudnn": "gpu:make_cudnn",
    },
}
"""What each benchmark times, "module:function" of a task, in this package; the others are set against the first one.

The module of a benchmark's name has WORKLOADS, GOALS, TABLE_ROWS and `make_task(workload, folder)`, which returns the
task and facts about it. The module of a family also has what `benchmarks.tasks` says. None imports torch when it is
imported: the peers in JAX run in a process without it.
"""
