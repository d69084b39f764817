"""Claims that checks decide: identities, gradients, counts, each with its computed error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.config.claims import Claim
from reprise.evidence.runs import Runs
from reprise.evidence.verdicts import NOT, REPRODUCED, Decision
from reprise.evidence.wording import number


def decide(claim: Claim, runs: Mapping[str, Runs]) -> Decision:
    """Every comparison of the checks within its tolerance; of several that are not, the worst is named."""
    rows = [row for name in claim.checks for row in _comparisons(runs[name])]
    failed = [row for row in rows if not row["held"]]
    if not failed:
        worst = max(rows, key=_share)
        several = f"Largest error of {len(rows)} comparisons, by its tolerance" if len(rows) > 1 else "Error"
        return Decision(REPRODUCED, f"{several}: {worst['label']}, {_error(worst)}.", "computed error", rows)
    worst = max(failed, key=_share)
    head = f"{len(failed)} of {len(rows)} comparisons fail, the worst" if len(rows) > 1 else "Fails"
    sentence = f"{head}: {worst['label']}, error {_error(worst)}."
    corrected = [row for name in claim.corrections for row in _comparisons(runs[name])]
    if corrected and all(row["held"] for row in corrected):
        largest = max(corrected, key=lambda row: row["estimate"])
        sentence += f" Corrected ({largest['label']}) it holds: {_error(largest)}."
    return Decision(NOT, sentence, "computed error", rows + corrected)


def _comparisons(runs: Runs) -> list[dict[str, Any]]:
    tolerance = runs.resolved.config["tolerance"]
    return [
        {
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


def _share(row: Mapping[str, Any]) -> float:
    """The error in units of its tolerance, of which there may be none."""
    return row["estimate"] / (row["tolerance"] or 1.0)


def _error(row: Mapping[str, Any]) -> str:
    return f"{number(row['estimate'])} (tolerance {number(row['tolerance'])})"
