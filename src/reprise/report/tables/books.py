"""Document 002, part 2: the loss at the tables' steps, and what was measured in the texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reprise.evaluation import text_measures
from reprise.report import verdicts
from reprise.report.books import loss_near, original_near, original_of, table_steps
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import NONE, deviation, fixed, integer, mean, spread
from reprise.report.tables import Column, Table
from reprise.report.words import replicas

_BOUND = 2  # standard deviations of the original's neighbouring batches
_LOGGED = "books_logged_texts.csv"
_QUOTED = (250, 750)
"""Steps of which the document quotes texts, beside those of its tables."""
_STOPS = "stops_before_capitals"
_TEXTS = {"sample": "sampled", "argmax": "argmax", "book": "the book itself", "book-short": "the book itself"}
_MEASURES = {
    "words_in_book": "Words of the book",
    "distinct_1": "Distinct 1",
    "distinct_2": "Distinct 2",
    "distinct_3": "Distinct 3",
    "distinct_4": "Distinct 4",
    "spaces": "Spaces",
    _STOPS: "Full stops",
}
_EXPECTED = [
    ("hansel", "expected_log_probability", "P of “etel” after “Hansel and Gr”"),
    ("hansel", "expected_rank", "rank of “e” there"),
    ("operator", "blank_probability", "P of a blank after “… a vector space.”"),
    ("operator-blank", "capital_probability", "P of a capital after that blank"),
    ("temperature-1", "next_character_entropy", "entropy of the next character, nats, temperature 1"),
    ("temperature-0.8", "next_character_entropy", "the same at temperature 0.8"),
    ("book", "words_in_licence", "words of the licence in excerpts of the file"),
    ("sample", "words_in_licence", "words of the licence after a random character"),
    ("hamlet", "words_in_licence", "after “To be, or not to be …”"),
    ("history", "words_in_licence", "after “History will be kind …”"),
    ("hansel", "words_in_licence", "after “Hansel and Gr”"),
    ("operator", "words_in_licence", "after “Let T be a bounded …”"),
    ("bird", "words_in_licence", "after “Mas vale pajaro …”"),
]


def loss_at_steps(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a book and step: the original's mean loss and ours, and whether ours is within two deviations of it."""
    context.options(table_id, options)
    names = context.cited_by(table_id)
    rows = pd.DataFrame([row for name in names for row in _losses(context, name)])
    notes = [
        f"{context.entry(name).title}: trained on “{context.dataset_title(other)}” at this tier; the original's losses "
        "are no measure of it."
        for name in names
        if (other := context.replaced_dataset(name))
    ]
    notes += _within(rows)
    return verdicts.beside(context, Table(_LOSSES, rows, notes))


def _within(rows: pd.DataFrame) -> list[str]:
    """The sentence on how many of the steps are within the bound, of each book, and where ours is farthest off."""
    judged = rows[rows.within.notna()]
    if judged.empty:
        return []
    books = [f"{sum(found)} of {len(found)} of {title}" for title, found in judged.groupby("title", sort=False).within]
    far = judged.loc[judged.gap_in_std.abs().astype(float).idxmax()]
    text = f"{sum(judged.within)} of {len(judged)} mean losses are within two standard deviations of the original's "
    text += f"batches ({'; '.join(books)}); the farthest, that of step {integer(far.step)} of {far.title}, is "
    return [f"{text}{fixed(abs(far.gap_in_std), 1)} deviations {'above' if far.gap > 0 else 'below'} its mean."]


def _losses(context: Context, name: str) -> list[dict[str, Any]]:
    original, ours = original_of(context, name), context.points(name, "cross_entropy", "train")
    status, rows = context.status(name), []
    for step in table_steps(context, name):
        values = loss_near(ours, step).dropna().to_numpy()
        centre, std = original_near(original, step) if original is not None else (None, None)
        gap = mean(values) - centre if len(values) and centre is not None else None
        rows.append(
            {
                "experiment": name,
                "title": context.entry(name).title,
                "step": step,
                "original_mean": centre,
                "original_std": std,
                "mean": mean(values),
                "std": deviation(values),
                "n": len(values),
                "gap": gap,
                "gap_in_std": gap / std if gap is not None else None,
                "within": abs(gap) <= _BOUND * std if gap is not None else None,
                "absence": "diverged" if status.run else status.absence,
                "wanted": status.wanted,
            }
        )
    return rows


