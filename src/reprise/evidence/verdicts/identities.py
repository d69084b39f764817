"""Claims that checks decide: identities, gradients, counts, each with its computed error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.config.claims import Claim
from reprise.evidence.runs import Runs
from reprise.evidence.verdicts import AGREES, DISAGREES, Decision, Table


def decide(claim: Claim, table: Table) -> Decision:
    """Every comparison of the checks within its tolerance; whether the corrected formula is, is a note."""
    rows = [row for name in claim.checks for row in _comparisons(table.runs[name])]
    held = all(row["held"] for row in rows)
    corrected = [row for name in claim.corrections for row in _comparisons(table.runs[name])]
    notes = ()
    if corrected and not held and all(row["held"] for row in corrected):
        notes = (("corrected", max(corrected, key=lambda row: row["estimate"])),)
    return Decision(AGREES if held else DISAGREES, rows + corrected, "computed error", held, notes=notes)


def _comparisons(runs: Runs) -> list[dict[str, Any]]:
    tolerance = runs.resolved.config["tolerance"]
    return [
        {
            "form": "error",
            "experiment": runs.name,
            "label": split,
            "estimate": value,
            "interval": None,
            "tolerance": tolerance,
            "held": value <= tolerance,
            "n": {runs.name: 1},
            "paper": None,
        }
        for replica in runs.replicas
        for (metric, split), value in replica.metrics.items()
        if metric == "max_error"
    ]


def share_of_tolerance(row: Mapping[str, Any]) -> float:
    """The error in units of its tolerance, of which there may be none."""
    return row["estimate"] / (row["tolerance"] or 1.0)
