"""Document 000, Table 1, and the unit that its numbers are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reprise.errors import UserError
from reprise.report import reductions, verdicts
from reprise.report.context import Context, of_experiment
from reprise.report.gso import CHARACTER, astray, by_fold, corpora, paired
from reprise.report.gso_unit import sentences
from reprise.report.rounding import NONE, deviation, fixed, integer, mean, spread
from reprise.report.spreads import INTERVAL, deviations, difference_reach, meaning, measured, noted
from reprise.report.tables import Column, Table
from reprise.report.words import replicas
from reprise.units import bits

_MODELS = {"gso": "general", "first-order": "first-order RNN", "mi-rnn": "general MI-RNN"}
_BITS, _BY_LINE = "bits_per_character", "cross_entropy_per_character_macro"
_ABOUT = ("cross_entropy test", "cross_entropy_per_character test", "bits_per_character test")


def ablation(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 1, a row a model: the paper's number as printed, ours in nats and bits per character, the gap in either.

    ± is half of an interval (see `reprise.report.spreads`). Besides, how far it is above the general model of its
    activation without first-order terms, paired by fold.
    """
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_row(context, name, names) for name in names]).astype({"parameters": "Int64"})
    notes = [corpora(context, names), *reductions.sentences(context, names)]
    printed = {entry.note for name in names for entry in context.entry(name).reported if entry.note}
    notes += [f"Paper: {note}." for note in sorted(printed)]
    if rows.difference.notna().any():
        notes.append(
            "Above the model without D and E: the general one of the same activation; mean of the differences of equal "
            f"folds, in nats per character, ± half of its {INTERVAL}."
        )
    notes += _precision(context, names, rows)
    where = {name: astray(context, name) for name in names}
    notes += [f"Diverged: {context.entry(name).title}, {'; '.join(folds)}." for name, folds in where.items() if folds]
    return verdicts.beside(context, Table(_ABLATION, rows, notes), lambda row: _ABOUT)


def _precision(context: Context, names: Sequence[str], rows: pd.DataFrame) -> list[str]:
    """What ± and the gaps in brackets are; nothing where too few folds were run for either."""
    known = rows[rows.nats_reach.notna()]
    if known.empty:
        return []
    found = deviations(
        zip(known.title, known.replica_std, known.freedom, known.lender, strict=True), of="fold, in nats"
    )
    return [meaning(context, names, gaps=rows.gap_as_nats.notna().any()), *found]


