"""Assumptions with consequences: every choice that a paper leaves open, and what another one would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reprise.errors import UserError, known
from reprise.evidence.contrasts import terms_of
from reprise.evidence.names import name_of, plain
from reprise.report import rounding, verdicts
from reprise.report.assumptions import Outcome, outcomes, sentence
from reprise.report.context import Context, of_experiment
from reprise.report.gso import by_fold
from reprise.report.rounding import NONE, even, fixed, integer, mean, significant
from reprise.report.spreads import INTERVAL, measured, noted, passes
from reprise.report.tables import Column, Table
from reprise.report.words import settings

_SAME = "the same records"


def consequences(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an assumption, alternative and experiment that it was run on: our number, that under the alternative, and
    the claims' verdicts under both, whether they change or not.

    Option `numbers`: "<metric> <split>", separated by commas; of an experiment the first that it has.
    """
    stated = options["numbers"]
    numbers = [tuple(pair.split()) for pair in stated.split(",")]
    if any(len(pair) != 2 for pair in numbers):
        where = context.option_key(table_id, "numbers")
        raise UserError(f"{where}: '{stated}' is no list of a metric and its split; write 'perplexity test'")
    _refuse_unknown(context, table_id, numbers)
    found = {(o.assumption, o.alternative): o for o in outcomes(context)}
    rows = [row for key in context.paper.assumptions for row in _rows(context, key, found, numbers)]
    frame = pd.DataFrame(rows, columns=_KEYS).astype({"n": "Int64", "chosen_n": "Int64"})
    several = frame.loc[frame.metric.notna(), ["metric", "split"]].drop_duplicates()
    columns = [c for c in _COLUMNS if (c is not _MEASURED or len(several) > 1)]
    notes = [sentence(context)] if found else []
    if frame.difference_in_deviations.notna().any():
        runs = context.replicas.runs
        one = "fold" if any(runs[name].by_fold for name in frame.experiment.dropna() if name in runs) else "replica"
        notes.append(f"Differences in brackets are in deviations of one {one}.")
    least = frame.metric.map(rounding.least_of).astype(float)
    cut = passes(frame, ("chosen_mean", "chosen_reach"), ("mean", "reach"), least=least)
    notes += noted(context, frame.experiment.dropna(), frame, shares=(frame.unit == "share").any(), least=cut)
    entries = [entry for outcome in found.values() for entry in outcome.claims.values()]
    judged = filter(verdicts.was_judged, entries)
    if any(verdicts.is_looked_at(entry) and verdicts.part_of(entry) for entry in judged):
        notes.append(
            "Where only a part of a claim's comparisons could be looked at (2 of 4), both verdicts are on these alone: "
            "the one as chosen may differ from the claim's, which is on all of them."
        )
    if not all(map(verdicts.is_looked_at, entries)):
        notes.append(
            "Not looked at: the claim rests on the assumption, but what it compares was not to be trained under the "
            "alternative."
        )
    if any(map(verdicts.fewer_of, entries)):
        notes.append(
            "With as few replicas: as chosen, the claim was judged with as many as were trained under the alternative, "
            "which says less than all that there are."
        )
    notes += [f"Deviation {key}: {entry.title}." for key, entry in context.paper.deviations.items()]
    return Table(columns, frame, notes)


def _refuse_unknown(context: Context, table_id: str, numbers: list[tuple[str, str]]) -> None:
    """A number that no record has is a mistake, unless its records may still come.

    It is taken for one where an experiment was run that has none of the numbers, or where all were run. What a claim or
    a number of the paper is about is left to `verify`.
    """
    rows = context.metrics[context.metrics.status == "finished"]
    there = set(zip(rows.metric, rows.split, strict=True))
    told = {term.quantity for claim in context.paper.claims.values() for term in terms_of(claim)}
    told |= {(r.metric, r.split) for entry in context.paper.experiments.values() for r in entry.reported}
    unknown = [pair for pair in numbers if pair not in there | told]
    if not unknown:
        return
    shown = {
        run
        for key, entry in context.paper.assumptions.items()
        for alternative, choice in entry.alternatives.items()
        for name in choice.experiments
        for run in (name, f"{name}@{key}={alternative}")
    }
    done = {run for run in shown if context.status(run).finished}
    if done == shown != set() or any(not any(len(context.values(run, *q)) for q in numbers) for run in done):
        asked = " ".join(unknown[0])
        raise UserError(
            f"{context.option_key(table_id, 'numbers')}: no record has '{asked}'; "
            f"{known(asked, (' '.join(pair) for pair in there))}"
        )


