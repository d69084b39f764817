"""The tasks of the benchmarks as files, what a process reads that gets nothing else, and their sizes in words.

Only numpy is needed to read them: the process of JAX imports no torch.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np


class Described:
    """A workload: a dataclass of a model's sizes."""

    flops_a_token: int

    def described(self) -> dict[str, Any]:
        """The sizes, for people."""
        return dataclasses.asdict(self) | {"flops_a_token": self.flops_a_token}


def write(task: Any, folder: Path, mapped: bool = False) -> None:
    """Writes a task, a dataclass of its workload, its weights, arrays and numbers, into an empty folder.

    `mapped`: each weight has a file of its own, which can be read in part.
    """
    parts = {field.name: getattr(task, field.name) for field in dataclasses.fields(task)}
    arrays = {name: value for name, value in parts.items() if isinstance(value, np.ndarray)}
    np.savez(folder / "text.npz", **arrays)
    facts = {name: value for name, value in parts.items() if name not in arrays and name != "weights"}
    facts["workload"] = dataclasses.asdict(task.workload)
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
