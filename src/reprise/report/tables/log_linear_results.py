"""Document 004, Table 4, and what its gain is due to: log-perplexities of the RNN, of LL-RNNs, and of controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from reprise.errors import UserError, known
from reprise.report import verdicts
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import NONE, fixed, integer, mean, spread
from reprise.report.spreads import INTERVAL, deviations, meaning, measured
from reprise.report.tables import Column, Table
from reprise.report.words import instead, replicas
from reprise.units import perplexity

METRIC, BEST = "cross_entropy", "cross_entropy_best"
SHOWN = {"train": "Train", "test1": "Test1", "test2": "Test2"}
BOTH = "tests"
_AFTERWARDS = "Train: ours, reread with the last weights"


def perplexities(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an experiment: the paper's log-perplexities and ours, at the last epoch and at the best one.

    The paper's numbers stand beside ours on another release of its treebank too; the notes say which one it is.
    """
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_row(context, name) for name in names]).astype({"parameters": "Int64"})
    notes = [_corpora(context, names), *_factor(context, names)]
    columns, gaps = [*_HEAD], False
    for split, title in SHOWN.items():
        given = rows[f"{split}_paper"].notna().any()
        if given:
            columns.append(_number(f"{title}: paper", f"{split}_paper", 2))
        columns.append(_ours(f"{title}: ours ± {INTERVAL}", split))
        if given:
            columns.append(Column(f"{title}: gap (in deviations)", _gap(split)))
            gaps = True
        if split == "train":
            columns.append(_number(_AFTERWARDS, "train_read", 3))
    columns += [_number(f"{SHOWN[s]}, best epoch", f"{s}_best", 3) for s in ("test1", "test2")]
    columns += [Column("Epochs (best)", _epochs), Column("Replicas", _replicas)]
    notes += _precision(context, names, rows, gaps)
    return verdicts.beside(context, Table(columns, rows, notes), _about)


