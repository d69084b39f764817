"""Streams of stacks: a pair each, never one that another living stack has.

torch hands out 32 streams a device in turn, so that the 17th pair would be the first one again. Work on a shared stream
waits for work that has nothing to do with it; worse, cuBLAS's scratch memory belongs to a stream, and torch (2.12 and
later) gives it back with any graph that was captured there, while another stack's graphs still write to it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

_TRIED = 32
"""Streams that torch has of a priority."""

_free: dict[int, list[tuple[torch.cuda.Stream, torch.cuda.Stream]]] = {}
_known: dict[int, set[int]] = {}  # lent or free, as the driver calls them


def lend_streams(
    device: torch.device,
) -> tuple[tuple[torch.cuda.Stream, torch.cuda.Stream], Callable[[], None]]:
    """Two streams that nobody else has, and what gives them back; RuntimeError where there are no more.

    They are given back when nothing of what was captured on them is left, or when that can no longer be replayed.
    """
    index = device.index or 0
    free, known = _free.setdefault(index, []), _known.setdefault(index, set())
    pair = free.pop() if free else (_another(device, known), _another(device, known))

    def give_back() -> None:
        free.append(pair)

    return pair, give_back


def _another(device: torch.device, known: set[int]) -> torch.cuda.Stream:
    for priority in (0, -1):
        for _ in range(_TRIED):
            stream = torch.cuda.Stream(device, priority=priority)
            if stream.cuda_stream not in known:
                known.add(stream.cuda_stream)
                return stream
    raise RuntimeError("no stream is left: 32 stacks live on this device; train fewer at a time")
