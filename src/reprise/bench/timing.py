"""Repetitions of a piece of work on a clock, which of them were quiet, and their medians."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

QUIET_SHARE = 0.05
"""Others may take this much of one core during a repetition that still counts as quiet."""

ENOUGH_QUIET = 3
"""With so many quiet repetitions the others are left out of median, low and high."""

_PROC_STAT = Path("/proc/stat")


class Clock(Protocol):
    def wall(self) -> float: ...
    def busy(self) -> float | None: ...
    def own(self) -> float: ...


class SystemClock:
    """Seconds since some moment: of the wall, of all cores at work, of this process at work."""

    def wall(self) -> float:
        return time.perf_counter()

    def busy(self) -> float | None:
        """None where the system does not tell (no /proc/stat)."""
        try:
            # user nice system idle iowait irq softirq steal; steal is what other virtual machines took
            ticks = [int(n) for n in _PROC_STAT.read_text().split("\n", 1)[0].split()[1:9]]
        except OSError:
            return None
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")

    def own(self) -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Repetition:
    """`tokens` done in `seconds`; `others` is CPU time of other processes meanwhile, None if unknown."""

    tokens: int
    seconds: float
    others: float | None

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds

    @property
    def quiet(self) -> bool:
        """Known to be undisturbed."""
        return self.others is not None and self.others <= QUIET_SHARE * self.seconds


def repetition(work: Callable[[], int], clock: Clock | None = None) -> Repetition:
    """Does the work once; it returns how many tokens it did."""
    clock = clock or SystemClock()
    busy, own, start = clock.busy(), clock.own(), clock.wall()
    tokens = work()
    seconds, own, busy_after = clock.wall() - start, clock.own() - own, clock.busy()
    known = busy is not None and busy_after is not None
    # Below zero only because /proc/stat counts in hundredths of a second.
    others = max(0.0, busy_after - busy - own) if known else None
    return Repetition(tokens, seconds, others)


@dataclass(frozen=True)
class Summary:
    """Median, lowest and highest rate of the repetitions that count, and how many there were of all."""

    median: float
    low: float
    high: float
    reps: int
    quiet_reps: int


def summarise(repetitions: Sequence[Repetition]) -> Summary:
    """Quiet repetitions alone if there are at least ENOUGH_QUIET, else all of them."""
    quiet = [r.rate for r in repetitions if r.quiet]
    counted = quiet if len(quiet) >= ENOUGH_QUIET else [r.rate for r in repetitions]
    return Summary(statistics.median(counted), min(counted), max(counted), len(repetitions), len(quiet))


def interleave(
    runs: Mapping[str, Callable[[], Repetition | None]],
    quiet: int,
    seconds: float,
    wall: Callable[[], float] = time.perf_counter,
) -> dict[str, list[Repetition]]:
    """Repetitions of all by turns, so that whatever drifts (clock rate, neighbours) hits all alike.

    Ends when each has `quiet` quiet ones, or after `seconds` and at least ENOUGH_QUIET rounds. Every
    round begins with another one: nobody always runs after the same neighbour. A run that returns None
    is out of it.
    """
    done: dict[str, list[Repetition]] = {name: [] for name in runs}
    left = list(runs)
    start, rounds = wall(), 0
    while left:
        for name in left[rounds % len(left) :] + left[: rounds % len(left)]:
            one = runs[name]()
            if one is None:
                left.remove(name)
            else:
                done[name].append(one)
        rounds += 1
        satisfied = all(sum(r.quiet for r in done[name]) >= quiet for name in left)
        if rounds >= ENOUGH_QUIET and (satisfied or wall() - start >= seconds):
            break
    return done
