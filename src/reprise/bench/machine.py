"""The machine that a benchmark ran on, and staying on one core of it."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import torch

from reprise.training.run_facts import run_facts

THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@contextlib.contextmanager
def pinned() -> Iterator[int | None]:
    """Keeps this process, and those it starts, on the last core that it may use; yields that core.

    None where the system cannot pin. torch computes with one thread meanwhile.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    before = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
    core = max(before) if before else None
    try:
        if before:
            os.sched_setaffinity(0, {core})
        yield core
    finally:
        if before:
            os.sched_setaffinity(0, before)
        torch.set_num_threads(threads)


def machine_facts(core: int | None) -> dict[str, Any]:
    """Processor, core, versions and what else tells one measurement from another."""
    run = run_facts("", torch.device("cpu"), 0.0, 0)
    versions = run["versions"] | {"jax": _version("jax"), "jaxlib": _version("jaxlib")}
    return {
        "device": run["device"],
        "cpus": os.cpu_count(),
        "pinned_to": core,
        "platform": run["platform"],
        "cpu_capability": run["cpu_capability"],
        "versions": versions | {"compiler": _compiler()},
        "load_before": round(os.getloadavg()[0], 2),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _compiler() -> str | None:
    command = [*(os.environ.get("CXX", "").split() or ["c++"]), "--version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    return answer.partition("\n")[0] or None
