"""A replica's engine in a stack, and how a stack computes it: a loss of the readable model, batches side by side."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from reprise.engines.stack.optimisers import Clip, Optimiser
from reprise.engines.stack.programs import Tensors

if TYPE_CHECKING:
    from reprise.engines.stack.stack import Stack

NAME = "stacked"
_STATES = ("h_", "c_", "state_")
"""Beginnings of the names of outputs that a member passes on with its next batch."""


@dataclass(frozen=True)
class Request:
    """A member's batch that its stack is to compute, together with those of other members.

    Attributes:
        member: Whose batch it is.
        mode: "train" for an update, "read" for none.
        batch: What the member's `compute_batches` takes.
        finish: Makes the result from the outputs.
    """

    member: Member
    mode: str
    batch: Mapping[str, Any]
    finish: Callable[[Any], Any]


def compute_result(value: Any) -> Any:
    """Return the result of an engine's call; compute it by itself where the call returned a member's request."""
    return value.member.stack.compute_requests([value])[0] if isinstance(value, Request) else value


class Member(ABC):
    """A replica's engine in a stack.

    All members of a stack are of one class and have equal settings: the first of them computes the batches of all.

    Attributes:
        rows: Parameters that are tables of which a batch reads a few rows, each with the name of the input that lists
            these rows. Others are not differentiated. No row is listed twice; padding in a list is -1.
        parameters: Tensors of its own before the first step and after the member has left the stack. Meanwhile they are
            views of the stack's.
        optimiser_state: What the optimiser carries from step to step, stored like the parameters.
    """

    name = NAME
    rows: Mapping[str, str] = {}
    fill_values: ClassVar[Mapping[str, int]] = {}  # by an input's name, what pads a batch that is smaller; else 0
    size_multiple = 1  # inputs with two axes or more are padded to a multiple of it along the first

    def __init__(
        self, stack: Stack, model: nn.Module, optimiser: Optimiser, clip: Clip | None = None, **options: Any
    ) -> None:
        self.stack, self.optimiser, self.clip, self.options = stack, optimiser, clip, options
        self.parameters: Tensors = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.optimiser_state: dict[str, Any] | None = None
        self.readable = LossModule(copy.deepcopy(model), self).to("meta")
        self.constants: Tensors = {}  # buffers of the readable model that it reads
        stack.members.append(self)

    @abstractmethod
    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """Compute the loss that a step descends, and other outputs, by a model with the member's parameters."""

    def compute_loss(self, parameters: Tensors, batch: Tensors) -> tuple[Tensor, Tensors]:
        """Compute the loss and the other outputs by parameters, which `expand_rows` prepares."""
        values = {f"model.{name}": p for name, p in self.expand_rows(parameters, batch).items()}
        return functional_call(self.readable, values | self.constants, (batch,))

    def expand_rows(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """Turn the gathered rows into the parameters that the model reads."""
        return parameters

    def make_signature(self, batch: Mapping[str, Any]) -> Hashable:
        """Return a key, equal for batches that can be computed together: by default those of the same sizes."""
        return tuple((name, tuple(value.shape)) for name, value in sorted(batch.items()) if isinstance(value, Tensor))

    def collate(self, batches: Sequence[Tensors]) -> Tensors:
        """Stack the members' inputs, (R, ...), each filled up to the largest."""
        return {name: self._pad_and_stack(name, [batch[name] for batch in batches]) for name in batches[0]}

    def _pad_and_stack(self, name: str, values: Sequence[Tensor]) -> Tensor:
        shape = np.max([tuple(value.shape) for value in values], axis=0, initial=0).astype(int).tolist()
        if len(shape) > 1:
            shape[0] = -(-shape[0] // self.size_multiple) * self.size_multiple
        if len({value.device for value in values}) > 1:  # a state of zeros that the member made beside one of the stack
            values = [value.cpu() for value in values]
        if all(list(value.shape) == shape for value in values):
            return torch.stack(list(values))
        padded = values[0].new_full((len(values), *shape), self.fill_values.get(name, 0))
        for slot, value in zip(padded, values, strict=True):
            slot[tuple(slice(n) for n in value.shape)] = value
        return padded

    def compute_batches(self, mode: str, batches: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
        """Compute the batch of each slot; return states on the stack's device and all else on the CPU."""
        rates = {slot: batch.get("rate", 0.0) for slot, batch in batches.items()}
        tensors = {slot: {n: v for n, v in batch.items() if isinstance(v, Tensor)} for slot, batch in batches.items()}
        example = next(iter(tensors.values()))  # in place of the batch of a slot that has none
        inputs = self.collate([tensors.get(slot, example) for slot in range(len(self.stack.members))])
        inputs = {name: value.to(self.stack.device, non_blocking=True) for name, value in inputs.items()}
        outputs = self.stack.run_step(mode, inputs, rates)
        outputs = {name: value if name.startswith(_STATES) else value.cpu() for name, value in outputs.items()}
        return {slot: {name: value[slot] for name, value in outputs.items()} for slot in batches}

    def update(self, *batch: Any) -> Request:
        """Request an update on a batch, of which the learning rate comes last, and its summary before the update."""
        *tensors, rate = batch
        return self.process_batch(
            "train", self._make_summary_function(tensors), **self.make_inputs(*tensors), rate=rate
        )

    def read(self, *batch: Any) -> Request:
        """Request the summary of a batch without an update, and without a rate."""
        return self.process_batch("read", self._make_summary_function(batch), **self.make_inputs(*batch))

    def _make_summary_function(self, batch: Sequence[Any]) -> Callable[[Tensors], Any]:
        return lambda outputs: self.summarize(outputs, *batch)

    def make_inputs(self, x: Tensor, y: Tensor) -> Tensors:
        """Turn a batch of the protocol into tensors."""
        return {"x": x, "y": y}

    def summarize(self, outputs: Tensors, *batch: Any) -> Any:
        """Return what the protocol reads of the outputs of `compute` on a batch: by default the loss in nats."""
        return float(outputs["nats"])

    def process_batch(self, mode: str, finish: Callable[[Any], Any], **batch: Any) -> Request:
        """Make the request to compute a batch, "train" or "read"; `finish` takes its outputs."""
        return Request(self, mode, batch, finish)

    def export(self) -> Tensors:
        """Return the state_dict of the readable model, as copies on the CPU."""
        return {name: value.cpu().clone() for name, value in self.parameters.items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take the values of a state_dict of the readable model."""
        for name, value in state.items():
            self.parameters[name].copy_(value)

    def state_dict(self) -> dict[str, Any] | None:
        """Return what the optimiser carries from step to step, as copies; None before the first step."""
        if self.optimiser_state is None:
            return None
        state = self.optimiser_state
        copies = {name: [value.cpu().clone() for value in values] for name, values in state["kept"].items()}
        return {"step": int(state["step"]), "kept": copies}

    def load_state_dict(self, state: dict[str, Any] | None) -> None:
        """Take what `state_dict` returned, before the first step."""
        self.optimiser_state = state


class LossModule(nn.Module):
    """A readable model and what a member computes with it, as one module that `functional_call` can call."""

    def __init__(self, model: nn.Module, member: Member) -> None:
        super().__init__()
        self.model, self._member = model, member

    def forward(self, batch: Tensors) -> tuple[Tensor, Tensors]:
        return self._member.compute(self.model, batch)


def find_distinct(words: np.ndarray, limit: int, min_size: int = 0) -> tuple[Tensor, Tensor]:
    """Find the distinct numbers in words.

    Args:
        words: Any shape.
        limit: All numbers are below it.
        min_size: The list has at least so many places.

    Returns:
        The numbers, and the place of each word's number in their list, in the shape of `words`. The list is filled up
        with -1 to as many as `words` could hold, or `min_size`, at most `limit`.
    """
    numbers, places = np.unique(words, return_inverse=True)
    rows = np.full(min(max(words.size, min_size), limit), -1, np.int64)
    rows[: len(numbers)] = numbers
    return torch.from_numpy(rows), torch.from_numpy(places.reshape(words.shape).astype(np.int64))