def unit_audit(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a model: the printed number read as bits and as nats, and ours, each beside that of a counted n-gram model.

    Option `claim`: the claim about the unit, which names the n-gram model (`reference`) and what others published. The
    sentences under the table are computed.
    """
    key = options["claim"]
    asked = context.paper.claims[key].unit if key in context.paper.claims else None
    if asked is None or not asked.reference:
        where = context.option_key(table_id, "claim")
        raise UserError(f"{where}: '{key}' is no claim about a unit with a reference; name such a claim")
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_row(context, name, ()) for name in names]).astype({"paper": float, "bits": float})
    rows["paper_as_nats"] = rows.paper.map(bits)
    yardstick, title = mean(context.values(asked.reference, _BITS, "test")), context.entry(asked.reference).title
    for column in ("paper", "paper_as_nats"):
        rows[f"{column}_beside"] = rows[column] / yardstick - 1 if yardstick else None
    rows["bits_beside"] = [_beside_on_equal_folds(context, name, asked.reference) for name in names]
    note = f"Beside the n-gram: above (+) or below (−) what the {title} gets, for ours on the folds that both have."
    notes = [note, corpora(context, names)]
    if yardstick:
        notes = [*sentences(rows, yardstick, title, asked.published), *notes]
    notes += noted(context, names, rows)
    return verdicts.beside(context, Table(_AUDIT, rows, notes), lambda row: _ABOUT, only={key})


def _row(context: Context, name: str, names: Sequence[str]) -> dict[str, Any]:
    status, replaced = context.status(name), context.replaced_dataset(name)
    nats, in_bits, by_line = (measured(context, name, metric, "test") for metric in (CHARACTER, _BITS, _BY_LINE))
    # The number stands in the paper's column only where it is about the same text.
    paper = None if replaced else context.reported(name, "cross_entropy", "test")[1]
    parameters = of_experiment(context.metrics, name).parameters.dropna()
    plain = _without_first_order_terms(context, name, names)
    differences = paired(context, name, plain, CHARACTER) if plain else []
    return {
        "experiment": name,
        "title": context.entry(name).title,
        "model": context.entry(name).model.name,
        "activation": context.setting(name, "model.activation"),
        "input_term": context.setting(name, "model.input_term"),
        "recurrent_term": context.setting(name, "model.recurrent_term"),
        "parameters": int(parameters.iloc[0]) if len(parameters) else None,
        "paper": paper,
        "other_text": replaced is not None and context.reported(name, "cross_entropy", "test")[0],
        "nats": nats.mean,
        "nats_std": nats.own,
        "nats_reach": nats.reach,
        "bits": in_bits.mean,
        "bits_std": in_bits.own,
        "bits_reach": in_bits.reach,
        "nats_by_line": by_line.mean,
        "replica_std": nats.deviation,
        "freedom": nats.freedom,
        "lender": nats.lender,
        "gap_as_nats": nats.gap(paper),
        "gap_as_bits": in_bits.gap(paper),
        "gap_as_nats_in_std": nats.gap_in_deviations(paper),
        "gap_as_bits_in_std": in_bits.gap_in_deviations(paper),
        "difference_to": plain,
        "difference": mean(differences),
        "difference_std": deviation(differences),
        "difference_reach": difference_reach(context, name, plain, CHARACTER, "test") if plain else None,
        "best_epoch": mean(context.values(name, "best_epoch", "valid")),
        "n": nats.n,
        "diverged": len(astray(context, name)),
        "run": status.run,
        "wanted": status.wanted,
        "absence": status.absence,
    }


def _beside_on_equal_folds(context: Context, name: str, reference: str) -> float | None:
    """By which share the bits of `name` are above those of `reference` on the folds that both have; None for itself."""
    both = pd.concat([by_fold(context, one, _BITS) for one in (name, reference)], axis=1, join="inner")
    if both.empty or name == reference:
        return None
    ours, theirs = both.mean()
    return ours / theirs - 1


def _without_first_order_terms(context: Context, name: str, names: Sequence[str]) -> str | None:
    """The general model without D and E that has the activation of `name`; None for itself."""
    for other in names:
        terms = [context.setting(other, f"model.{term}") for term in ("input_term", "recurrent_term")]
        alike = context.setting(other, "model.activation") == context.setting(name, "model.activation")
        if terms == [False, False] and alike:
            return other if other != name else None
    return None


def _signed(value: float | None, places: int, of: str = "") -> str:
    """A number with its sign, + included; a dash where there is none."""
    if pd.isna(value):
        return NONE
    return f"{'+' if value > 0 else ''}{fixed(value, places)}{of}"


def _difference(row: Mapping[str, Any]) -> str:
    text = _signed(row["difference"], 4)
    return text if pd.isna(row["difference_reach"]) else f"{text} ± {fixed(row['difference_reach'], 4)}"


def _model(row: Mapping[str, Any]) -> str:
    if row["model"] != "gso":
        return _MODELS.get(row["model"], row["title"])
    terms = [letter for letter, key in (("D", "input_term"), ("E", "recurrent_term")) if row[key]]
    return f"{_MODELS['gso']}, {'with' if terms else 'without'} {' and '.join(terms or 'DE')}"


def _paper(row: Mapping[str, Any]) -> str:
    return "other text" if row["other_text"] else fixed(row["paper"], 2)


def _mean(title: str, key: str) -> Column:
    def show(row: Mapping[str, Any]) -> str:
        if not row["n"]:
            return "diverged" if row["run"] else row["absence"]
        return spread(row[key], row[f"{key}_reach"], 3)

    return Column(title, show)


def _gap(title: str, key: str) -> Column:
    def show(row: Mapping[str, Any]) -> str:
        text, in_std = _signed(row[key], 3), row[f"{key}_in_std"]
        return text if pd.isna(in_std) else f"{text} ({_signed(in_std, 1)})"

    return Column(title, show)


def _beside(title: str, key: str) -> Column:
    return Column(title, lambda row: _signed(None if pd.isna(row[key]) else 100 * row[key], 1, " %"))


_MODEL = Column("Model", lambda row: row["title"], words=True)
_FOLDS = Column("Folds", lambda row: replicas(row["n"], row["wanted"], row["run"] - row["n"]))
_ABLATION = [
    Column("Model", _model, words=True),
    Column("φ", lambda row: row["activation"] or NONE, words=True),
    Column("Parameters", lambda row: integer(row["parameters"])),
    Column("Paper, as printed", _paper),
    _mean(f"Ours, nats per character ± {INTERVAL}", "nats"),
    Column(f"Ours, bits per character ± {INTERVAL}", lambda row: spread(row["bits"], row["bits_reach"], 3)),
    _gap("Gap, if printed in nats (in deviations)", "gap_as_nats"),
    _gap("Gap, if printed in bits (in deviations)", "gap_as_bits"),
    Column(f"Above the model without D and E ± {INTERVAL}", _difference),
    Column("Mean of lines, nats", lambda row: fixed(row["nats_by_line"], 3)),
    _FOLDS,
]
_AUDIT = [
    _MODEL,
    Column("Paper, as printed", _paper),
    _beside("Read as bits: beside the n-gram", "paper_beside"),
    Column("Read as nats: in bits", lambda row: fixed(row["paper_as_nats"], 2)),
    _beside("Read as nats: beside the n-gram", "paper_as_nats_beside"),
    _mean(f"Ours, bits per character ± {INTERVAL}", "bits"),
    _beside("Ours beside the n-gram", "bits_beside"),
    _mean(f"Ours, nats per character ± {INTERVAL}", "nats"),
    _FOLDS,
]
