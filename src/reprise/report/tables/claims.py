"""Claims: what a paper says, and what the run records say to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.errors import UserError
from reprise.report import verdicts as verdicts_of
from reprise.report.context import Context
from reprise.report.rounding import NONE, plural
from reprise.report.tables import Column, Table
from reprise.report.words import sentence


def verdicts(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a claim, from claims.json: verdict, the sentence behind it, alternatives that would change it.

    Errors: `UserError` where claims.json is missing or does not know a claim.
    """
    rows = []
    for key, claim in context.paper.claims.items():
        if key not in context.claims:
            raise UserError(
                f"results/{context.tier}/claims.json: no claim {context.paper_id}/{key}; "
                f"run `python -m reprise verify --tier {context.tier}`"
            )
        found = context.claims[key]
        rows.append(
            {
                "claim": key,
                "text": claim.text.strip(),
                "place": claim.place,
                "kind": found["kind"],
                "verdict": found["verdict"],
                "records": found["records"],
                "sentence": found["sentence"] + verdicts_of.in_full_sentence(context, key),
                "replicas": found["replicas"],
                "flips": "; ".join(verdicts_of.flips(found["alternatives"])),
                "alternatives": verdicts_of.how_many_run(found["alternatives"]),
                "criterion": claim.criterion,
            }
        )
    frame = pd.DataFrame(rows, columns=_KEYS).astype({"replicas": "Int64"})
    counts = Counter(row["verdict"] for row in rows)
    notes = [f"Of {plural(len(rows), 'claim')}: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}."]
    if any(_tests_several(context.claims[row["claim"]]) for row in rows):
        notes.append(_TOGETHER)
    notes += [f"{row['claim']}: {sentence(row['criterion'])}" for row in rows if row["criterion"]]
    return Table(_COLUMNS, frame, notes if rows else [])


def _verdict(row: Mapping[str, Any]) -> str:
    return row["verdict"] if pd.isna(row["records"]) else f"{row['verdict']} (our records: {row['records']})"


def _changes(row: Mapping[str, Any]) -> str:
    """What turns the claim, after how many alternatives were looked at: none of them is not none at all."""
    return "; ".join(filter(None, (row["flips"], row["alternatives"]))) or NONE


def _tests_several(found: Mapping[str, Any]) -> bool:
    """Whether chance is in several of a claim's comparisons."""
    intervals = filter(None, (part.get("interval") for part in found.get("parts", ())))
    return sum(low < high for low, high in intervals) > 1


_TOGETHER = (
    "Several comparisons of one claim are tested together, after Holm: what the 95 % interval of one alone excludes "
    "may then be left open."
)
_KEYS = [
    *("claim", "text", "place", "kind", "verdict", "records", "sentence", "replicas"),
    *("flips", "alternatives", "criterion"),
]
_COLUMNS = [
    Column("Claim", lambda row: row["claim"], words=True),
    Column("Verdict", _verdict, words=True),
    Column("Kind", lambda row: row["kind"] or NONE, words=True),
    Column("What the paper says", lambda row: f"{row['text']} ({row['place']})", words=True),
    Column("What the run records say", lambda row: row["sentence"], words=True),
    Column("Changes under", _changes, words=True),
]
