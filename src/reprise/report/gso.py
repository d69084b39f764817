"""What figures and tables of document 000 share: numbers by fold, and what is said of texts, folds and reductions.

A replica of its experiments is a fold, so that two of them are compared replica by replica.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from reprise.config import ldc_wsj
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import integer, interval

TOKEN = "cross_entropy"
CHARACTER = "cross_entropy_per_character"
MIKOLOV = "mikolov-text"
"""The deviation that is in force where Mikolov's text is read."""


def by_fold(context: Context, name: str, metric: str, split: str = "test") -> pd.Series:
    """The metric of every finished replica, by its number."""
    rows = of_experiment(context.metrics, name)
    rows = rows[(rows.status == "finished") & (rows.metric == metric) & (rows.split == split)]
    return rows.set_index("replica").value.sort_index()


def on_equal_folds(context: Context, names: Iterable[str], metric: str) -> pd.DataFrame:
    """Test losses, a row an experiment and a column a fold: of the folds that all have, of every one if none is."""
    losses = pd.DataFrame({name: by_fold(context, name, metric) for name in names}).T
    shared = losses.dropna(axis=1)
    return losses if shared.empty else shared


def bars(context: Context, names: Iterable[str]) -> str:
    """What the points and bars of Figure 1 are, of each kind of token: means over so many folds, or one fold."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        if len(by_fold(context, name, TOKEN)):
            kinds.setdefault(context.setting(name, "data.tokens"), []).append(name)
    said = []
    for kind, there in kinds.items():
        counts = on_equal_folds(context, there, TOKEN).notna().sum(axis=1)
        low, high = counts.min(), counts.max()
        over = f"means over {interval(low, high)} folds, bars ± one standard deviation of folds"
        said.append(f"{kind} {over if high > 1 else 'of 1 fold (n = 1), without bars'}")
    return f"Points: {'; '.join(said)}." if said else ""


def paired(context: Context, name: str, other: str, metric: str) -> pd.Series:
    """By how much the test metric of `name` is above that of `other`, on the folds that both have."""
    return (by_fold(context, name, metric) - by_fold(context, other, metric)).dropna()


def astray(context: Context, name: str) -> list[str]:
    """Of each fold whose loss stopped being finite, in which epoch, and which epoch's parameters count instead."""
    epochs, best = by_fold(context, name, "diverged_epoch", "train"), by_fold(context, name, "best_epoch", "valid")
    found = {
        fold: f"fold {fold} in epoch {integer(epoch)}, tested as of epoch {integer(best[fold])}"
        for fold, epoch in epochs.items()
    }
    rows = of_experiment(context.metrics, name)
    courses = context.points(name, TOKEN, "valid", status="diverged")
    for fold in sorted(rows[rows.status == "diverged"].replica):
        epoch = courses[fold].last_valid_index() + 1 if fold in courses else 1
        found[fold] = f"fold {fold} in epoch {integer(epoch)}, without a number"
    return [found[fold] for fold in sorted(found)]


def corpora(context: Context, names: Sequence[str]) -> str:
    """Which texts this tier reads, and that the paper's numbers are about another where they are.

    Mikolov's text in place of the raw one is a declared deviation, which is named.
    """
    there = [name for name in names if context.resolved(name)] or names
    used = {context.replaced_dataset(name) or context.entry(name).data.dataset for name in there}
    text = f"Text of ours: {'; '.join(sorted(context.dataset_title(dataset) for dataset in used))}."
    if any(context.replaced_dataset(name) for name in names):
        text += " It stands in for the paper's at this tier: the paper's numbers are no measure of it."
    deviation = context.paper.deviations.get(MIKOLOV)
    if deviation and any(d in context.datasets and context.datasets[d].prepare == ldc_wsj.REPLACES for d in used):
        text += f" Deviation {MIKOLOV}: {deviation.title}."
    return text
