"""The numbers on an experiment's card: every metric by its name, its unit, and how sure its mean is."""

from __future__ import annotations

import pandas as pd

from reprise.config.resolved import Resolved
from reprise.evidence.names import name_of
from reprise.report import rounding
from reprise.report.context import Context
from reprise.report.spreads import measured

_NAMED = {"", "1", "share", "relative", "step", "epoch", "rank"}
"""Units that a metric's name says already, or that are none."""


def metrics(context: Context, experiment: Resolved, rows: pd.DataFrame) -> list[dict[str, str]]:
    """Every metric in `rows`, mean ± half of its 95 % interval over the finished replicas, beside the paper's number.

    `paper_unit` and `ours_unit` are those numbers with their units, for where no column says them.
    """
    comparable = not context.replaced_dataset(experiment.base)
    found = []
    named = rows.loc[rows.metric != "", ["metric", "split", "unit"]].drop_duplicates()
    for metric, split, unit in named.itertuples(index=False):
        values = measured(context, experiment.experiment, metric, split)
        # Numbers that are counted do not vary: nothing stands beside them.
        ours = rounding.even(values.mean, values.reach if values.own or values.reach else None)
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
            }
        )
    return found


def unit_words(unit: str) -> str:
    """ " nats/character", to stand behind a number; "" where the metric's name says it, or BLEU's signature is it."""
    return "" if unit in _NAMED or "|" in unit else f" {unit}"
