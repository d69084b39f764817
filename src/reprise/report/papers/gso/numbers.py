"""What figures and tables of document 000 share: numbers by fold, and what is said of texts, folds and reductions.

A replica of its experiments is a fold, so that two of them are compared replica by replica.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import pandas as pd

from reprise.config import ldc_wsj
from reprise.config.claims import Published
from reprise.evidence.verdicts.units import CLEAR, distance
from reprise.report.parts import words
from reprise.report.parts.context import Context, of_experiment
from reprise.report.parts.rounding import fixed, integer, plural

TOKEN = "cross_entropy"
CHARACTER = "cross_entropy_per_character"
MIKOLOV = "mikolov-text"
"""The deviation that is in force where Mikolov's text is read."""


def on_equal_folds(context: Context, names: Iterable[str], metric: str) -> pd.DataFrame:
    """Test losses, a row an experiment and a column a fold: of the folds that all have, of every one if none is."""
    losses = pd.DataFrame({name: context.by_fold(name, metric) for name in names}).T
    shared = losses.dropna(axis=1)
    return losses if shared.empty else shared


def paired(context: Context, name: str, other: str, metric: str) -> pd.Series:
    """By how much the test metric of `name` is above that of `other`, on the folds that both have."""
    return (context.by_fold(name, metric) - context.by_fold(other, metric)).dropna()


def diverged(context: Context, name: str) -> list[str]:
    """Of each fold whose loss stopped being finite, in which epoch, and which epoch's parameters count instead."""
    epochs, best = context.by_fold(name, "diverged_epoch", "train"), context.by_fold(name, "best_epoch", "valid")
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


def corpora(context: Context, names: Sequence[str]) -> list[str]:
    """Which texts are read, where they stand in for the paper's, and the declared deviation of Mikolov's text."""
    there = [name for name in names if context.resolved(name)] or names
    used = {context.replaced_dataset(name) or context.entry(name).data.dataset for name in there}
    said = [f"Text: {'; '.join(sorted(context.dataset_title(dataset) for dataset in used))}."]
    deviation = context.paper.deviations.get(MIKOLOV)
    if deviation and any(d in context.datasets and context.datasets[d].prepare == ldc_wsj.REPLACES for d in used):
        said.append(f"Deviation {MIKOLOV}: {deviation.title}.")
    return [*said, *words.corpora(context, names)]


_READINGS = {"bits": "paper", "nats": "paper_as_nats"}


def unit_sentences(rows: pd.DataFrame, yardstick: float, title: str, published: Published | None) -> list[str]:
    """Three sentences: the printed numbers as bits, as nats, and which is plausible; none without printed numbers.

    `rows`, a model each: title, paper (as printed), paper_as_nats (in bits, if printed in nats), bits (ours). Ours are
    the measure of the third sentence; where there are none, the n-gram model called `title`, which gets `yardstick`
    bits per character.
    """
    printed = rows[rows.paper.notna()].sort_values("paper", kind="stable").set_index("experiment")
    if printed.empty:
        return []
    low, high = printed.iloc[0], printed.iloc[-1]
    as_bits = f"Read as bits per character, the paper's {fixed(low.paper, 2)} ({low.title}) would be "
    as_bits += f"{_off(low.paper, yardstick)} the {fixed(yardstick, 2)} of our {title}"
    if published:
        as_bits += f", and {_off(low.paper, published.value)} {fixed(published.value, 2)}, {published.what} "
        as_bits += f"({published.source})"
    as_bits += f"; its highest, {fixed(high.paper, 2)} ({high.title}), {_off(high.paper, yardstick)} the n-gram."
    as_nats = f"Read as nats per character, {fixed(low.paper, 2)} would be {fixed(low.paper_as_nats, 2)} bits, "
    as_nats += f"{_off(low.paper_as_nats, yardstick)} the n-gram; {fixed(high.paper, 2)} would be "
    as_nats += f"{fixed(high.paper_as_nats, 2)} bits, {_off(high.paper_as_nats, yardstick)} it."
    return [as_bits, as_nats, _verdict(printed, yardstick)]


def _verdict(printed: pd.DataFrame, yardstick: float) -> str:
    ours = printed[printed.bits.notna()]
    measure = dict(ours.bits) if len(ours) else dict.fromkeys(printed.index, yardstick)
    off = {u: distance(dict(printed.loc[list(measure), column]), measure) for u, column in _READINGS.items()}
    near, far = sorted(off, key=lambda unit: abs(off[unit]))
    clear = abs(off[near]) * CLEAR < abs(off[far])
    whose = f"Ours ({plural(len(ours), 'model')}) are" if len(ours) else "The n-gram is"
    text = f"{whose} on average {_by(off['bits'])} the paper's numbers read as bits, {_by(off['nats'])} them read as "
    return f"{text}nats{f', so that {near} are the plausible reading' if clear else ', which leaves the unit open'}."


def _off(value: float, reference: float) -> str:
    return _by(math.log(value / reference))


def _by(distance: float) -> str:
    """ "5.9 % below": a ratio, given by its logarithm."""
    return f"{fixed(100 * abs(math.expm1(distance)), 1)} % {'above' if distance > 0 else 'below'}"
