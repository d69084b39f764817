"""The first steps of a stack of document 000's networks against the readable models; see `stack_check`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from reprise.data.corpus import Split
from reprise.engines.gated_step import clipped
from reprise.engines.gso.packing import pack
from reprise.engines.gso.reference import PaddedEngine
from reprise.kernels.stacked_batches import LineBatches
from reprise.kernels.stacked_lines import StackedLines
from reprise.training.stack_check import Made, different, hold
from reprise.training.stack_member import Member

BATCHES = 3
"""Of training lines: every program comes up three times, called, captured and replayed."""

_RATE, _EPSILON = 0.001, 0.01
"""With so large an epsilon a wrong gradient shows in the update, whose size is else the same whatever the gradient is
and whose sign rounding may turn. The rate is document 000's: no parameter moves by more, however steep the loss.
"""


def check_lines(
    stack: StackedLines, members: Sequence[Member], models: Sequence[nn.Module], split: Split, tolerance: float
) -> None:
    """Raises `StackDisagrees`. The stack holds the models' parameters before it, others and moments after it."""
    batch = members[0].schedule.options["batch_size"]
    lengths = split.offsets[1:] - split.offsets[:-1]
    orders = []
    for member in members:
        order = member.schedule.order()
        orders.append(order[lengths[order] > 1][: BATCHES * batch])
    reductions = [member.schedule.options["loss_reduction"] for member in members]
    text = LineBatches(split, orders, batch, reductions)
    stack.begin([_RATE] * len(members), _EPSILON)
    stack.enter(text)
    losses = []
    for run in (stack.train, stack.evaluate):
        run(text, 0, len(text))
        losses.append(stack.numbers(stack.take_losses()))
    for i in different(members):
        clip = members[i].schedule.options["clip_norm"]

        def reference(model: nn.Module, i: int = i, clip: float = clip) -> Made:
            engine, trained = PaddedEngine(model), 0.0
            optimiser = torch.optim.Adam(model.parameters(), lr=_RATE, eps=_EPSILON)
            packed = pack(split, orders[i], batch)
            for one in packed:
                trained += engine.train(one, reductions[i])
                if clip:
                    gradients = [parameter.grad for parameter in model.parameters()]
                    factor = clipped(1.0, clip, gradients)
                    for gradient in gradients:
                        gradient.mul_(factor)
                optimiser.step()
            evaluated = sum(float(engine.evaluate(one)[0].sum(dtype=float)) for one in packed)
            return Made([trained, evaluated], model.state_dict())

        made = Made([loss[i] for loss in losses], stack.export(i))
        hold(members[i].job.title, models[i], made, reference, len(text), tolerance, stack.device)
