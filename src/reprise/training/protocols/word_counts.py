"""What the countings of words have in common whatever they measure: document 003, sections 1.1 and 1.2."""

from __future__ import annotations

from typing import Any


class WordCounts:
    """Counting instead of training: every piece of work measures one model more.

    `state` holds what was measured alone: what was counted is counted again.
    """

    engine = "numpy"
    total: int  # models

    def __init__(self) -> None:
        self.parameters = 0  # n-grams of all orders whose count is kept
        self.found: list[dict[str, float]] = []  # of every model so far

    @property
    def finished(self) -> bool:
        return len(self.found) >= self.total

    @property
    def done(self) -> float:
        return len(self.found)

    def state(self) -> dict[str, Any]:
        return {"found": self.found, "parameters": self.parameters}

    def restore(self, state: dict[str, Any]) -> None:
        self.found, self.parameters = list(state["found"]), state["parameters"]