def _rows(
    context: Context, key: str, found: Mapping[tuple[str, str], Outcome], numbers: list[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    entry = context.paper.assumptions[key]
    common = {name: getattr(entry, name) for name in ("title", "choice", "source", "unrun")} | {"assumption": key}
    if not entry.alternatives:
        yield common | {"first": True}
    first = True
    for alternative, choice in entry.alternatives.items():
        outcome = found[key, alternative]
        under = common | {"alternative": alternative, "state": outcome.state}
        claims: str | None = verdicts.turns(outcome.claims.items()) or None
        before = ""
        if choice.metrics:
            said = "; ".join(f"{plain(other)} in place of {plain(metric)}" for metric, other in choice.metrics.items())
            shown = {"settings": said, "claims": claims, "first": first}
            yield under | {"absence": _SAME} | shown
            first = False
        for name in choice.experiments:
            row = under | _compared(context, name, outcome.suffix, numbers)
            shown = {"settings": settings(choice.changes(name)), "claims": claims, "first": first}
            yield row | shown | {"again": shown["settings"] == before}
            first, claims, before = False, "", shown["settings"]


def _compared(context: Context, name: str, suffix: str, numbers: list[tuple[str, str]]) -> dict[str, Any]:
    variant = f"{name}@{suffix}"
    there = (q for q in numbers if len(context.values(name, *q)) or len(context.values(variant, *q)))
    found = next(there, None)
    metric, split = found or numbers[0]
    chosen, ours = (measured(context, experiment, metric, split) for experiment in (name, variant))
    difference = _above(context, variant, name, metric, split)
    std, status = chosen.deviation, context.status(variant)
    return {
        "experiment": name,
        "experiment_title": context.entry(name).title,
        # Which of the numbers it will have is not known before there is one.
        "metric": metric if found or len(numbers) == 1 else None,
        "split": split if found or len(numbers) == 1 else None,
        "unit": context.unit(*found) if found else None,
        "chosen_mean": chosen.mean,
        "chosen_std": chosen.own,
        "chosen_reach": chosen.reach,
        "chosen_n": chosen.n,
        "mean": ours.mean,
        "std": ours.own,
        "reach": ours.reach,
        "n": ours.n,
        "diverged": status.diverged,
        "run": status.run,
        "absence": status.absence,
        "difference": difference,
        "difference_in_deviations": difference / std if difference is not None and std else None,
    }


def _above(context: Context, variant: str, name: str, metric: str, split: str) -> float | None:
    """By how much the mean under the alternative is above that as chosen; of folds, on those that both have."""
    ours, chosen = (by_fold(context, run, metric, split) for run in (variant, name))
    if (of_experiment(context.metrics, name).fold != "").any():
        return mean((ours - chosen).dropna())
    return mean(ours) - mean(chosen) if len(ours) and len(chosen) else None


def _number(value: float | None, digits: int = 5) -> str:
    """A count in full, anything else to so many significant digits."""
    if pd.isna(value):
        return NONE
    return integer(value) if float(value).is_integer() and abs(value) >= 10 else significant(value, digits)


def _spread(row: Mapping[str, Any], key: str) -> str:
    return even(
        row[f"{key}mean"], row[f"{key}reach"], share=row["unit"] == "share", least=rounding.least_of(row["metric"])
    )


def _instead(row: Mapping[str, Any]) -> str:
    if pd.isna(row["absence"]):
        return NONE
    if pd.isna(row["run"]) or not row["run"]:
        return row["absence"]
    if pd.isna(row["mean"]):
        return "diverged" if row["run"] == row["diverged"] else "no such number"
    return _spread(row, "")


def _difference(row: Mapping[str, Any]) -> str:
    if pd.isna(row["difference"]):
        return NONE
    text = f"{'+' if row['difference'] > 0 else ''}{_number(row['difference'], 3)}"
    in_deviations = row["difference_in_deviations"]
    return text if pd.isna(in_deviations) else f"{text} ({fixed(in_deviations, 1)})"


def _choice(row: Mapping[str, Any]) -> str:
    return f"{row['choice']} (source: {row['source']})" if row["first"] else ""


def _alternative(row: Mapping[str, Any]) -> str:
    if pd.isna(row["alternative"]):
        return "none is run" if pd.isna(row["unrun"]) else f"none is run: {row['unrun']}"
    return "" if row["again"] is True else f"{row['alternative']}: {row['settings']}"


def _or_dash(value: Any) -> str:
    return NONE if pd.isna(value) else value


_KEYS = [
    *("assumption", "title", "choice", "source", "unrun", "alternative", "settings", "state"),
    *("experiment", "experiment_title", "metric", "split", "unit"),
    *("chosen_mean", "chosen_std", "chosen_reach", "chosen_n"),
    *("mean", "std", "reach", "n"),
    *("diverged", "run", "absence", "difference", "difference_in_deviations", "claims", "first", "again"),
]
_MEASURED = Column(
    "Measured",
    lambda row: NONE if pd.isna(row["metric"]) else name_of(row["metric"], row["split"]),
    words=True,
)
_COLUMNS = [
    Column("Assumption", lambda row: f"{row['title']} ({row['assumption']})" if row["first"] else "", words=True),
    Column("Our choice", _choice, words=True),
    Column("Alternative", _alternative, words=True),
    Column("Claims: as chosen → under it", lambda row: _or_dash(row["claims"]), words=True),
    Column("Run on", lambda row: _or_dash(row["experiment_title"]), words=True),
    _MEASURED,
    Column(f"As chosen ± {INTERVAL}", lambda row: _spread(row, "chosen_")),
    Column(f"Under the alternative ± {INTERVAL}", _instead),
    Column("Difference (in deviations)", _difference),
]
