"""The tasks of the benchmarks as files: what a process reads that gets nothing else.

Only numpy is needed to read them: the process of JAX imports no torch.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np


def write(task: Any, folder: Path, arrays: Iterable[str], numbers: Iterable[str], mapped: bool = False) -> None:
    """Writes a task into an empty folder: its workload, its weights, and the attributes `arrays` and `numbers`.

    `mapped`: each weight has a file of its own, which can be read in part.
    """
    np.savez(folder / "text.npz", **{name: getattr(task, name) for name in arrays})
    facts = {name: getattr(task, name) for name in numbers} | {"workload": dataclasses.asdict(task.workload)}
    if mapped:
        for name, value in task.weights.items():
            np.save(folder / f"{name}.npy", value)
        facts["weights"] = list(task.weights)
    else:
        np.savez(folder / "weights.npz", **task.weights)
    (folder / "task.json").write_text(json.dumps(facts), encoding="utf-8")


def read(folder: Path, workload: type) -> dict[str, Any]:
    """What `write` wrote, by attribute; weights with files of their own stay in these until they are read."""
    found = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    with np.load(folder / "text.npz") as text:
        found |= text
    if "weights" in found:
        weights = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in found["weights"]}
    else:
        with np.load(folder / "weights.npz") as arrays:
            weights = dict(arrays)
    return found | {"workload": workload(**found["workload"]), "weights": weights}
