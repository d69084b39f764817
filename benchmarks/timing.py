"""Repetitions of a piece of work on a clock, which of them were quiet, and their medians."""

import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUIET_SHARE = 0.05
"""Others may take this much of one core during a repetition that still counts as quiet."""

QUIET_CORE = 0.9
"""The core must give this share of its speed before and after a repetition that counts as quiet."""

ENOUGH_QUIET = 3
"""With so many quiet repetitions the others are left out of median, low and high."""

_PROC_STAT = Path("/proc/stat")


def read_clocks() -> tuple[float, float, float | None]:
    """Read seconds since some moment: of the wall, of this process at work, of all cores at work.

    None for the last where the system does not tell (no /proc/stat).
    """
    usage, busy = resource.getrusage(resource.RUSAGE_SELF), None
    if _PROC_STAT.exists():
        # user nice system idle iowait irq softirq steal; steal is what other virtual machines took
        ticks = [int(n) for n in _PROC_STAT.read_text().split("\n", 1)[0].split()[1:9]]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    return time.perf_counter(), usage.ru_utime + usage.ru_stime, busy


@dataclass(frozen=True)
class Repetition:
    """`tokens` done in `seconds`; `others` is CPU time of other processes meanwhile, None if unknown.

    `core` is the share of its speed that the core gave, see `limits.CoreProbe`; None if it was not measured.
    """

    tokens: float
    seconds: float
    others: float | None
    core: float | None = None

    @property
    def rate(self) -> float:
        """Return tokens a second."""
        return self.tokens / self.seconds

    @property
    def is_quiet(self) -> bool:
        """Return whether it is known to be undisturbed."""
        free = self.core is None or self.core >= QUIET_CORE
        return free and self.others is not None and self.others <= QUIET_SHARE * self.seconds


def time_repetition(
    work: Callable[[], int], clock: Callable[[], tuple[float, float, float | None]] = read_clocks
) -> Repetition:
    """Do the work once; it returns how many tokens it did."""
    start, own, busy = clock()
    tokens = work()
    end, own_after, busy_after = clock()
    if busy is None or busy_after is None:
        return Repetition(tokens, end - start, None)
    # Below zero only because /proc/stat counts in hundredths of a second.
    return Repetition(tokens, end - start, max(0.0, busy_after - busy - (own_after - own)))


def summarise(repetitions: Sequence[Repetition]) -> dict[str, Any]:
    """Return median, lowest and highest rate, and the counts.

    They are of the quiet repetitions where there are at least ENOUGH_QUIET, else of all.
    """
    quiet = [r.rate for r in repetitions if r.is_quiet]
    counted = quiet if len(quiet) >= ENOUGH_QUIET else [r.rate for r in repetitions]
    rates = {"median": statistics.median(counted), "low": min(counted), "high": max(counted)}
    return rates | {"reps": len(repetitions), "quiet_reps": len(quiet)}


def compute_ratio(ours: Sequence[Repetition], theirs: Sequence[Repetition]) -> float:
    """Return the ratio of two median rates: of quiet repetitions where both have ENOUGH_QUIET, else of all of both.

    A quiet median over a disturbed one would favour one side.
    """
    quiet = [[r for r in several if r.is_quiet] for several in (ours, theirs)]
    counted = quiet if all(len(several) >= ENOUGH_QUIET for several in quiet) else (ours, theirs)
    mine, other = (statistics.median(r.rate for r in several) for several in counted)
    return mine / other


def interleave(
    runs: Mapping[str, Callable[[], Repetition | None]],
    quiet: int,
    seconds: float,
    wall: Callable[[], float] = time.perf_counter,
) -> dict[str, list[Repetition]]:
    """Repeat all by turns, so that whatever drifts (clock rate, neighbours) hits all alike.

    It ends when each has `quiet` quiet repetitions, or after `seconds` and at least ENOUGH_QUIET rounds. Every round
    begins with another run: none always follows the same neighbour. A run that returns None is left out from there on.
    """
    repetitions: dict[str, list[Repetition]] = {name: [] for name in runs}
    names = list(runs)
    start, rounds = wall(), 0
    while names:
        for name in names[rounds % len(names) :] + names[: rounds % len(names)]:
            if one := runs[name]():
                repetitions[name].append(one)
            else:
                names.remove(name)
        rounds += 1
        satisfied = all(sum(r.is_quiet for r in repetitions[name]) >= quiet for name in names)
        if rounds >= ENOUGH_QUIET and (satisfied or wall() - start >= seconds):
            break
    return repetitions
