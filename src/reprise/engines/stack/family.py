"""How a stack computes a family of models: a loss of the readable model, an optimiser, batches side by side."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from reprise.engines.stack.optimisers import Clip, Optimiser
from reprise.engines.stack.programs import Tensors

if TYPE_CHECKING:
    from reprise.engines.stack.stack import Stack


class Family(ABC):
    """Of one experiment. `readable` is its model without values, `rows` says which parameters are tables of which a
    batch reads a few rows, by the name of the input that lists them: rows that are not listed cost nothing. Padding in
    such a list is -1, and no row is listed twice.
    """

    rows: Mapping[str, str] = {}
    fill: ClassVar[Mapping[str, int]] = {}  # what a member's input is filled up with, where its batch is smaller
    round_up: ClassVar[tuple[str, ...]] = ()  # these inputs, where they have two axes, grow to a multiple of `multiple`
    multiple = 8
    told: ClassVar[tuple[str, ...]] = ("nats",)  # outputs that the member reads as numbers or on the CPU

    def __init__(self, readable: nn.Module, optimiser: Optimiser, clip: Clip | None = None, **options: Any) -> None:
        self.readable = Loss(copy.deepcopy(readable), self).to("meta")
        self.optimiser, self.clip, self.options = optimiser, clip, options
        self.constants: Tensors = {}  # buffers of the readable model that it reads

    def __eq__(self, other: object) -> bool:
        mine = (type(self), self.optimiser, self.clip, self.options)
        return isinstance(other, Family) and mine == (type(other), other.optimiser, other.clip, other.options)

    __hash__ = None

    @abstractmethod
    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """The loss that one member's step descends, and what else is found; the model has the member's parameters."""

    def loss(self, parameters: Tensors, batch: Tensors) -> tuple[Tensor, Tensors]:
        """`compute` with the parameters in the model's place; `expanded` first."""
        expanded = self.expanded(parameters, batch)
        values = {f"model.{name}": p for name, p in expanded.items()}
        return functional_call(self.readable, values | self.constants, (batch,))

    def move(self, device: torch.device) -> None:
        """Has the constants on this device."""
        self.constants = {name: value.to(device) for name, value in self.constants.items()}

    def expanded(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """The parameters as the model reads them, of those whose rows were gathered."""
        return parameters

    def signature(self, batch: Mapping[str, Any]) -> Hashable:
        """Equal for batches that can be computed together: by default those of inputs of the same sizes."""
        return tuple((name, tuple(value.shape)) for name, value in sorted(batch.items()) if isinstance(value, Tensor))

    def collate(self, batches: Sequence[Tensors]) -> Tensors:
        """One member's inputs beside the other's, (R, ...), filled up to the largest."""
        return {name: self._beside(name, [batch[name] for batch in batches]) for name in batches[0]}

    def _beside(self, name: str, values: Sequence[Tensor]) -> Tensor:
        shape = np.max([tuple(value.shape) for value in values], axis=0, initial=0).astype(int).tolist()
        if name in self.round_up and len(shape) > 1:
            shape[0] = -(-shape[0] // self.multiple) * self.multiple
        if len({value.device for value in values}) > 1:  # a state of zeros that the member made beside one of the stack
            values = [value.cpu() for value in values]
        if all(list(value.shape) == shape for value in values):
            return torch.stack(list(values))
        beside = values[0].new_full((len(values), *shape), self.fill.get(name, 0))
        for slot, value in zip(beside, values, strict=True):
            slot[tuple(slice(n) for n in value.shape)] = value
        return beside

    def answer(self, stack: Stack, mode: str, batches: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
        """What each slot's batch gives: `told` outputs on the CPU, all others where they were computed."""
        rates = {slot: batch["rate"] for slot, batch in batches.items()} if mode == "train" else None
        tensors = {slot: {n: v for n, v in batch.items() if isinstance(v, Tensor)} for slot, batch in batches.items()}
        found = stack.run(mode, tensors, rates)
        found = {name: value.cpu() if name in self.told else value for name, value in found.items()}
        return {slot: {name: value[slot] for name, value in found.items()} for slot in batches}


class Loss(nn.Module):
    """A readable model and what a family computes with it, as one module that `functional_call` can call."""

    def __init__(self, model: nn.Module, family: Family) -> None:
        super().__init__()
        self.model, self._family = model, family

    def forward(self, batch: Tensors) -> tuple[Tensor, Tensors]:
        return self._family.compute(self.model, batch)


def distinct(words: np.ndarray, limit: int, room: int = 0) -> tuple[Tensor, Tensor]:
    """The distinct numbers in `words` (...), filled up with -1 to as many as there can be below `limit`, in so many
    words or in `room`; and for each of the words the place of its number, (...).
    """
    found, places = np.unique(words, return_inverse=True)
    rows = np.full(min(max(words.size, room), limit), -1, np.int64)
    rows[: len(found)] = found
    return torch.from_numpy(rows), torch.from_numpy(places.reshape(words.shape).astype(np.int64))
