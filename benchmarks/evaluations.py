"""What it takes to measure trained models again, and how near their records that comes: from evaluation records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.table import make_line, make_table
from reprise.records.evaluation import read_evaluation
from reprise.records.resolved import TIERS

_COLUMNS = ("experiment", "tier", "replica", "MiB of weights", "seconds", "threads", "measured on", "trained on")
_COLUMNS += ("largest relative difference",)
NONE_YET = "No evaluation record is committed yet.\n"


def read_evaluations(root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the evaluation records of a clone's committed tiers, each with its tier, the fullest first."""
    for tier in (tier for tier in reversed(TIERS) if tier != "quick"):
        for path in sorted((root / "results" / tier / "evaluations").rglob("*.json")):
            yield tier, read_evaluation(path)


def make_evaluations_table(root: Path) -> str:
    """Return a row an evaluation record, in Markdown; a sentence where there is none."""
    rows = [tuple(_make_cells(tier, evaluation)) for tier, evaluation in read_evaluations(root)]
    if not rows:
        return NONE_YET
    return "\n".join([*make_table(*_COLUMNS), *map(make_line, rows)]) + "\n"


def _make_cells(tier: str, evaluation: dict[str, Any]) -> Iterator[str]:
    run, trained = evaluation["run"], evaluation["trained"]
    yield f"{evaluation['paper']}/{evaluation['experiment']}"
    yield tier
    yield str(evaluation["replica"])
    yield f"{evaluation['weights']['mib']:.1f}"
    yield f"{run['wall_seconds']:.0f}"
    yield str(run["threads"])
    yield run["device"]
    yield trained["device"] if trained else "–"
    differences = [m["relative_difference"] for m in evaluation["metrics"] if m["relative_difference"] is not None]
    yield f"{max(map(abs, differences)):.1e}" if differences else "–"
