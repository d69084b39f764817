"""Language models: perplexity beside the paper's, with the spread over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.evaluation.units import perplexity as to_perplexity
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import deviation, fixed, integer, mean, spread
from reprise.report.tables import Column, Table


def perplexity(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an experiment: the paper's test perplexity, ours, and the gap, absolute and in our deviations.

    An experiment that this tier trains on another corpus is not set beside the paper's number.
    """
    context.options(table_id, options)
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_row(context, name) for name in names]).astype({"parameters": "Int64"})
    needed = {_FLOOR: rows.floor.notna().any(), _CORPUS: rows.corpus.nunique() > 1}
    columns = [column for column in _COLUMNS if needed.get(column, True)]
    return Table(columns, rows, [note for name in names for note in _notes(context, name)])


def alternatives(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an experiment under an alternative of an assumption: its test perplexity beside that of the choice made.

    The difference is also given in standard deviations of the chosen setting's replicas, where there are several.
    """
    context.options(table_id, options)
    cited = context.cited_by(table_id)
    rows = [
        _alternative(context, name, assumption, alternative)
        for assumption, entry in context.paper.assumptions.items()
        for alternative, choice in entry.alternatives.items()
        for name in choice.experiments
        if name in cited
    ]
    return Table(_ALTERNATIVES, pd.DataFrame(rows))


def _alternative(context: Context, name: str, assumption: str, alternative: str) -> dict[str, Any]:
    variant = f"{name}@{assumption}={alternative}"
    entry = context.paper.assumptions[assumption]
    chosen, ours = (context.values(experiment, "perplexity", "test") for experiment in (name, variant))
    std, status = deviation(chosen), context.status(variant)
    difference = mean(ours) - mean(chosen) if len(ours) and len(chosen) else None
    return {
        "assumption": assumption,
        "alternative": alternative,
        "settings": ", ".join(f"{k} = {v}" for k, v in entry.alternatives[alternative].settings.items()),
        "experiment": name,
        "title": context.entry(name).title,
        "chosen_mean": mean(chosen),
        "chosen_std": std,
        "chosen_n": len(chosen),
        "mean": mean(ours),
        "std": deviation(ours),
        "n": len(ours),
        "diverged": status.diverged,
        "run": status.run,
        "wanted": status.wanted,
        "absence": status.absence,
        "difference": difference,
        "difference_in_std": difference / std if difference is not None and std else None,
    }


def _row(context: Context, name: str) -> dict[str, Any]:
    status, replaced = context.status(name), context.replaced_dataset(name)
    ours, valid = (context.values(name, "perplexity", split) for split in ("test", "valid"))
    # The number stands in the paper's column only where it is about the same text.
    given, paper = (False, None) if replaced else context.reported(name, "perplexity", "test")
    centre, std = mean(ours), deviation(ours)
    gap = centre - paper if paper is not None and centre is not None else None
    parameters = of_experiment(context.metrics, name).parameters.dropna()
    if not len(parameters):
        parameters = pd.Series([context.reported(name, "parameters", "model")[1]]).dropna()
    stated = context.paper.experiments[name].data.dataset
    entropy_rate = mean(context.values(name, "source_entropy", "test")) if replaced else None
    return {
        "experiment": name,
        "title": context.paper.experiments[name].title,
        "corpus": context.dataset_title(replaced or stated),
        "replaced": replaced is not None,
        "parameters": int(parameters.iloc[0]) if len(parameters) else None,
        "paper": paper,
        "paper_ran": not given or paper is not None,
        "mean": centre,
        "std": std,
        "n": len(ours),
        "gap": gap,
        "gap_in_std": gap / std if gap is not None and std else None,
        "valid_mean": mean(valid),
        "valid_std": deviation(valid),
        "floor": to_perplexity(entropy_rate) if entropy_rate is not None else None,
        "diverged": status.diverged,
        "run": status.run,
        "wanted": status.wanted,
        "absence": status.absence,
    }


def _notes(context: Context, name: str) -> list[str]:
    replaced, title = context.replaced_dataset(name), context.paper.experiments[name].title
    if not replaced:
        reductions = context.reductions(name)
        stated = ", ".join(f"{option} = {value}" for option, value in reductions.items())
        return [f"{title}: reduced at this tier to {stated}."] if reductions else []
    stated = context.dataset_title(context.paper.experiments[name].data.dataset)
    given, value = context.reported(name, "perplexity", "test")
    number = f", so that the paper's {fixed(value, 1)} is no measure of it" if given else ""
    return [f"{title}: trained on “{context.dataset_title(replaced)}” at this tier, not on “{stated}”{number}."]


def _ours(row: Mapping[str, Any]) -> str:
    if not row["run"]:
        return row["absence"]
    return spread(row["mean"], row["std"], 2) if row["n"] else "diverged"


def _paper(row: Mapping[str, Any]) -> str:
    if row["replaced"]:
        return "other corpus"
    return fixed(row["paper"], 1) if row["paper_ran"] else "not run by the paper"


def _replicas(row: Mapping[str, Any]) -> str:
    text = f"{row['n']} of {row['wanted']}" if row["wanted"] > row["n"] else str(row["n"])
    return f"{text} ({row['diverged']} diverged)" if row["diverged"] else text


_CORPUS = Column("Corpus", lambda row: row["corpus"], words=True)
_FLOOR = Column("Least possible", lambda row: fixed(row["floor"], 2))
_COLUMNS = [
    Column("Model", lambda row: row["title"], words=True),
    _CORPUS,
    Column("Parameters", lambda row: integer(row["parameters"])),
    Column("Test perplexity: paper", _paper),
    Column("Test perplexity: ours", _ours),
    Column("Replicas", _replicas),
    Column("Gap", lambda row: fixed(row["gap"], 2)),
    Column("Gap in our ±", lambda row: fixed(row["gap_in_std"], 1)),
    Column("Validation", lambda row: spread(row["valid_mean"], row["valid_std"], 2)),
    _FLOOR,
]

_ALTERNATIVES = [
    Column("Assumption", lambda row: row["assumption"], words=True),
    Column("Instead", lambda row: row["settings"], words=True),
    Column("Model", lambda row: row["title"], words=True),
    Column("Test perplexity: as chosen", lambda row: spread(row["chosen_mean"], row["chosen_std"], 2)),
    Column("Instead: test perplexity", _ours),
    Column("Difference", lambda row: fixed(row["difference"], 2)),
    Column("Difference in our ±", lambda row: fixed(row["difference_in_std"], 1)),
]
