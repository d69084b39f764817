"""The first steps of a stack of document 004's networks against the readable models; see `stack_check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from reprise.engines.loglinear.choose import ReferenceEngine
from reprise.kernels.stacked_loglinear import StackedLogLinear
from reprise.kernels.stacked_loglinear_text import WindowPieces
from reprise.training.stack_check import Made, different, hold
from reprise.training.stack_member import Member

PIECES = 3
"""Of each text: every program comes up three times, called, captured and replayed."""

_RATE, _EPSILON = 0.01, 0.01
"""With so large an epsilon a wrong gradient shows in the update, whose size is else the same whatever the gradient is
and whose sign rounding may turn.
"""


def check_loglinear(
    stack: StackedLogLinear,
    members: Sequence[Member],
    models: Sequence[nn.Module],
    tokens: np.ndarray,
    texts: Sequence[WindowPieces],
    tolerance: float,
) -> None:
    """Raises `StackDisagrees`. The stack holds the models' parameters before it, others and means after it.

    `texts` of `tokens` are for training and for evaluation.
    """
    rhos = [member.schedule.options["rho"] for member in members]
    stack.begin([_RATE] * len(members), rhos, [_EPSILON] * len(members))
    losses = []
    for text, run in zip(texts, (stack.train, stack.evaluate), strict=True):
        stack.enter(text)
        run(text, 0, min(PIECES, len(text)))
        losses.append(stack.numbers(stack.take_losses()))
    for i in different(members):

        def reference(model: nn.Module, i: int = i) -> Made:
            engine, found = ReferenceEngine(model), []
            how = {"learning_rate": _RATE, "rho": rhos[i], "epsilon": _EPSILON}
            for text, training in zip(texts, (True, False), strict=True):
                if stack.carried:
                    engine.reset(text.shape[1])
                batches = list(_batches(text, tokens, i, bool(stack.carried), model.E.device))
                found.append(sum(engine.train(x, y, **how) if training else engine.evaluate(x, y) for x, y in batches))
            return Made(found, engine.export())

        made = Made([loss[i] for loss in losses], stack.export(i))
        hold(members[i].job.title, models[i], made, reference, PIECES, tolerance, stack.device)


def _batches(
    text: WindowPieces, tokens: np.ndarray, replica: int, every: bool, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Words (T, B) of a replica's first pieces, and their targets, (B,) or (T, B)."""
    starts = text.starts[min(replica, len(text.starts) - 1)]
    for piece in range(min(PIECES, len(text))):
        (T, B), first = text.shape_of(piece), piece * text.shape[1]
        places = starts[first : first + B] + np.arange(T + 1)[:, None]
        words = torch.from_numpy(tokens[places].astype(np.int64)).to(device)
        yield words[:-1], words[1:] if every else words[-1]
