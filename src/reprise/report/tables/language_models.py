"""Language models: perplexity beside the paper's, with the spread over seeds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from reprise.evidence.wording import listed
from reprise.report import reductions, spreads, verdicts
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import fixed, integer, mean, spread
from reprise.report.tables import Column, Table
from reprise.report.words import replicas
from reprise.units import perplexity as to_perplexity

_ASTRAY = 1.5
"""A validation perplexity of so many times an earlier one is no noise."""


def perplexity(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an experiment: the paper's test perplexity, ours ± its interval, and the gap, absolute and in deviations.

    Both rest on the deviation of one replica that verdicts take (`reprise.report.spreads`); a note gives those that are
    borrowed. An experiment that this tier trains on another corpus is not set beside the paper's number.
    """
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_row(context, name) for name in names]).astype({"parameters": "Int64"})
    needed = {_FLOOR: rows.floor.notna().any(), _CORPUS: rows.corpus.nunique() > 1}
    printed = {name for name in names if _printed(context, name)[1] is not None}
    columns = [column for column in _columns(printed) if needed.get(column, True)]
    notes = _elsewhere(context, names)
    changed = reductions.sentences(context, [name for name in names if not context.replaced_dataset(name)])
    notes = [*changed, *notes, *_deviations(context, names, rows)]
    notes += [note for name in names for note in _astray(context, name)]
    return verdicts.beside(context, Table(columns, rows, notes), lambda row: ("perplexity *", "cross_entropy *"))


def _row(context: Context, name: str) -> dict[str, Any]:
    status, replaced = context.status(name), context.replaced_dataset(name)
    ours, valid = (spreads.measured(context, name, "perplexity", split) for split in ("test", "valid"))
    given, printed = _printed(context, name)
    # The number stands in the paper's column only where it is about the same text.
    paper = None if replaced else printed
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
        "paper_ran": not given or printed is not None,
        "mean": ours.mean,
        "std": ours.own,
        "reach": ours.reach,
        "n": ours.n,
        "gap": ours.gap(paper),
        "replica_std": ours.deviation,
        "freedom": ours.freedom,
        "lender": ours.lender,
        "gap_in_std": ours.gap_in_deviations(paper),
        "valid_mean": valid.mean,
        "valid_std": valid.own,
        "valid_reach": valid.reach,
        "floor": to_perplexity(entropy_rate) if entropy_rate is not None else None,
        "diverged": status.diverged,
        "run": status.run,
        "wanted": status.wanted,
        "absence": status.absence_of(ours.mean),
    }


def _printed(context: Context, name: str) -> tuple[bool, float | None]:
    """What the paper says of the model's perplexity, on whatever text; see `Context.reported`."""
    return context.reported(name, "perplexity", "test")


def _elsewhere(context: Context, names: list[str]) -> list[str]:
    """A sentence for each corpus of this tier that stands in for one of the paper's, with the models trained on it.

    Those that the paper has a number of have a sentence of their own.
    """
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for name in names:
        if replaced := context.replaced_dataset(name):
            texts = replaced, context.entry(name).data.dataset
            groups.setdefault((*texts, _printed(context, name)[1] is not None), []).append(name)
    notes = []
    for (here, stated, _), some in groups.items():
        titles = "; ".join(context.entry(name).title for name in some)
        used, meant = context.dataset_title(here), context.dataset_title(stated)
        note = f"{titles}: trained on “{used}” at this tier, not on “{meant}”"
        reported = (_printed(context, name)[1] for name in some)
        if printed := [fixed(value, 1) for value in reported if value is not None]:
            are, these = ("is", "it") if len(some) == 1 else ("are" if len(printed) > 1 else "is", "these")
            note += f", so that the paper's {listed(printed)} {are} no measure of {these}"
        notes.append(f"{note}.")
    return notes


def _deviations(context: Context, names: list[str], rows: pd.DataFrame) -> list[str]:
    """What ± and the gaps are measured in, and the deviations that models borrow."""
    known = rows[rows.reach.notna()]
    if known.empty:
        return []
    lent = zip(known.title, known.replica_std, known.freedom, known.lender, strict=True)
    found = spreads.deviations(lent, means=known["mean"])
    cut = spreads.passes(known, ("mean", "reach"), ("valid_mean", "valid_reach"))
    return [spreads.meaning(context, names, gaps=rows.gap.notna().any(), least=cut), *found]


def _astray(context: Context, name: str) -> list[str]:
    """Of each replica whose validation perplexity rose far above an earlier one, where and how far."""
    found = []
    courses = context.points(name, "cross_entropy", "valid")
    for replica, losses in courses.items():
        course = losses.dropna().map(to_perplexity)
        after = course[course.index > course.idxmin()]
        risen = course[course > _ASTRAY * course.cummin()]
        best, last = integer(course.idxmin()), integer(course.index[-1])
        if len(after) and after.max() > _ASTRAY * course.min():
            worst = integer(after.idxmax())
            lowest, highest = fixed(after.min(), 0), fixed(after.max(), 0)
            later = f"the one after it had {highest}"
            if len(after) > 1:
                later = f"later ones had {lowest} to {highest} (epoch {worst})"
            found.append(
                f"epoch {best} of {last} was the best of replica {replica}, with a validation perplexity of "
                f"{fixed(course.min(), 0)}; {later}"
            )
        elif len(risen):
            found.append(
                f"replica {replica} rose to a validation perplexity of {fixed(risen.max(), 0)} in epoch "
                f"{integer(risen.idxmax())}; its best, {fixed(course.min(), 0)}, is that of epoch {best} of {last}"
            )
    return [f"{context.entry(name).title} went astray: {'; '.join(found)}."] if found else []


def _ours(row: Mapping[str, Any]) -> str:
    if row["n"]:
        return spread(row["mean"], row["reach"], 2, least=1.0)
    return "diverged" if row["run"] and row["run"] == row["diverged"] else row["absence"]


def _paper(row: Mapping[str, Any], printed: Collection[str]) -> str:
    """`printed` are the models that the paper has a number of."""
    if not row["paper_ran"]:
        return "not run by the paper"
    return "other corpus" if row["replaced"] and row["experiment"] in printed else fixed(row["paper"], 1)


_CORPUS = Column("Corpus", lambda row: row["corpus"], words=True)
_FLOOR = Column("Least possible", lambda row: fixed(row["floor"], 2))


def _columns(printed: Collection[str]) -> list[Column]:
    return [
        Column("Model", lambda row: row["title"], words=True),
        _CORPUS,
        Column("Parameters", lambda row: integer(row["parameters"])),
        Column("Test perplexity: paper", lambda row: _paper(row, printed)),
        Column(f"Test perplexity: ours ± {spreads.INTERVAL}", _ours),
        Column("Replicas", lambda row: replicas(row["n"], row["wanted"], row["diverged"])),
        Column("Gap", lambda row: fixed(row["gap"], 2)),
        Column("Gap in deviations", lambda row: fixed(row["gap_in_std"], 1)),
        Column(
            f"Validation ± {spreads.INTERVAL}", lambda row: spread(row["valid_mean"], row["valid_reach"], 2, least=1.0)
        ),
        _FLOOR,
    ]
