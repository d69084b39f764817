"""Document 002, part 2: the loss at the tables' steps, and what was measured in the texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.report.books import loss_near, original_near, original_of, table_steps
from reprise.report.context import Context
from reprise.report.rounding import NONE, deviation, fixed, integer, mean, spread
from reprise.report.tables import Column, Table

_BOUND = 2  # standard deviations of the original's neighbouring batches
_TEXTS = {"sample": "sampled", "argmax": "argmax", "book": "the book itself", "book-short": "the book itself"}
_MEASURES = {
    "words_in_book": "Words of the book",
    "distinct_1": "Distinct 1",
    "distinct_2": "Distinct 2",
    "distinct_3": "Distinct 3",
    "distinct_4": "Distinct 4",
    "spaces": "Spaces",
    "stops_before_capitals": "Full stops",
}
_EXPECTED = [
    ("hansel", "expected_log_probability", "ln P of “etel” after “Hansel and Gr”"),
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
    return Table(_LOSSES, rows, notes)


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
    """A row a book, way of drawing and step: the measures of 100-character texts, and of the longer ones at the end."""
    context.options(table_id, options)
    rows = []
    for name in context.cited_by(table_id):
        length = context.setting(name, "training.sample_length")
        given, words = context.reported(name, "words_in_book", "sample")
        if given and not context.replaced_dataset(name):
            last = table_steps(context, name)[-1]
            rows.append(_measured(context, name, "original, sampled", last, length, {"words_in_book": [words]}))
        for decoder in ("sample", "argmax"):
            curves = {m: context.points(name, m, decoder) for m in _MEASURES}
            for step in table_steps(context, name):
                at = {m: c.loc[step].dropna() if step in c.index else [] for m, c in curves.items()}
                rows.append(_measured(context, name, _TEXTS[decoder], step, length, at))
        rows.append(_at_the_end(context, name, "book-short", None, length))
        length, last = (context.setting(name, f"training.{option}") for option in ("final_length", "steps"))
        rows += [_at_the_end(context, name, decoder, last - 1, length) for decoder in ("sample", "argmax")]
        rows.append(_at_the_end(context, name, "book", None, length))
    return Table(_MEASURED, pd.DataFrame(rows))


def _at_the_end(context: Context, name: str, split: str, step: int | None, length: int) -> dict[str, Any]:
    values = {m: context.values(name, m, split) for m in _MEASURES}
    return _measured(context, name, _TEXTS[split], step, length, values)


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
            row |= {name: mean(values), f"{name}_std": deviation(values)}
        rows.append(row)
    columns = [Column("Quantity", lambda row: row["quantity"], words=True)]
    columns += [Column(context.entry(name).title, _show(name)) for name in names]
    return Table(columns, pd.DataFrame(rows))


def alternatives(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an alternative of an assumption: the loss of the last 200 steps beside that of the choice made."""
    context.options(table_id, options)
    cited, metric = context.cited_by(table_id), "final_cross_entropy"
    rows = []
    for assumption, entry in context.paper.assumptions.items():
        for alternative, choice in entry.alternatives.items():
            for name in (name for name in choice.experiments if name in cited):
                variant = f"{name}@{assumption}={alternative}"
                chosen, ours = (context.values(experiment, metric, "train") for experiment in (name, variant))
                status = context.status(variant)
                rows.append(
                    {
                        "assumption": assumption,
                        "settings": ", ".join(f"{k} = {v}" for k, v in choice.settings.items()),
                        "experiment": name,
                        "title": context.entry(name).title,
                        "chosen_mean": mean(chosen),
                        "chosen_std": deviation(chosen),
                        "mean": mean(ours),
                        "n": len(ours),
                        "difference": mean(ours) - mean(chosen) if len(ours) and len(chosen) else None,
                        "absence": "diverged" if status.run else status.absence,
                    }
                )
    return Table(_ALTERNATIVES, pd.DataFrame(rows))


def _show(name: str) -> Any:
    return lambda row: spread(row[name], row[f"{name}_std"], 3)


def _share(measure: str) -> Any:
    return lambda row: spread(row[measure], row[f"{measure}_std"], 3)


def _verdict(row: Mapping[str, Any]) -> str:
    return NONE if pd.isna(row["within"]) else "yes" if row["within"] else "no"


_BOOK = Column("Book", lambda row: row["title"], words=True)
_LOSSES = [
    _BOOK,
    Column("Step", lambda row: integer(row["step"])),
    Column("Loss: original", lambda row: spread(row["original_mean"], row["original_std"], 3)),
    Column("Loss: ours", lambda row: spread(row["mean"], row["std"], 3) if row["n"] else row["absence"]),
    Column("Difference", lambda row: fixed(row["gap"], 3)),
    Column("In the original's ±", lambda row: fixed(row["gap_in_std"], 1)),
    Column("Within 2 ±", _verdict),
    Column("Replicas", lambda row: f"{row['n']} of {row['wanted']}" if row["wanted"] > row["n"] else str(row["n"])),
]
_MEASURED = [
    _BOOK,
    Column("Texts", lambda row: row["texts"], words=True),
    Column("Step", lambda row: integer(row["step"])),
    Column("Characters", lambda row: integer(row["length"])),
    *(Column(title, _share(measure)) for measure, title in _MEASURES.items()),
]
_ALTERNATIVES = [
    Column("Assumption", lambda row: row["assumption"], words=True),
    Column("Instead", lambda row: row["settings"], words=True),
    _BOOK,
    Column("Loss: as chosen", lambda row: spread(row["chosen_mean"], row["chosen_std"], 3)),
    Column("Instead: loss", lambda row: fixed(row["mean"], 3) if row["n"] else row["absence"]),
    Column("Difference", lambda row: fixed(row["difference"], 3)),
]
