"""A stack's first steps against the readable models with autograd in double precision, before anything counts.

A GPU's libraries choose their kernels by device and shape, and a captured program repeats what was captured: neither
is seen by tests on another machine. So every stack shows, on the words that it is going to read and on the device
where it is going to read them, that it makes the readable model's steps, called and replayed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from reprise import counters
from reprise.engines.gated import choose as gated
from reprise.engines.rntn.reference import ReferenceEngine
from reprise.engines.rntn.subsequences import Subsequences
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.kernels.stacked_text import DeviceText
from reprise.kernels.stacked_windows import StackedWindows, WindowText
from reprise.models.gated import GatedLanguageModel, Masks
from reprise.training.protocol import dtype_of
from reprise.training.stack_member import Member

SUBSEQUENCES, WINDOWS = 24, 4
"""Enough for a length to come up three times: called, captured and replayed."""

_TOLERANCES = {"float32": 1e-4, "float64": 1e-4, "tf32": 2e-2}
"""By precision. TF32 rounds factors to 11 bits: at that of float32 it is found out."""

_ROUNDING = 2.0**-23
_CPU = torch.device("cpu")
_LIKE_FLOAT32 = 10.0


def numbers_of(config: Mapping[str, Any]) -> tuple[torch.dtype, float]:
    """The type of a stack's tensors, and how far it may be from the readable model."""
    precision = config["precision"]
    return torch.float32 if precision == "tf32" else dtype_of(dict(config)), _TOLERANCES[precision]


class StackDisagrees(Exception):
    """A stack does not make the steps of the readable model; the message names replica and parameter."""


@dataclass(frozen=True)
class Made:
    """What some steps made: the losses of training and of evaluation after it, summed nats, and the parameters."""

    losses: list[float]
    parameters: Mapping[str, Tensor]


Reference = Callable[[nn.Module], Made]
"""Trains and evaluates a readable model, in its precision and on its device."""


def check_subsequences(
    stack: StackedSubsequences,
    members: Sequence[Member],
    models: Sequence[nn.Module],
    data: Subsequences,
    text: DeviceText,
    tolerance: float,
) -> None:
    """Raises `StackDisagrees`. The stack holds the models' parameters before it and others after it.

    `text` is `data` on the stack's device.
    """
    some = data.slice(0, min(SUBSEQUENCES, len(data)))
    rates = [member.schedule.learning_rate for member in members]
    keys = [counters.key(member.job.replica, 0) for member in members]
    stack.begin(rates, keys)
    losses = []
    for run in (stack.train, stack.evaluate):
        first = 0
        while first < len(some):
            last = min(text.piece_end(first, stack.capacity), len(some))
            run(text, first, last)
            first = last
        losses.append(stack.numbers(stack.take_losses()))
    for i in different(members):

        def reference(model: nn.Module, i: int = i) -> Made:
            options, engine = members[i].schedule.options, ReferenceEngine(model)
            how = {"reduction": options["loss_reduction"], "dropout": options["dropout"], "key": keys[i]}
            trained = engine.train(some, learning_rate=rates[i], **how)
            return Made([trained, engine.evaluate(some)], engine.export())

        made = Made([loss[i] for loss in losses], stack.export(i))
        hold(members[i].job.title, models[i], made, reference, len(some), tolerance, stack.device)


