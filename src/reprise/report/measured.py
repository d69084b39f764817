"""The numbers on an experiment's card: every metric by its name, its unit, and how sure its mean is."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reprise.evidence.names import name_of
from reprise.evidence.statistics import clopper_pearson
from reprise.records.resolved import Resolved
from reprise.report import rounding
from reprise.report.context import Context
from reprise.report.spreads import measured

_OF_REPLICAS = {"reached_full_accuracy"}
"""Metrics that are 1 or 0 of a replica: their mean is a share of replicas, with its interval as in verdicts."""
_NAMED = {"", "1", "share", "relative", "step", "epoch", "rank"}
"""Units that a metric's name says already, or that are none."""


def metrics(context: Context, experiment: Resolved, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Every metric in `rows`, mean and its 95 % interval over the finished replicas, beside the paper's number.

    `paper_unit` and `ours_unit` are those numbers with their units, for where no column says them; `paper_value` and
    `ours_value` the numbers themselves, None where there is none.
    """
    comparable = not context.replaced_dataset(experiment.base)
    found = []
    named = rows.loc[rows.metric != "", ["metric", "split", "unit"]].drop_duplicates()
    for metric, split, unit in named.itertuples(index=False):
        values = measured(context, experiment.experiment, metric, split)
        # Numbers that are counted do not vary: nothing stands beside them.
        reach = values.reach if values.own or values.reach else None
        ours = rounding.even(values.mean, reach, share=unit == "share", least=rounding.least_of(metric))
        if metric in _OF_REPLICAS and values.n:
            low, high = (rounding.fixed(end, 2) for end in clopper_pearson(round(values.mean * values.n), values.n))
            ours = rounding.from_to(rounding.fixed(values.mean, 2), low, high)
        given, paper = context.reported(experiment.base, metric, split)
        theirs = rounding.significant(paper, 5) if given and comparable else ""
        stated = context.printed_unit(experiment.base, metric, split)
        words = unit_words(unit)
        shown = f"{theirs}{words}" if theirs not in ("", rounding.NONE) and not stated else theirs
        if theirs and stated:  # beside the unit of ours it would look as if it were in that one
            theirs += f" (printed as {stated})"
            shown = theirs
        found.append(
            {
                "metric": name_of(metric, split),
                "split": split,
                "paper": theirs,
                "ours": ours,
                "n": str(values.n),
                "unit": "" if unit == "1" else unit,
                "paper_unit": shown,
                "ours_unit": ours if ours == rounding.NONE else f"{ours}{words}",
                "paper_value": paper if comparable else None,
                "ours_value": values.mean,
            }
        )
    return found


def unit_words(unit: str) -> str:
    """ " nats/character", to stand behind a number; "" where the metric's name says it, or BLEU's signature is it."""
    return "" if unit in _NAMED or "|" in unit else f" {unit}"
