"""The multiply-add peak of the core, which speeds are divided by."""

from __future__ import annotations

import ctypes
import time

from reprise.engines import build

_BURST_SECONDS = 0.01


def peak_gflops(seconds: float = 0.5) -> float | None:
    """The highest rate of float32 multiply-adds of one thread, 10**9 operations (two each) a second.

    The best of many bursts of 10 ms: a burst that nothing interrupts is what the core can do. None
    where there is no C++ compiler.
    """
    try:
        library = build.load("fma_peak")
    except build.NoCompiler:
        return None
    work, flops = library.reprise_multiply_adds, library.reprise_flops_a_round
    work.argtypes, work.restype = [ctypes.c_int64, ctypes.c_float, ctypes.c_float], ctypes.c_float
    flops.argtypes, flops.restype = [], ctypes.c_double
    rounds, best = 1000, 0.0
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        work(rounds, 0.5, 1.0)
        now = time.perf_counter()
        if now - start < _BURST_SECONDS:
            rounds *= 2
            continue
        best = max(best, rounds * flops() / (now - start))
        if now >= end:
            return best / 1e9
