"""What the benchmarks are to reach, and what they did."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Goal:
    """An implementation of a workload is to be `at_least` times as fast as another one, `over`.

    Without `over`, it is to reach this share of the core's peak or of its roofline ("limit"), as `line` says. `over` is
    timed on the workload `of`, by default the same. A stretch goal lies beyond what was wanted.
    """

    workload: str
    implementation: str
    at_least: float
    over: str | None = None
    of: str | None = None
    stretch: bool = False
    line: str = "peak"

    def __str__(self) -> str:
        reference = f"x {self.over}" if self.over else f"of the {self.line}"
        workload, stretch = f" of {self.of}" if self.of else "", " (stretch)" if self.stretch else ""
        return f"{self.workload}: {self.implementation} >= {self.at_least:g} {reference}{workload}{stretch}"

    def measure(self, rows: Iterable[Mapping[str, Any]]) -> float | None:
        """Return the ratio or the share that the rows of a result show, None where they show none."""
        by_place = {(row["workload"], row["implementation"]): row for row in rows}
        ours = by_place.get((self.workload, self.implementation), {})
        if self.over is None:
            return ours.get(f"share_of_{self.line}")
        if self.of is None:
            return ours.get("ratio_to", {}).get(self.over)
        speed, other = ours.get("median"), by_place.get((self.of, self.over), {}).get("median")
        return speed / other if speed and other else None


SHARE_OF_LIMIT, TIMES_EAGER = 0.6, 5
"""What every workload of the table is to reach on every processor."""


def list_general_goals(bench: ModuleType, ours: str) -> list[tuple[str, Goal]]:
    """Return the two goals of every processor for each workload of the table, with its title."""
    table_rows = bench.TABLE_ROWS
    goals = [(one.title, Goal(one.workload, ours, SHARE_OF_LIMIT, line="limit")) for one in table_rows]
    return goals + [
        (one.title, Goal(one.workload, ours, TIMES_EAGER, "eager")) for one in table_rows if "eager" in one.peers
    ]
