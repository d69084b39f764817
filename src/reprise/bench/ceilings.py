"""What a device can do at most: arithmetic on float32, and reading and writing its memory."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

_BURSTS = 5


def flops_a_second(device: torch.device, size: int = 8192) -> float:
    """Operations a second of a square product of float32 matrices without TF32, the best of some."""
    a, b, out = (torch.rand(size, size, device=device) for _ in range(3))
    return 2 * size**3 / _fastest(lambda: torch.mm(a, b, out=out), device)


def bytes_a_second(device: torch.device, size: int = 2**30) -> float:
    """Bytes read and written a second by a copy of `size` bytes, the best of some."""
    source = torch.rand(size // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size / _fastest(lambda: target.copy_(source), device)


def _fastest(work: Callable[[], object], device: torch.device) -> float:
    """Seconds; without the first, which sets things up."""
    found = []
    for _ in range(1 + _BURSTS):
        synchronise(device)
        start = time.perf_counter()
        work()
        synchronise(device)
        found.append(time.perf_counter() - start)
    return min(found[1:])


def synchronise(device: torch.device) -> None:
    """Waits until the device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
