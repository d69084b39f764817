"""Goals: a ratio of two medians of one run, or a share of the core's peak, and whether it was reached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Place = tuple[str, str]
"""Workload and implementation."""


@dataclass(frozen=True)
class Goal:
    """`of` reaches `at_least` times the speed of `over`, or that share of the peak where `over` is None."""

    of: Place
    at_least: float
    over: Place | None = None
    stretch: bool = False

    @property
    def text(self) -> str:
        """In words, for example "ptb-h100-k100: fused >= 8 x eager"."""
        workload, implementation = self.of
        if self.over is None:
            other = "of the peak"
        else:
            other = "x " + " of ".join(reversed(self.over)) if self.over[0] != workload else f"x {self.over[1]}"
        stretch = " (stretch)" if self.stretch else ""
        return f"{workload}: {implementation} >= {self.at_least:g} {other}{stretch}"


def judge(goals: Iterable[Goal], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each goal what was found and whether it was reached; None for both where nothing was measured."""
    by_place = {(row["workload"], row["implementation"]): row for row in rows}

    def value(place: Place, key: str) -> float | None:
        return by_place.get(place, {}).get(key)

    found: list[float | None] = []
    goals = list(goals)
    for goal in goals:
        if goal.over is None:
            found.append(value(goal.of, "share_of_peak"))
        else:
            above, below = value(goal.of, "median"), value(goal.over, "median")
            found.append(above / below if above and below else None)
    return [
        {
            "goal": goal.text,
            "at_least": goal.at_least,
            "found": number,
            "reached": None if number is None else number >= goal.at_least,
        }
        for goal, number in zip(goals, found, strict=True)
    ]