def measures(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a book, way of drawing and step: the measures of 100-character texts, and of the longer ones at the end.

    The original's are measured here, in the texts of its author's log. That its words are in the book takes the book:
    their share at the last of these steps is the one that the paper's file reports.
    """
    context.options(table_id, options)
    rows, notes = [], []
    for name in context.cited_by(table_id):
        length, every, steps = (
            context.setting(name, f"training.{o}") for o in ("sample_length", "sample_every", "steps")
        )
        originals = _originals(context, name, length)
        rows += originals
        quoted = {step for step in _QUOTED if step < steps and not step % every}
        for decoder in ("sample", "argmax"):
            curves = {m: context.points(name, m, decoder) for m in _MEASURES}
            for step in sorted(quoted.union(table_steps(context, name))):
                at = {m: c.loc[step].dropna() if step in c.index else [] for m, c in curves.items()}
                rows.append(_measured(context, name, _TEXTS[decoder], step, length, at))
        rows.append(_at_the_end(context, name, "book-short", None, length))
        length = context.setting(name, "training.final_length")
        rows += [_at_the_end(context, name, decoder, steps - 1, length) for decoder in ("sample", "argmax")]
        rows.append(_at_the_end(context, name, "book", None, length))
        texts = f"{context.setting(name, 'training.samples')} texts of each replica"
        beside = f", the original of {integer(originals[0]['of'])} of its author's log" if originals else ""
        notes.append(f"{context.entry(name).title}: a row of ours is of {texts}{beside}.")
    return Table(_MEASURED, pd.DataFrame(rows), notes)


def _originals(context: Context, name: str, length: int) -> list[dict[str, Any]]:
    """A row a step of the author's log; none where this tier trains on another text."""
    logged = context.original(_LOGGED)
    logged = logged[(logged.book == name) & (context.replaced_dataset(name) is None)]
    rows = []
    for step, found in logged.groupby("step"):
        texts = (found.prompt + found.text).tolist()
        counted = {m: (value, n) for m, value, n in text_measures.measure(texts, text_measures.Words(""))}
        values = {m: [value] for m, (value, _) in counted.items()} | {"words_in_book": []}
        if step == logged.step.max() and context.reported(name, "words_in_book", "sample")[0]:
            values["words_in_book"] = [context.reported(name, "words_in_book", "sample")[1]]
        row = _measured(context, name, "original, sampled", int(step), length, values)
        rows.append(row | {"stops": counted[_STOPS][1] if _STOPS in counted else 0, "of": len(found)})
    return rows


def _at_the_end(context: Context, name: str, split: str, step: int | None, length: int) -> dict[str, Any]:
    values = {m: context.values(name, m, split) for m in _MEASURES}
    rows = of_experiment(context.metrics, name)
    stops = pd.to_numeric(rows[(rows.metric == _STOPS) & (rows.split == split)].n).sum()
    return _measured(context, name, _TEXTS[split], step, length, values) | {"stops": int(stops) or None}


def _measured(
    context: Context, name: str, texts: str, step: int | None, length: int, values: Mapping[str, Any]
) -> dict[str, Any]:
    row = {"experiment": name, "title": context.entry(name).title, "texts": texts, "step": step, "length": length}
    for measure in _MEASURES:
        found = list(values.get(measure, []))
        row |= {measure: mean(found), f"{measure}_std": deviation(found)}
    return row


def expectations(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a quantity, a column a book: probabilities, entropies and shares of words after the prompts."""
    context.options(table_id, options)
    names = context.cited_by(table_id)
    rows = []
    for split, metric, label in _EXPECTED:
        row: dict[str, Any] = {"quantity": label, "split": split, "metric": metric}
        for name in names:
            values = context.values(name, metric, split)
            if metric == "expected_log_probability":
                values = np.exp(values)
            row |= {name: mean(values), f"{name}_std": deviation(values)}
        rows.append(row)
    columns = [Column("Quantity", lambda row: row["quantity"], words=True)]
    columns += [Column(context.entry(name).title, _show(name)) for name in names]
    return Table(columns, pd.DataFrame(rows))


def _show(name: str) -> Any:
    def show(row: Mapping[str, Any]) -> str:
        small = pd.notna(row[name]) and 0 < row[name] < 0.0005
        return "< 0.001" if small else spread(row[name], row[f"{name}_std"], 3)

    return show


def _share(measure: str) -> Any:
    return lambda row: spread(row[measure], row[f"{measure}_std"], 3)


def _stops(row: Mapping[str, Any]) -> str:
    """The share, and of how many full stops it is where that is known."""
    share = _share(_STOPS)(row)
    return share if pd.isna(row["stops"]) or not row["stops"] else f"{share} of {integer(row['stops'])}"


def _verdict(row: Mapping[str, Any]) -> str:
    return NONE if pd.isna(row["within"]) else "yes" if row["within"] else "no"


_BOOK = Column("Book", lambda row: row["title"], words=True)
_LOSSES = [
    _BOOK,
    Column("Step", lambda row: integer(row["step"])),
    Column("Loss: original", lambda row: spread(row["original_mean"], row["original_std"], 3)),
    Column("Loss: ours", lambda row: spread(row["mean"], row["std"], 3) if row["n"] else row["absence"]),
    Column("Difference", lambda row: fixed(row["gap"], 3)),
    Column("Difference in the original's deviations", lambda row: fixed(row["gap_in_std"], 1)),
    Column("Within two deviations", _verdict),
    Column("Replicas", lambda row: replicas(row["n"], row["wanted"])),
]
_MEASURED = [
    _BOOK,
    Column("Texts", lambda row: row["texts"], words=True),
    Column("Step", lambda row: integer(row["step"])),
    Column("Characters", lambda row: integer(row["length"])),
    *(Column(title, _stops if measure == _STOPS else _share(measure)) for measure, title in _MEASURES.items()),
]
