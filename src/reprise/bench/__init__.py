"""Benchmarks: Reprise's engines and what else a user could run, on the same data, in the same minutes.

Nothing here imports torch: the peer in JAX runs in a process without it.
"""

from __future__ import annotations

BENCHES = {"rrntn": "reprise.bench.rrntn"}
"""Module of each benchmark: its WORKLOADS, IMPLEMENTATIONS and GOALS, `make_task` and `reference`."""