def controls(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a model: the one of `base` or `full` that it differs least from, in what, and the change on both tests.

    The change is that of the last epochs, which Table 4 is of, and beside it that of the best ones: where losses rise
    to the end, the last epoch of two models may say more of where they stopped. Each change has a sentence, in which
    it is also a share of what lies between `base` and `full`; the experiments' own notes stand last.
    """
    ends, names = (options["base"], options["full"]), context.cited_by(table_id)
    for key, name in zip(("base", "full"), ends, strict=True):
        if name not in names:
            where = context.option_key(table_id, key)
            raise UserError(f"{where}: '{name}' is not cited by this table; {known(name, names)}")
    rows, notes = [], [_corpora(context, names)]
    gain, best_gain = (_above(context, *ends, metric) for metric in (METRIC, BEST))
    if gain is not None:
        titles = [context.entry(name).title for name in ends]
        than = f"{'better' if gain > 0 else 'worse'} than {titles[0]}"
        text = f"{titles[1]} is {fixed(abs(gain), 3)} nats per token {than} on both tests together at the last epochs"
        notes.append(f"{text}." if best_gain is None else f"{text}, and {_better(-best_gain)} at the best ones.")
    for name in names:
        beside = None if name in ends else min(ends, key=lambda end: len(_differences(context, name, end)))
        row = _row(context, name) | {"beside": context.entry(beside).title if beside else ""}
        row["difference"] = "; ".join(_differences(context, name, beside)) if beside else ""
        for key, metric in (("change", METRIC), ("change_best", BEST)):
            row[key] = _above(context, name, beside, metric) if beside else None
        rows.append(row)
        if row["change"] is not None:
            notes.append(_sentence(row, gain, best_gain))
    frame = pd.DataFrame(rows).astype({"parameters": "Int64"})
    notes += _precision(context, names, frame)
    notes += [f"{context.entry(name).title}: {note}" for name in names if (note := context.entry(name).note)]
    columns = [
        *_HEAD,
        Column("Beside", lambda row: row["beside"] or NONE, words=True),
        Column("Difference", lambda row: row["difference"] or NONE, words=True),
        *(_ours(f"{title} ± {INTERVAL}", split) for split, title in SHOWN.items()),
        Column("Change", lambda row: _signed(row["change"])),
        Column("Change, best epochs", lambda row: _signed(row["change_best"])),
        Column("Replicas", _replicas),
    ]
    return verdicts.beside(context, Table(columns, frame, notes), _about)


def _about(row: Mapping[str, Any]) -> list[str]:
    return [f"{METRIC}* {split}" for split in (*SHOWN, BOTH)]


def _precision(context: Context, names: list[str], rows: pd.DataFrame, gaps: bool = False) -> list[str]:
    """What ± and the gaps in brackets are; nothing where no deviation is known."""
    known = rows[rows.test1_reach.notna()]
    if known.empty:
        return []
    found = deviations(zip(known.title, known.test1_deviation, known.freedom, known.test1_lender, strict=True))
    return (
        [meaning(context, names, gaps), *(f"On Test1: {text}" for text in found)] if gaps else [meaning(context, names)]
    )


def _row(context: Context, name: str) -> dict[str, Any]:
    status = context.status(name)
    parameters = of_experiment(context.metrics, name).parameters.dropna()
    row = {
        "experiment": name,
        "title": context.entry(name).title,
        "parameters": int(parameters.iloc[0]) if len(parameters) else None,
        "train_read": mean(context.values(name, "cross_entropy_evaluated", "train")),
        "epochs": mean(context.values(name, "epochs", "train")),
        "best_epoch": mean(context.values(name, "best_epoch", "valid")),
        "diverged": status.diverged,
        "run": status.run,
        "wanted": status.wanted,
        "absence": status.absence,
    }
    for split in SHOWN:
        found, paper = measured(context, name, METRIC, split), _paper(context, name, split)
        row |= {f"{split}_paper": paper, f"{split}_mean": found.mean, f"{split}_std": found.own}
        row |= {f"{split}_reach": found.reach, f"{split}_deviation": found.deviation, "freedom": found.freedom}
        row[f"{split}_lender"] = found.lender
        row |= {f"{split}_gap": found.gap(paper), f"{split}_gap_in_std": found.gap_in_deviations(paper)}
        row[f"{split}_best"] = mean(context.values(name, BEST, split))
    return row


def _corpora(context: Context, names: list[str]) -> str:
    """On which corpora this tier trains, and what the paper trained on where that is another."""
    there = [name for name in names if context.resolved(name)]
    used = {context.replaced_dataset(name) or context.entry(name).data.dataset for name in there}
    text = f"Ours: {', '.join(sorted(context.dataset_title(name) for name in used)) or NONE}."
    stated = {context.entry(name).data.dataset for name in there if context.replaced_dataset(name)}
    return text + "".join(f" Paper: {context.dataset_title(name)}." for name in sorted(stated))


def _paper(context: Context, name: str, split: str) -> float | None:
    """The paper's number, if this tier trains on the paper's corpus or on another release of its kind."""
    names = context.replaced_dataset(name), context.entry(name).data.dataset
    ours, theirs = (context.datasets[n].prepare if n in context.datasets else n for n in names)
    return context.reported(name, METRIC, split)[1] if names[0] is None or ours == theirs else None


def _factor(context: Context, names: list[str]) -> list[str]:
    """The sentence on the factor between the softmax RNN and the best log-linear model, on Test1."""
    ours = {name: mean(context.values(name, METRIC, "test1")) for name in names}
    by_output = {output: [] for output in ("softmax", "log-linear")}
    for name in names:
        by_output[context.setting(name, "model.output")].append(name)
    there = {output: [name for name in some if ours[name] is not None] for output, some in by_output.items()}
    if not all(there.values()):
        return []
    rnn, best = (min(some, key=lambda name: ours[name]) for some in there.values())
    values = [perplexity(ours[name]) for name in (rnn, best)]
    titles = [context.entry(name).title for name in (rnn, best)]
    best_of = f", the best of {count}" if (count := len(there["log-linear"])) > 1 else ""
    text = f"Test1: perplexity {fixed(values[0], 0)} of {titles[0]} and {fixed(values[1], 0)} of {titles[1]}{best_of}: "
    text += f"a factor of {fixed(values[0] / values[1], 2)}"
    reported = {name: _paper(context, name, "test1") for name in names}
    given = {o: [reported[name] for name in some if reported[name] is not None] for o, some in by_output.items()}
    if all(given.values()):
        text += f" (paper: {fixed(perplexity(min(given['softmax']) - min(given['log-linear'])), 2)})"
    return [f"{text}."]


def _differences(context: Context, name: str, other: str) -> list[str]:
    """The model settings in which an experiment differs from another, where both have them."""
    mine, theirs = (_settings(context, run) for run in (name, other))
    changed = [k for k in mine if k in theirs and mine[k] != theirs[k]]
    return [instead(k, mine[k], theirs[k]) for k in changed]


def _settings(context: Context, name: str) -> dict[str, Any]:
    """The model's settings at this tier, without those of features where there are none."""
    found = {k: context.setting(name, f"model.{k}") for k in context.entry(name).model.settings}
    if (found["input"], found["output"]) == ("one-hot", "softmax"):
        found = {k: v for k, v in found.items() if k not in ("features_from", "top_types", "word_identity")}
    return found


def _above(context: Context, name: str, other: str, metric: str) -> float | None:
    """By how much the mean of an experiment is above another's on both tests together; None where one has none."""
    values = [mean(context.values(run, metric, BOTH)) for run in (name, other)]
    return None if None in values else values[0] - values[1]


def _sentence(row: Mapping[str, Any], gain: float | None, best_gain: float | None) -> str:
    change, best = row["change"], row["change_best"]
    text = f"{row['title']}: {fixed(abs(change), 3)} nats per token {'worse' if change > 0 else 'better'}"
    text += f" than {row['beside']}{_share(change, gain, 'that gain')}"
    return f"{text}." if best is None else f"{text}; at the best epochs {_better(best)}{_share(best, best_gain)}."


def _better(change: float) -> str:
    return f"{fixed(abs(change), 3)} {'worse' if change > 0 else 'better'}"


def _share(change: float, gain: float | None, of: str = "the gain there") -> str:
    if not gain or gain <= 0:
        return ""
    return f", {'as much as ' if change > 0 else ''}{fixed(100 * abs(change) / gain, 0)} % of {of}"


def _signed(value: float | None) -> str:
    return NONE if pd.isna(value) else f"{'+' if value > 0 else ''}{fixed(value, 3)}"


def _number(title: str, key: str, places: int) -> Column:
    return Column(title, lambda row: fixed(row[key], places))


def _ours(title: str, split: str) -> Column:
    def show(row: Mapping[str, Any]) -> str:
        if not row["run"]:
            return row["absence"]
        if row["run"] == row["diverged"]:
            return "diverged"
        return spread(row[f"{split}_mean"], row[f"{split}_reach"], 3)

    return Column(title, show)


def _gap(split: str) -> Callable[[Mapping[str, Any]], str]:
    def show(row: Mapping[str, Any]) -> str:
        text, in_std = _signed(row[f"{split}_gap"]), row[f"{split}_gap_in_std"]
        return text if pd.isna(in_std) else f"{text} ({fixed(in_std, 1)})"

    return show


def _epochs(row: Mapping[str, Any]) -> str:
    return NONE if pd.isna(row["epochs"]) else f"{fixed(row['epochs'], 0)} ({fixed(row['best_epoch'], 0)})"


def _replicas(row: Mapping[str, Any]) -> str:
    return replicas(row["run"] - row["diverged"], row["wanted"], row["diverged"])


_HEAD = [
    Column("Model", lambda row: row["title"], words=True),
    Column("Parameters", lambda row: integer(row["parameters"])),
]
