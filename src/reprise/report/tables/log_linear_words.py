"""Document 004, Table 5 and the agreement that it is an example of: words that a model writes, and forms it prefers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.report import verdicts
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import NONE, fixed, integer, mean
from reprise.report.tables import Column, Table

NIL, NOT_TOP = "@nil", "TOPFORM:@notTop"
LEAST, MOST = 6, 30
"""Words of a sentence that is shown; of a longer one, or of a text without ends of sentences, the first ones."""

METRIC, BY_FREQUENCY, SPLIT, ALL = "agreement", "agreement_by_frequency", "tests", "all"


def generated(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a word of the first whole sentence that the cited model wrote, with its features."""
    (name, *_) = context.cited_by(table_id)
    written = [sample for sample in context.samples(name, None) if "features" in sample]
    sample, found = next(((sample, part) for sample in written for part in _sentences(sample)), ({}, []))
    rows = [{"word": word, "features": features} for word, features in found]
    title = context.entry(name).title
    if not rows:
        notes = [f"{title}: {'no sentence of this length' if written else context.status(name).absence}."]
    else:
        rare = sum(NOT_TOP in features for _, features in found)
        notes = [
            f"{title}, replica {sample['replica']}, epoch {sample['epoch']}: {len(rows)} words, "
            f"{rare} of them outside the most frequent ones (@notTop)."
        ]
    columns = [Column(key.capitalize(), lambda row, key=key: row[key], words=True) for key in ("word", "features")]
    return Table(columns, pd.DataFrame(rows, columns=["word", "features"]), notes)


def agreement(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a model and feature: the share of pairs judged right, of all and by distance.

    After the models stands, for each corpus, what choosing the form that is more frequent in it would give.
    """
    names = context.cited_by(table_id)
    groups = {name: _groups(context, name) for name in names}
    spans = list(dict.fromkeys(span for found in groups.values() for _, span in found)) or [ALL]
    judged = [(name, METRIC, context.entry(name).title) for name in names]
    corpora: dict[str, str] = {}
    for name in filter(groups.get, names):
        corpora.setdefault(_corpus(context, name), name)
    judged += [(name, BY_FREQUENCY, f"the more frequent form, {corpus}") for corpus, name in corpora.items()]
    rows = [_row(context, *one, feature, groups, spans) for one in judged for feature in _features(groups[one[0]])]
    columns = [Column(key.capitalize(), lambda row, key=key: row[key], words=True) for key in ("model", "feature")]
    columns += [_share(span) for span in spans]
    table = Table(columns, pd.DataFrame(rows), _compared(context, names, groups, spans))
    return verdicts.beside(context, table, _about)


def _about(row: Mapping[str, Any]) -> list[str]:
    """Claims are about models, not about what counting gives."""
    return [f"{METRIC}/{row['feature']}/{ALL}/* {SPLIT}"] if row["metric"] == METRIC else []


def _row(
    context: Context,
    name: str,
    metric: str,
    title: str,
    feature: str,
    groups: Mapping[str, Mapping[tuple[str, str], int]],
    spans: list[str],
) -> dict[str, Any]:
    absence = context.status(name).absence
    row = {"experiment": name, "model": title, "feature": feature, "metric": metric, "absence": absence}
    for span in spans:
        row[span] = mean(context.values(name, f"{metric}/{feature}/{ALL}/{span}", SPLIT))
        row[f"{span}: pairs"] = groups[name].get((feature, span))
    return row


def _groups(context: Context, name: str) -> dict[tuple[str, str], int]:
    """(feature, distance) -> number of pairs, of the groups over all kinds that the records hold."""
    rows = of_experiment(context.metrics, name)
    rows = rows[(rows.status == "finished") & rows.metric.str.startswith(f"{METRIC}/")]
    parts = {row.metric: row for row in rows.drop_duplicates("metric").itertuples()}
    named = {tuple(metric.split("/")[1:]): int(row.n) for metric, row in parts.items()}
    return {(feature, span): n for (feature, kind, span), n in named.items() if kind == ALL}


def _features(groups: Mapping[tuple[str, str], int]) -> list[str]:
    return list(dict.fromkeys(feature for feature, _ in groups)) or [ALL]


def _corpus(context: Context, name: str) -> str:
    return context.dataset_title(context.replaced_dataset(name) or context.entry(name).data.dataset)


def _share(span: str) -> Column:
    def show(row: Mapping[str, Any]) -> str:
        if pd.isna(row[span]):
            return row["absence"] if span == ALL else NONE
        return f"{fixed(100 * row[span], 1)} % of {integer(row[f'{span}: pairs'])}"

    return Column("All" if span == ALL else f"Distance {span}", show)


def _compared(
    context: Context, names: list[str], groups: Mapping[str, Mapping[tuple[str, str], int]], spans: list[str]
) -> list[str]:
    """For each model after the first of its corpus: what it has gained on it at every distance."""
    notes, first = [], {}
    for name in names:
        if not groups[name]:
            continue
        other = first.setdefault(_corpus(context, name), name)
        if other == name:
            continue
        parts = []
        for span in spans:
            metric = f"{METRIC}/{ALL}/{ALL}/{span}"
            ours, theirs = (mean(context.values(run, metric, SPLIT)) for run in (name, other))
            if None not in (ours, theirs):
                words = "of all pairs" if span == ALL else f"at distance {span}"
                parts.append(f"{fixed(100 * (ours - theirs), 1)} {words}")
        title, beside = (context.entry(run).title for run in (name, other))
        notes.append(f"{title} against {beside}, percentage points: {', '.join(parts)}.")
    return notes


def _sentences(sample: Mapping[str, Any]) -> list[list[tuple[str, str]]]:
    """The sentences of a text that begin and end in it, each word with its features; the text's head if it has none."""
    pairs = list(zip(sample["words"], sample["features"], strict=True))
    if NIL not in sample["words"]:
        return [pairs[:MOST]]
    parts: list[list[tuple[str, str]]] = [[]]
    for word, features in pairs:
        if word == NIL:
            parts.append([])
        else:
            parts[-1].append((word, features))
    return [part[:MOST] for part in parts[1:-1] if len(part) >= LEAST]
