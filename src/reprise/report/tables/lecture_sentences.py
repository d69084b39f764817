"""Document 003: parts of speech by networks of one and of two directions, sentences as one vector, orders of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from reprise.data.synthetic.phrases import CHANGES, PHRASES, metric_of
from reprise.report import reductions, verdicts
from reprise.report.context import Context
from reprise.report.rounding import NONE, fixed, integer, mean, spread
from reprise.report.spreads import measured, noted
from reprise.report.tables import Column, Table
from reprise.report.tables.lecture import corpora, with_variants
from reprise.report.words import counted, replicas_or_absence

_MOVED = {"shuffled": "share above a random order", "swapped": "share above two neighbours exchanged"}
_ACCURACY = ("accuracy* test", "guessing* test")
_PARTS = {"": "all words", "_ambiguous": "words with several tags", "_unseen": "words unseen in training"}


def taggers(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a network, and last the words' most frequent tags: test accuracy of all words and of two groups of them."""
    names = context.cited_by(table_id)
    rows = [_row(context, name, title, _PARTS) for name, title in with_variants(context, names)]
    guessing = next((name for name in names if context.status(name).finished), None)
    if guessing:
        row = {"experiment": "guessing", "title": "The word's most frequent tag", "n": 0, "wanted": 0, "diverged": 0}
        row["absence"] = NONE
        for group in _PARTS:
            row[f"accuracy{group}"] = mean(context.values(guessing, f"guessing{group}", "test"))
        rows.append(row)
    columns = [
        Column("Network", lambda row: row["title"], words=True),
        Column("Parameters", lambda row: integer(row["parameters"])),
        *(Column(head.capitalize(), _accuracy(group)) for group, head in _PARTS.items()),
        Column("Nats a tag", lambda row: spread(row["log_loss"], row["log_loss_reach"], 3)),
        Column("Best epoch", lambda row: fixed(row["best_epoch"], 1)),
        Column("Replicas", replicas_or_absence),
    ]
    frame = _frame(rows, _PARTS)
    notes = _notes(context, names, frame)
    return verdicts.beside(context, Table(columns, frame, notes), lambda row: _ACCURACY)


def pooling(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a way to make one vector of all states: test accuracy of the sentences' labels, by length of sentence."""
    names, groups = context.cited_by(table_id), ("", "_short", "_long")
    rows = [_row(context, name, title, groups) for name, title in with_variants(context, names)]
    columns = [
        Column("Representation", lambda row: row["title"], words=True),
        *(Column(h, _accuracy(g)) for g, h in zip(groups, ("Accuracy", "Short sentences", "Long"), strict=True)),
        Column("Nats a sentence", lambda row: spread(row["log_loss"], row["log_loss_reach"], 3)),
        Column("Best epoch", lambda row: fixed(row["best_epoch"], 1)),
        Column("Replicas", replicas_or_absence),
    ]
    finished = next((name for name in names if context.status(name).finished), None)
    frame = _frame(rows, groups)
    notes = _notes(context, names, frame)
    if finished:
        shares = [fixed(mean(context.values(finished, f"guessing{group}", "test")), 4) for group in groups]
        notes.insert(
            0, "By guessing the more frequent label {}; of short sentences {}, of long ones {}.".format(*shares)
        )
    return verdicts.beside(context, Table(columns, frame, notes), lambda row: _ACCURACY)


def _row(context: Context, name: str, title: str, groups: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"experiment": name, "title": title, **counted(context.status(name))}
    for metric in (*(f"accuracy{group}" for group in groups), "log_loss"):
        found = measured(context, name, metric, "test")
        row |= {metric: found.mean, f"{metric}_std": found.own, f"{metric}_reach": found.reach}
    row["best_epoch"] = mean(context.values(name, "best_epoch", "valid"))
    row["parameters"] = mean(context.values(name, "parameters_without_vectors", "train"))
    return row


def _frame(rows: list[dict[str, Any]], groups: Any) -> pd.DataFrame:
    metrics = (*(f"accuracy{group}" for group in groups), "log_loss")
    shown = (f"{metric}{end}" for metric in metrics for end in ("", "_std", "_reach"))
    keys = ["experiment", "title", "parameters", *shown, "best_epoch", "n", "wanted", "diverged", "absence"]
    return pd.DataFrame(rows, columns=keys)


def _notes(context: Context, names: list[str], frame: pd.DataFrame) -> list[str]:
    said = [*corpora(context, names), *reductions.sentences(context, names)]
    return said + noted(context, names, frame, shares=True)


def _accuracy(group: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: spread(row[f"accuracy{group}"], row[f"accuracy{group}_reach"], 4, share=True)


def word_order(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Rows a model: the phrases' log-probabilities and the shares of test sentences; a column an order."""
    names = context.cited_by(table_id)
    orders = range(1, max(context.setting(name, "model.order") for name in names) + 1)
    rows = []
    for name in names:
        common = {"experiment": name, "title": context.entry(name).title}
        if not context.status(name).finished:
            rows.append({**common, "quantity": context.status(name).absence, "kind": "", "about": "*"})
            continue
        for phrase in PHRASES:
            about = f"{metric_of(phrase)}_order_* phrases"
            row = {**common, "quantity": f"“{phrase}”", "kind": "phrase", "about": about}
            for n in orders:
                row[f"order_{n}"] = mean(context.values(name, f"{metric_of(phrase)}_order_{n}", "phrases"))
            rows.append(row)
        for change in CHANGES:
            row = {**common, "quantity": _MOVED[change], "kind": "share", "about": f"above_{change}_order_* test"}
            for n in orders:
                for key, metric in ((f"order_{n}", "above"), (f"tied_{n}", "tied_with")):
                    row[key] = mean(context.values(name, f"{metric}_{change}_order_{n}", "test"))
            rows.append(row)
    columns = [
        Column("Model", lambda row: row["title"], words=True),
        Column("Quantity", lambda row: row["quantity"], words=True),
        *(Column(f"n = {n}", _score(n)) for n in orders),
    ]
    numbers = (f"{kind}_{n}" for kind in ("order", "tied") for n in orders)
    keys = ["experiment", "title", "quantity", "kind", "about", *numbers]
    notes = ["No number stands where the phrase has probability 0.", *corpora(context, names)]
    return verdicts.beside(
        context, Table(columns, pd.DataFrame(rows, columns=keys), notes), lambda row: (row["about"],)
    )


def _score(n: int) -> Callable[[Mapping[str, Any]], str]:
    def show(row: Mapping[str, Any]) -> str:
        value, tied = row[f"order_{n}"], row[f"tied_{n}"]
        if row["kind"] != "share":
            return fixed(value, 2)
        return fixed(value, 3) + (f" ({fixed(tied, 3)})" if tied >= 0.0005 else "")

    return show
