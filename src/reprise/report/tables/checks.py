"""Checks: identities, gradients and counts of a paper, each with its computed error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.report.context import Context, of_experiment
from reprise.report.rounding import NONE, significant
from reprise.report.tables import Column, Table

_UNITS = {"relative": "", "1": "", "share": ""}


def errors(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a comparison: its largest error, the tolerance, whether it holds, and the claims that name it."""
    rows, notes = [], []
    for name in context.cited_by(table_id):
        experiment = context.paper.experiments[name]
        common = {
            "check": name,
            "title": experiment.title,
            "tolerance": experiment.check.tolerance,
            "claims": ", ".join(
                key for key, claim in context.paper.claims.items() if name in (*claim.checks, *claim.corrections)
            ),
        }
        found = of_experiment(context.metrics, name)
        found = found[found.metric == "max_error"].sort_values(["replica", "split"], kind="stable")
        for row in found.itertuples():
            held = bool(row.value <= experiment.check.tolerance)
            rows.append(
                {
                    **common,
                    "comparison": row.split,
                    "error": row.value,
                    "unit": row.unit,
                    "n": row.n,
                    "held": held,
                }
            )
        if not len(found):
            empty = dict.fromkeys(("error", "unit", "n", "held"))
            rows.append({**common, "comparison": context.status(name).absence, **empty})
        if experiment.note:
            notes.append(f"{experiment.title}: {experiment.note.strip()}")
    keys = ["check", "title", "comparison", "error", "unit", "n", "tolerance", "held", "claims"]
    return Table(_COLUMNS, pd.DataFrame(rows, columns=keys).astype({"held": "boolean"}), notes)


def _error(row: Mapping[str, Any]) -> str:
    if pd.isna(row["error"]):
        return NONE
    unit = _UNITS.get(row["unit"], row["unit"])
    return f"{significant(row['error'], 2)} {unit}".strip()


def _held(row: Mapping[str, Any]) -> str:
    return NONE if pd.isna(row["held"]) else "yes" if row["held"] else "no"


_COLUMNS = [
    Column("Check", lambda row: row["title"], words=True),
    Column("Comparison", lambda row: row["comparison"], words=True),
    Column("Largest error", _error),
    Column("Tolerance", lambda row: significant(row["tolerance"], 2)),
    Column("Held", _held, words=True),
    Column("Claims", lambda row: row["claims"] or NONE, words=True),
]
