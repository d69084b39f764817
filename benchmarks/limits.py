"""What a core can do at most: a roofline of two lines, for arithmetic and for what the weights' traffic takes.

Every workload counts the operations and the bytes of a token in its family's module. Bytes are the least traffic of its
weights: a weight is read once in every pass that needs it, from the level that holds all weights of its kind.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reprise.engines.caches import Caches, read_caches

BURST = 0.01
"""Seconds of a burst that counts: one that nothing interrupts is what the core can do."""
LEVELS = ("L2", "L3", "memory")
CHUNK = 12 * 16
"""Floats that are read in one go, for the widest vectors."""


def _measure_rate(work: Callable[[int], Any], rounds: int, seconds: float, clock: Callable[[], float]) -> float:
    """Return the most rounds a second of many bursts."""
    best, now = 0.0, clock()
    end = now + seconds
    while now < end or not best:
        start = clock()
        work(rounds)
        now = clock()
        if now - start < BURST:
            rounds *= 2
        else:
            best = max(best, rounds / (now - start))
    return best


def _load_library() -> Any:
    from reprise.engines import build

    try:
        return build.load_functions("core_limits", multiply_adds="flff", flops_a_round="d", read="fpll")
    except build.NoCompiler:
        return None


def _allocate_ones(count: int) -> Any:
    """Make so many ones in memory that can be read at full speed."""
    from reprise.engines.build import allocate_in_huge_pages

    (numbers,) = allocate_in_huge_pages([(count,)])
    return numbers.fill_(1.0)


def measure_peak(seconds: float = 0.5, clock: Callable[[], float] = time.perf_counter) -> float | None:
    """Return the highest rate of float32 multiply-adds of one thread, 10**9 operations (two each) a second.

    None where there is no C++ compiler.
    """
    library = _load_library()
    if library is None:
        return None
    rate = _measure_rate(lambda rounds: library.multiply_adds(rounds, 0.5, 1.0), 1000, seconds, clock)
    return rate * library.flops_a_round() / 1e9


def measure_bandwidths(seconds: float = 0.3, clock: Callable[[], float] = time.perf_counter) -> dict[str, float] | None:
    """Return 10**9 bytes a second that one thread reads from each of LEVELS, None where there is no C++ compiler."""
    library = _load_library()
    if library is None:
        return None
    caches, measured = read_caches(), {}
    # Half of L2; what L2 cannot and L3 can hold; what no cache can.
    sizes = (caches.l2 // 2, min(4 * caches.l2, caches.l3 // 2), max(4 * caches.l3, 1 << 28))
    for level, size in zip(LEVELS, sizes, strict=True):
        count = size // 4 // CHUNK * CHUNK
        numbers = _allocate_ones(count)
        rate = _measure_rate(lambda rounds, n=numbers, count=count: library.read(n, count, rounds), 1, seconds, clock)
        measured[level] = 4 * count * rate / 1e9
    return measured


class CoreProbe:
    """Tells which share of its speed the core gives to this process, by how fast it reads from the L1 cache.

    Cores are often halves of a physical one. What works on the other half, on a rented machine that of a stranger,
    takes loads, instructions and cache, and no clock of this machine shows it.
    """

    SIZE = 16 << 10
    """Bytes that every L1 data cache holds."""

    def __init__(self, seconds: float = 0.5, clock: Callable[[], float] = time.perf_counter) -> None:
        self.library, self.clock, self.best = _load_library(), clock, 0.0
        if self.library:
            self.numbers = _allocate_ones(self.SIZE // 4 // CHUNK * CHUNK)
            self.measure_share(seconds)

    def measure_share(self, seconds: float = 2 * BURST) -> float | None:
        """Return the rate over the best one so far; None where there is no C++ compiler."""
        if not self.library:
            return None
        rate = _measure_rate(
            lambda rounds: self.library.read(self.numbers, len(self.numbers), rounds), 1000, seconds, self.clock
        )
        self.best = max(self.best, rate)
        return rate / self.best


def find_level(size: int, caches: Caches | None = None) -> str:
    """Return the level of LEVELS that holds weights of so many bytes."""
    caches = caches or read_caches()
    return "L2" if size <= caches.l2 else "L3" if size <= caches.l3 else "memory"


def compute_lower_limit(
    flops: float,
    traffic: Sequence[tuple[float, str]],
    peak: float | None,
    bandwidth: Mapping[str, float] | None,
) -> float | None:
    """Return the tokens a second of the lower line, None where nothing was measured.

    Args:
        flops: Operations a token.
        traffic: Bytes a token, and which of LEVELS they come from.
        peak: 10**9 operations a second.
        bandwidth: 10**9 bytes a second by level.
    """
    if not peak or not bandwidth:
        return None
    return 1e9 / max(flops / peak, sum(passed / bandwidth[level] for passed, level in traffic))
