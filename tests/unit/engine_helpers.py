"""What the tests of the engines that keep parameters of their own share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def same_bits(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Every tensor of `one` is, to the bit, that of the same name in `other`."""
    return all(torch.equal(value, other[name]) for name, value in one.items())


def export_and_load_are_exact_copies(
    engine: Any, model: torch.nn.Module, other: torch.nn.Module, train: Callable[[], object]
) -> None:
    """The engine made of `model` exports its values, loads those of `other`, and trains neither of them.

    `train` makes a step of the engine.
    """
    state, loaded = model.state_dict(), other.state_dict()
    assert same_bits(engine.export(), state)
    engine.load(loaded)
    exported = engine.export()
    assert list(exported) == list(loaded)
    assert same_bits(exported, loaded)
    train()
    assert same_bits(exported, loaded), "export must be a copy"
    assert same_bits(model.state_dict(), state)
    assert not same_bits(engine.export(), loaded)


def worst_error(fast: Any, reference: Any, start: dict[str, Tensor]) -> float:
    """The largest relative error of the update of a parameter since `start`, in the Euclidean norm."""
    ours, exact = fast.export(), reference.export()
    assert list(ours) == list(exact)
    return max(((ours[n] - value).norm() / (value - start[n].double()).norm()).item() for n, value in exact.items())
