"""Document 002, part 2, Tables 1 to 4: the original's texts and ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.report.books import table_steps
from reprise.report.context import Context
from reprise.report.rounding import integer, significant
from reprise.report.tables import Column, Table

ORIGINAL = "books_samples.csv"
BAR = "|"
_MISREAD = ("", "l", "I", "/", " l ", " l")
"""What our copy of the document has where it sets a bar."""
_DRAWN = {"sample": "sampled", "argmax": "argmax"}
_WITH_BLANK = "operator-blank"


def samples(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a step: what the original wrote after a random character, and what ours wrote, drawn in both ways."""
    (name,) = context.cited_by(table_id)
    original = _original(context, name, completions=False).set_index("step", drop=False)
    ours = {(s["step"], s["decoder"]): s for s in context.samples(name) if s["kind"] == "start"}
    rows = []
    for step in sorted({0, *table_steps(context, name), *original.index}):
        row: dict[str, Any] = {"experiment": name, "step": step, "original": "", "printed": ""}
        if step in original.index:
            found = original.loc[step]
            row |= {"original": _joined(found.prompt, found.logged), "printed": found.printed}
        row |= {decoder: _text(ours.get((step, decoder))) for decoder in _DRAWN}
        rows.append(row)
    columns = [Column("Step", lambda row: integer(row["step"]))]
    if len(original):
        columns.append(_words("Original (its author's log)", "original"))
    columns += [_words("Ours, sampled", "sample"), _words("Ours, argmax", "argmax")]
    return Table(columns, pd.DataFrame(rows), [_drawing(context, name), *_notes(context, name, original)])


def completions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Rows of each prompt: the original's completion, those that ours sampled, and its likeliest."""
    (name,) = context.cited_by(table_id)
    original = _original(context, name, completions=True)
    ours = [s for s in context.samples(name) if s["kind"] != "start"]
    rows = []
    for kind in dict.fromkeys([*original.kind, *(s["kind"] for s in ours)]):
        for found in original[original.kind == kind].itertuples():
            whose = f"original, sampled (log, step {integer(found.logged_step)})"
            rows.append(_row(kind, found.prompt, whose, found.logged, found.printed))
        for sample in (s for s in ours if s["kind"] == kind):
            rows.append(_row(kind, sample["prompt"], f"ours, {_DRAWN[sample['decoder']]}", sample["text"]))
    previous = None
    for row in rows:
        row["first"], previous = row["kind"] != previous, row["kind"]
    columns = [
        Column("Prompt", lambda row: f"{row['prompt']}{BAR}" if row["first"] else "", words=True),
        _words("Whose", "whose"),
        _words("Completion", "text"),
    ]
    frame = pd.DataFrame(rows, columns=["kind", "prompt", "whose", "text", "printed", "first"])
    notes = [_drawing(context, name), *_notes(context, name, original)]
    if any(row["kind"] == _WITH_BLANK for row in rows):
        notes.insert(
            1,
            "The prompt on T stands twice: the author's code ends it with the full stop, and the document's print "
            "leaves open whether a blank follows; ours completes both.",
        )
    return Table(columns, frame, notes)


def _drawing(context: Context, name: str) -> str:
    temperature = context.setting(name, "training.temperature")
    return f"Sampled: drawn at temperature {significant(temperature)}; argmax: the likeliest character at each place."


def _original(context: Context, name: str, completions: bool) -> pd.DataFrame:
    """The original's rows of a book; none where this tier trains on another text."""
    rows = context.original(ORIGINAL)
    kept = (rows.book == name) & ((rows.kind != "start") == completions)
    return rows[kept & (context.replaced_dataset(name) is None)]


def _notes(context: Context, name: str, original: pd.DataFrame) -> list[str]:
    """Where the print differs from the log in more than the bar, and what is missing of ours."""
    notes = []
    for row in original.itertuples():
        where = integer(row.step) if row.kind == "start" else f"“{row.prompt}”"
        if row.step != row.logged_step:
            notes.append(f"{where}: the log has this text at step {integer(row.logged_step)}.")
        if not printed_as_logged(row.kind, row.prompt, row.printed, row.logged):
            notes.append(f"{where}: in our copy of the document “{row.printed}”.")
    other = context.replaced_dataset(name)
    if other:
        notes.append(f"Trained on “{context.dataset_title(other)}” at this tier: the original's texts are left out.")
    if not context.samples(name):
        notes.append(f"Ours: {context.status(name).absence}.")
    return notes


def printed_as_logged(kind: str, prompt: str, printed: str, logged: str) -> bool:
    """Whether a printed text is the beginning of the logged one, a misread bar between prompt and text aside."""
    body = printed.removeprefix(prompt) if kind == "start" else printed
    return any(body.startswith(bar) and logged.startswith(body[len(bar) :]) for bar in _MISREAD)


def _row(kind: str, prompt: str, whose: str, text: str, printed: str = "") -> dict[str, Any]:
    return {"kind": kind, "prompt": prompt, "whose": whose, "text": text, "printed": printed}


def _text(sample: Mapping[str, Any] | None) -> str:
    return "" if sample is None else _joined(sample["prompt"], sample["text"])


def _joined(prompt: str, text: str) -> str:
    return f"{prompt}{BAR}{text}"


def _words(title: str, key: str) -> Column:
    return Column(title, lambda row: row[key], words=True)