def check_windows(
    stack: StackedWindows,
    members: Sequence[Member],
    models: Sequence[nn.Module],
    data: Mapping[str, tuple[Tensor, Tensor]],
    texts: Mapping[str, WindowText],
    tolerance: float,
) -> None:
    """Raises `StackDisagrees`. The stack holds the models' parameters before it and others after it.

    `texts` are `data` on the stack's device.
    """
    sizes = {"train": WINDOWS * stack.steps, "valid": WINDOWS * stack.evaluated}
    some = {split: [part[:size].long() for part in data[split]] for split, size in sizes.items()}
    rates = [member.schedule.learning_rate for member in members]
    keys = [(counters.key(m.job.replica, 0), counters.key(m.job.replica, 1)) for m in members]
    stack.begin(rates, keys)
    losses = []
    for split, run in (("train", stack.train), ("valid", stack.evaluate)):
        stack.reset(some[split][0].shape[1])
        run(texts[split], 0, len(some[split][0]))
        losses.append(stack.numbers(stack.take_losses()))
    for i in different(members):

        def reference(model: GatedLanguageModel, i: int = i) -> Made:
            options, engine, trained = members[i].schedule.options, gated.ReferenceEngine(model), 0.0
            how = {"reduction": options["loss_reduction"], "clip_norm": options["clip_norm"]}
            engine.reset(stack.batch)
            for first in range(0, len(some["train"][0]), stack.steps):
                x, y = (part[first : first + stack.steps].to(model.E.device) for part in some["train"])
                masks = _masks(keys[i], model, first, x.shape, options["dropout"])
                trained += engine.train(x, y, masks, learning_rate=rates[i], **how)
            engine.reset(1)
            evaluated = engine.evaluate(*(part.to(model.E.device) for part in some["valid"]))
            return Made([trained, evaluated], engine.export())

        made = Made([loss[i] for loss in losses], stack.export(i))
        hold(members[i].job.title, models[i], made, reference, WINDOWS, tolerance, stack.device)


def hold(
    title: str,
    start: nn.Module,
    made: Made,
    reference: Reference,
    steps: int,
    tolerance: float,
    device: torch.device,
) -> None:
    """Raises `StackDisagrees` unless `made` is what the readable model makes of `start` in so many steps.

    `tolerance` is of the losses and, in the Euclidean norm, of each parameter's update, rounding of the weights to
    float32 at every step apart. Where steps are so large that they overflow or amplify, float32 on the CPU is off as
    well: then the stack may be so too.
    """
    exact = reference(_copy(start, torch.float64, device))
    before = start.state_dict()
    off = [
        (name, error, allowed)
        for (name, error, scale, size) in _errors(made, exact, before)
        if not error <= (allowed := tolerance * scale + steps**0.5 * _ROUNDING * size)
    ]
    if not off:
        return
    single = reference(_copy(start, torch.float32, _CPU))
    also = {name: error for name, error, _, _ in _errors(single, exact, before)}
    for name, error, allowed in off:
        if error > _LIKE_FLOAT32 * also[name]:
            raise StackDisagrees(f"{title}: {name} is off by {error:.3g} after {steps} steps; {allowed:.3g} may be")


def _errors(made: Made, exact: Made, before: Mapping[str, Tensor]) -> Iterator[tuple[str, float, float, float]]:
    """Name, error (infinite where there is no number), scale of the update, and size of what is rounded."""
    for name, loss, should in zip(("training loss", "loss"), made.losses, exact.losses, strict=True):
        yield name, _finite(abs(loss - should)), abs(should), 0.0
    for name, value in exact.parameters.items():
        should = value.cpu()
        error, update = ((should - other[name]).norm().item() for other in (made.parameters, before))
        yield name, _finite(error), update, should.norm().item()


def _finite(error: float) -> float:
    return error if math.isfinite(error) else math.inf


def _masks(keys: tuple[int, int], model: GatedLanguageModel, first: int, shape: torch.Size, p: float) -> Masks:
    T, B = shape
    on_e, on_s = (
        counters.dropout_mask_torch(key, first * B, T * B, width, p, model.E.device, model.E.dtype).view(T, B, width)
        for key, width in zip(keys, (model.embedding, model.hidden), strict=True)
    )
    return on_e, on_s


def _copy(model: nn.Module, dtype: torch.dtype, device: torch.device) -> nn.Module:
    return copy.deepcopy(model).to(device=device, dtype=dtype)


def different(members: Sequence[Member]) -> list[int]:
    """The first replica of every experiment, and the last of all."""
    found = {member.job.resolved.config_hash: i for i, member in reversed(list(enumerate(members)))}
    return sorted({*found.values(), len(members) - 1})
