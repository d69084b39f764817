"""Paper arithmetic: numbers printed in a paper beside what they follow from; and its errata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.evidence.arithmetic import AGREES, DIFFERS, NOT_EQUAL, work_out
from reprise.report.context import Context
from reprise.report.rounding import fixed, integer, plural, significant
from reprise.report.tables import Column, Table


def printed(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a printed number: its formula, its value, and whether the two agree. Those that do not come first."""
    rows = []
    for key, entry in context.paper.arithmetic.items():
        worked = work_out(entry)
        rows.append(
            {
                "id": key,
                "text": entry.text,
                "place": entry.place,
                "printed": entry.printed,
                "formula": entry.formula,
                "equals": entry.equals,
                "values": ", ".join(f"{name} = {_number(value)}" for name, value in entry.values.items()),
                "value": worked.value,
                "other": worked.other,
                "agreement": worked.agreement,
                "off": worked.off,
                "note": entry.note,
            }
        )
    rows.sort(key=lambda row: row["agreement"] == AGREES)
    counts = Counter(row["agreement"] for row in rows)
    notes = (
        [f"Of {plural(len(rows), 'number')}: {'; '.join(f'{words} {n}' for words, n in counts.most_common())}."]
        if rows
        else []
    )
    notes += [f"{row['text'].removesuffix('.')}: {row['note'].strip()}" for row in rows if row["note"]]
    return Table(_COLUMNS, pd.DataFrame(rows, columns=_KEYS), notes)


def errata(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a place of the paper that cannot be meant as it stands: what it says, and what is right."""
    rows = [dict(entry) for entry in context.paper.errata]
    return Table(_ERRATA, pd.DataFrame(rows, columns=["place", "says", "right", "source"]))


def _number(value: float) -> str:
    return integer(value) if float(value).is_integer() else significant(value, 5)


def _computed(row: Mapping[str, Any]) -> str:
    """The value; in per cent where the paper prints it so."""
    if not pd.isna(row["other"]):
        return " and ".join(_number(value) for value in (row["value"], row["other"]))
    if pd.notna(row["printed"]) and row["printed"].endswith("%"):
        return f"{_number(round(100 * row['value'], 9))} %"
    return _number(row["value"])


def _agreement(row: Mapping[str, Any]) -> str:
    if row["agreement"] not in {DIFFERS, NOT_EQUAL}:
        return row["agreement"]
    than = "what is printed" if pd.isna(row["other"]) else "the second"
    more = "more" if row["off"] > 0 else "less"
    return f"{row['agreement']} ({fixed(100 * abs(row['off']), 2)}\u00a0% {more} than {than})"


def _formula(row: Mapping[str, Any]) -> str:
    both = row["formula"] if pd.isna(row["equals"]) else f"{row['formula']} and {row['equals']}"
    return f"{both}; {row['values']}" if row["values"] else both


_KEYS = ["id", "text", "place", "printed", "formula", "equals", "values", "value", "other", "agreement", "off", "note"]
_COLUMNS = [
    Column("Number", lambda row: row["text"], words=True),
    Column("Place", lambda row: row["place"], words=True),
    Column("Printed", lambda row: "the same" if pd.isna(row["printed"]) else row["printed"]),
    Column("Formula", _formula, words=True),
    Column("Value", _computed),
    Column("Agreement", _agreement, words=True),
]
_ERRATA = [
    Column("Place", lambda row: row["place"], words=True),
    Column("The paper says", lambda row: row["says"], words=True),
    Column("What is right, or meant", lambda row: row["right"], words=True),
    Column("Known from", lambda row: row["source"], words=True),
]
