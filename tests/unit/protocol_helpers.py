"""What the tests of protocols share: training to the end, metrics by name, and going on from a state."""

import copy
from pathlib import Path
from typing import Any

from torch import Tensor

from reprise.engines.gso.packing import PackedBatch
from reprise.records.record import Outcome
from reprise.training.checkpoint import decode, encode
from reprise.training.protocol import Training


def finish(training: Training) -> Outcome:
    """Trains to the end; the outcome."""
    while not training.finished:
        assert training.advance()
    return training.make_outcome()


def values(outcome: Outcome) -> dict[tuple[str, str], float]:
    """Metrics by split and name."""
    return {(m["split"], m["metric"]): m["value"] for m in outcome.metrics}


def curves(outcome: Outcome) -> dict[tuple[str, str], dict[float, float]]:
    """Curves by split and name, y by x."""
    return {(c["split"], c["metric"]): dict(zip(c["x"], c["y"], strict=True)) for c in outcome.curves}


def lines_of(batch: PackedBatch) -> list[list[int]]:
    """The places of each line's targets."""
    return [batch.pad_rows(batch.places)[:n, i].tolist() for i, n in enumerate(batch.lengths)]


def checkpoints(folder: Path) -> list[Path]:
    """What a job that was stopped has left."""
    return [path for path in (folder / "checkpoints").rglob("*") if path.suffix in {".ckpt", ".previous"}]


def saved(training: Training) -> bytes:
    """Its state, as on the disk."""
    return encode({"identity": {}, "state": copy.deepcopy(training.get_state())})


def states_of(training: Training, mark: str | None = None) -> list[tuple[Any, bytes]]:
    """Trains to the end: the state at the start and after every step, each beside what the attribute `mark` was."""
    states = []
    while True:
        states.append((getattr(training, mark) if mark else None, saved(training)))
        if training.finished:
            return states
        training.advance()


def assert_resumes(resumed: Training, state: bytes, original: Training) -> None:
    """A training that takes up one of the states of `whole` comes to the same outcome and the same last state."""
    resumed.restore(decode(state)["state"])
    assert finish(resumed) == original.make_outcome()
    assert same_bits(resumed.get_state(), original.get_state())


def same_bits(one: Any, other: Any) -> bool:
    """Whether two states are equal, their tensors to the bit."""
    if isinstance(one, Tensor):
        return one.dtype == other.dtype and one.equal(other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_bits(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_bits, one, other))
    return one == other or (one != one and other != other)
