"""Make the tables of document 000: Table 1, the audit of its unit, predictions, and facts of the corpus."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reprise.config import ldc_wsj
from reprise.config.claims import Published
from reprise.data.text.character_lines import MAX_COMMON_LENGTH
from reprise.errors import UserError
from reprise.evaluation.line_losses import SHOWN_LINES
from reprise.evidence.load import DIVERGED_EPOCH
from reprise.evidence.verdicts.kinds import compute_mean_log_ratio, is_clearly_closer
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, make_mean_values, make_text_column, pick_attributes
from reprise.report.parts import verdicts, wording
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import (
    DASH,
    compute_mean,
    compute_sd,
    format_count,
    format_fixed,
    format_integer,
    format_signed,
    format_significant,
)
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.uncertainty import (
    INTERVAL,
    compute_difference_half_width,
    estimate_mean,
    write_interval_notes,
)
from reprise.report.parts.wording import format_replicas
from reprise.units import convert_to_bits

TOKEN = "cross_entropy"
CHARACTER = "cross_entropy_per_character"
MIKOLOV = "mikolov-text"
"""The deviation that applies if Mikolov's text is read."""
_MODELS = {"gso": "general", "first-order": "first-order RNN", "mi-rnn": "general MI-RNN"}
_BITS_METRIC, _LINE_METRIC = "bits_per_character", "cross_entropy_per_character_macro"
_METRIC_PATTERNS = ("cross_entropy test", "cross_entropy_per_character test", "bits_per_character test")


def get_losses_on_equal_folds(context: Context, names: Iterable[str], metric: str) -> pd.DataFrame:
    """Return test losses, a row per experiment, a column per shared fold; every fold if they share none."""
    losses = pd.DataFrame({name: context.get_values_by_replica(name, metric) for name in names}).T
    shared = losses.dropna(axis=1)
    return losses if shared.empty else shared


def list_unstable(context: Context, name: str) -> list[str]:
    """List the folds whose loss rose far or stopped being finite: in which epoch, and the epoch that was tested."""
    epochs = context.get_values_by_replica(name, *DIVERGED_EPOCH)
    best = context.get_values_by_replica(name, "best_epoch", "valid")
    unstable = {
        fold: (epoch, f"no finite loss; tested with the weights of epoch {format_integer(best[fold])}")
        for fold, epoch in epochs.items()
    }
    for fold, losses in context.get_curve_points(name, TOKEN, "valid").items():
        curve = losses.dropna()
        high_losses = cells.select_high_losses(curve)
        if len(high_losses) and fold not in unstable:
            lowest = curve.cummin()[high_losses.index[0]]
            rise = f"from {format_fixed(lowest, 2)} to {format_fixed(high_losses.max(), 2)}"
            unstable[fold] = (
                high_losses.index[0],
                f"validation loss {rise}; tested with the weights of epoch {format_integer(curve.idxmin())}",
            )
    diverged_curves = context.get_curve_points(name, TOKEN, "valid", status="diverged")
    for fold in (replica.number for replica in context.list_replicas(name, "diverged")):
        unstable[fold] = (
            diverged_curves[fold].last_valid_index() + 1 if fold in diverged_curves else 1,
            "without a number",
        )
    return [
        f"fold {fold} in epoch {format_integer(epoch)} ({reason})" for fold, (epoch, reason) in sorted(unstable.items())
    ]


def write_corpus_notes(context: Context, names: Sequence[str]) -> list[str]:
    """Write which texts are read, which of the paper's they replace, and the deviation of Mikolov's text."""
    trained = [name for name in names if context.get_resolved(name)] or names
    datasets = {context.find_replaced_dataset(name) or context.get_entry(name).data.dataset for name in trained}
    notes = [f"Text: {'; '.join(sorted(context.datasets[dataset].title for dataset in datasets))}."]
    deviation = context.paper.deviations.get(MIKOLOV)
    if deviation and any(context.datasets[dataset].prepare == ldc_wsj.REPLACED_PREPARATION for dataset in datasets):
        notes.append(f"Deviation {MIKOLOV}: {deviation.title}.")
    return [*notes, *wording.write_corpus_notes(context, names)]


def ablation(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make Table 1, a row per model: the paper's number, ours in nats and bits per character, and both gaps.

    ± is half of an interval (see `parts.uncertainty`). A column compares with the general model of the same activation
    without first-order terms, paired by fold.
    """
    names = context.list_cited_experiments(table_id)
    rows = pd.DataFrame([_make_row(context, name, names) for name in names]).astype({"parameters": "Int64"})
    notes = [*write_corpus_notes(context, names), *wording.write_reduction_notes(context, names)]
    paper_notes = {entry.note for name in names for entry in context.get_entry(name).reported if entry.note}
    notes += [f"Paper: {note}." for note in sorted(paper_notes)]
    if rows.difference.notna().any():
        notes.append(
            "Difference from no D, E: from the general model of the same activation without D and E, on the "
            f"folds that both have, in nats per character ± half of its {INTERVAL}."
        )
    notes += write_interval_notes(context, names, rows)
    unstable_folds = {name: list_unstable(context, name) for name in names}
    notes += [
        f"Became unstable: {context.get_title(name)}: {'; '.join(folds)}."
        for name, folds in unstable_folds.items()
        if folds
    ]
    notes += wording.write_model_note(
        wording.BEST_AT_LAST_EPOCH, context, wording.count_best_at_last_epoch(context, names)
    )
    columns = [
        Column("Model", _format_model, is_text=True),
        Column("Activation φ", lambda row: row["activation"] or DASH, is_text=True),
        Column("Paper", _format_paper),
        cells.make_result_column(f"Nats per character ± {INTERVAL}", "nats", 3),
        Column("Difference from no D, E (nats)", _format_difference),
        cells.make_interval_column("Bits per character", "bits", 3),
        Column("Gap in nats", lambda row: format_signed(row["gap_as_nats"], 3)),
        Column("Gap in bits", lambda row: format_signed(row["gap_as_bits"], 3)),
        _FOLDS_COLUMN,
        cells.make_number_column("Mean over lines (nats)", "nats_by_line", 3),
        cells.PARAMETERS_COLUMN,
    ]
    notes.insert(0, "Gap in nats, in bits: ours minus the printed number, read as nats or as bits per character.")
    return Table(columns, rows, notes)


def unit_audit(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per model: the printed number read as bits and as nats, and ours, beside an n-gram model's.

    Option `claim`: the claim about the unit; it names the n-gram model (`reference`) and a published number. The notes
    under the table are computed.
    """
    key = options["claim"]
    unit_claim = context.paper.claims[key].unit if key in context.paper.claims else None
    if unit_claim is None or not unit_claim.reference:
        option_name = context.name_option(table_id, "claim")
        raise UserError(f"{option_name}: '{key}' is no claim about a unit with a reference; name such a claim")
    names = context.list_cited_experiments(table_id)
    rows = pd.DataFrame([_make_row(context, name, ()) for name in names]).astype({"paper": float, "bits": float})
    rows["paper_as_nats"] = rows.paper.map(convert_to_bits)
    reference_bits = compute_mean(context.get_values(unit_claim.reference, _BITS_METRIC, "test"))
    title = context.get_entry(unit_claim.reference).title
    for column in ("paper", "paper_as_nats"):
        rows[f"{column}_beside"] = rows[column] / reference_bits - 1 if reference_bits else None
    rows["bits_beside"] = [_compare_on_equal_folds(context, name, unit_claim.reference) for name in names]
    note = (
        f"Beside the n-gram: by how much a number is above (+) or below (−) that of the {title}. "
        "Ours are compared on the folds that both have."
    )
    notes = [note, *write_corpus_notes(context, names)]
    if reference_bits:
        notes = [*write_unit_notes(rows, reference_bits, title, unit_claim.published), *notes]
    notes += write_interval_notes(context, names, rows)
    columns = [
        cells.MODEL_COLUMN,
        Column("Paper, as printed", _format_paper),
        _make_relative_column("Read as bits: beside the n-gram", "paper_beside"),
        cells.make_number_column("Read as nats: in bits", "paper_as_nats", 2),
        _make_relative_column("Read as nats: beside the n-gram", "paper_as_nats_beside"),
        cells.make_result_column(f"Ours, bits per character ± {INTERVAL}", "bits", 3),
        _make_relative_column("Ours beside the n-gram", "bits_beside"),
        cells.make_result_column(f"Ours, nats per character ± {INTERVAL}", "nats", 3),
        _FOLDS_COLUMN,
    ]
    return verdicts.add_claims_column(context, Table(columns, rows, notes), lambda row: _METRIC_PATTERNS, only={key})


def write_unit_notes(rows: pd.DataFrame, reference_bits: float, title: str, published: Published | None) -> list[str]:
    """Write how plausible the printed numbers are as bits, how plausible as nats, and which unit it is.

    Args:
        rows: A row per model: title, paper (as printed), paper_as_nats (in bits, if printed in nats) and bits (ours).
        reference_bits: The bits per character of the n-gram model, used if there are none of ours.
        title: The name of the n-gram model.
        published: A published number to compare with.
    """
    printed = rows[rows.paper.notna()].sort_values("paper", kind="stable").set_index("experiment")
    if printed.empty:
        return []
    low, high = printed.iloc[0], printed.iloc[-1]
    low_text, high_text = format_fixed(low.paper, 2), format_fixed(high.paper, 2)

    def format_relative(value: float) -> str:
        return _format_ratio(math.log(value / reference_bits))

    published_text = ""
    if published:
        published_ratio = _format_ratio(math.log(low.paper / published.value))
        published_text = (
            f", and {published_ratio} {format_fixed(published.value, 2)}, {published.what} ({published.source})"
        )
    return [
        f"Read as bits per character, the paper's {low_text} ({low.title}) would be {format_relative(low.paper)} "
        f"the {format_fixed(reference_bits, 2)} of our {title}{published_text}. Its highest number, {high_text} "
        f"({high.title}), would be {format_relative(high.paper)} the n-gram.",
        f"Read as nats per character, {low_text} would be {format_fixed(low.paper_as_nats, 2)} bits, "
        f"{format_relative(low.paper_as_nats)} the n-gram; {high_text} would be {format_fixed(high.paper_as_nats, 2)} "
        f"bits, {format_relative(high.paper_as_nats)} it.",
        _write_unit_verdict(printed, reference_bits),
    ]


_UNIT_COLUMNS = {"bits": "paper", "nats": "paper_as_nats"}


def _write_unit_verdict(printed: pd.DataFrame, reference_bits: float) -> str:
    """Write the average distance of ours from both readings, and the plausible unit."""
    ours = printed[printed.bits.notna()]
    references = dict(ours.bits) if len(ours) else dict.fromkeys(printed.index, reference_bits)
    log_ratios = {
        unit: compute_mean_log_ratio(dict(printed.loc[list(references), column]), references)
        for unit, column in _UNIT_COLUMNS.items()
    }
    nearest, farthest = sorted(log_ratios, key=lambda unit: abs(log_ratios[unit]))
    is_clear = is_clearly_closer(log_ratios[nearest], log_ratios[farthest])
    subject = f"our numbers ({format_count(len(ours), 'model')}) are" if len(ours) else "the n-gram is"
    conclusion = f"The plausible unit is {nearest}" if is_clear else "This leaves the unit undecided"
    return (
        f"On average, {subject} {_format_ratio(log_ratios['bits'])} the paper's if these are bits, and "
        f"{_format_ratio(log_ratios['nats'])} if they are nats. {conclusion}."
    )


def _format_ratio(mean_log_ratio: float) -> str:
    """Write "5.9 % below" for a ratio, given by its logarithm."""
    return f"{format_fixed(100 * abs(math.expm1(mean_log_ratio)), 1)} % {'above' if mean_log_ratio > 0 else 'below'}"


def _make_row(context: Context, name: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the raw values of an experiment."""
    status, replaced = context.get_status(name), context.find_replaced_dataset(name)
    nats, in_bits, by_line = (
        estimate_mean(context, name, metric, "test") for metric in (CHARACTER, _BITS_METRIC, _LINE_METRIC)
    )
    # The number stands in the paper's column only where it is about the same text.
    paper = None if replaced else context.get_printed(name, "cross_entropy", "test")
    plain_name = _find_model_without_first_order(context, name, names)
    differences = (
        (context.get_values_by_replica(name, CHARACTER) - context.get_values_by_replica(plain_name, CHARACTER)).dropna()
        if plain_name
        else []
    )
    return {
        "experiment": name,
        "title": context.get_title(name),
        "model": context.get_entry(name).model.name,
        **{key: context.get_setting(name, f"model.{key}") for key in ("activation", "input_term", "recurrent_term")},
        "parameters": cells.find_parameter_count(context, name),
        "paper": paper,
        "other_text": replaced is not None and context.find_reported(name, "cross_entropy", "test") is not None,
        **make_mean_values(nats, "nats"),
        **make_mean_values(in_bits, "bits"),
        "nats_by_line": by_line.mean,
        "replica_std": nats.replica_sd,
        "degrees_of_freedom": nats.df,
        "gap_as_nats": nats.compute_gap(paper),
        "gap_as_bits": in_bits.compute_gap(paper),
        "gap_as_nats_in_std": nats.compute_gap_in_sds(paper),
        "gap_as_bits_in_std": in_bits.compute_gap_in_sds(paper),
        "difference_to": plain_name,
        "difference": compute_mean(differences),
        "difference_std": compute_sd(differences),
        "difference_reach": compute_difference_half_width(context, name, plain_name, CHARACTER, "test")
        if plain_name
        else None,
        "best_epoch": compute_mean(context.get_values(name, "best_epoch", "valid")),
        "n": nats.n,
        "unstable": len(list_unstable(context, name)),
        **pick_attributes(status, "diverged", "recorded", "planned"),
        "missing_reason": status.explain_missing_value(nats.mean),
    }


def _compare_on_equal_folds(context: Context, name: str, reference: str) -> float | None:
    """Return the bits of `name` relative to `reference`, minus 1, on shared folds; None for itself."""
    values = pd.concat(
        [context.get_values_by_replica(run, _BITS_METRIC) for run in (name, reference)], axis=1, join="inner"
    )
    if values.empty or name == reference:
        return None
    mean, reference_mean = values.mean()
    return mean / reference_mean - 1


def _find_model_without_first_order(context: Context, name: str, names: Sequence[str]) -> str | None:
    """Find the general model without D and E with the activation of `name`; None for itself."""
    terms = ("activation", "input_term", "recurrent_term")
    settings = [context.get_setting(name, "model.activation"), False, False]
    candidates = (
        other for other in names if [context.get_setting(other, f"model.{term}") for term in terms] == settings
    )
    return None if (match := next(candidates, None)) == name else match


def _format_difference(row: Row) -> str:
    """Write the difference from the model without first-order terms, with its interval."""
    text = format_signed(row["difference"], 4)
    return text if pd.isna(row["difference_reach"]) else f"{text} ± {format_fixed(row['difference_reach'], 4)}"


def _format_model(row: Row) -> str:
    """Write the name of a model, with its first-order terms."""
    if row["model"] != "gso":
        return _MODELS.get(row["model"], row["title"])
    terms = [letter for letter, key in (("D", "input_term"), ("E", "recurrent_term")) if row[key]]
    return f"{_MODELS['gso']}, {'with' if terms else 'without'} {' and '.join(terms or 'DE')}"


def _format_paper(row: Row) -> str:
    """Write the paper's number, or that it is about another text."""
    return "other text" if row["other_text"] else format_fixed(row["paper"], 2)


def _make_relative_column(title: str, key: str) -> Column:
    """Make a column of relative differences, in per cent."""
    return Column(title, lambda row: format_signed(None if pd.isna(row[key]) else 100 * row[key], 1, " %"))


_FOLDS_COLUMN = Column("Folds", lambda row: format_replicas(row["n"], row["planned"], row["recorded"] - row["n"]))
_FACTS = [
    ("lines", "all", "Lines", "count"),
    ("dropped_lines", "all", "Lines without a letter, left out", "count"),
    ("characters", "lines", "Characters", "count"),
    ("words", "all", "Words", "count"),
    ("word_types", "all", "Different words", "count"),
    ("vocabulary", "all", "Symbols", "count"),
    ("observed_symbols.bigrams", "all", "Symbols that occur if the tokens are bigrams", "count"),
    ("median_length.characters", "all", "Median length of a line, characters", "count"),
    ("median_length.bigrams", "all", "Median length of a line, bigrams", "count"),
    ("shortening_by_bigrams", "all", "Median line shorter in bigrams by", "share"),
    ("long_words.share_of_words", "all", f"Words of more than {MAX_COMMON_LENGTH} letters, of all", "share"),
    (
        "long_words.share_of_types",
        "all",
        f"Words of more than {MAX_COMMON_LENGTH} letters, of the different ones",
        "share",
    ),
]


_MAX_LINES = 6
"""The number of our lines that are shown."""
_LINE_PIECE = re.compile(r".{1,80}$|.{0,79} |.{80}", re.DOTALL)
"""Matches a piece of a line: up to the last space within 80 characters, or 80 characters."""


def predictions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make Figure 2: true lines, and under each character the most probable one; the paper's lines, then ours.

    Option `printed`: the paper's pairs {line, prediction}. Ours begin with those of the paper's lines, then take one of
    each fold in turn.
    """
    (name,) = context.list_cited_experiments(table_id)
    lines = []
    for fold in context.get_values_by_replica(name, CHARACTER).index:
        ranks = {True: 0, False: 0}
        for sample in context.list_samples(name, fold):
            is_shown_in_paper = sample["line"].startswith(SHOWN_LINES)
            lines.append((not is_shown_in_paper, ranks[is_shown_in_paper], fold, sample))
            ranks[is_shown_in_paper] += 1
    our_lines = sorted(lines, key=lambda entry: entry[:3])[:_MAX_LINES]
    pairs = [("paper", pair) for pair in options["printed"]]
    pairs += [(f"ours, fold {fold}", sample) for *_, fold, sample in our_lines]
    rows = [row for origin, pair in pairs for row in _make_prediction_rows(origin, pair["line"], pair["prediction"])]
    notes = ["Correct: the share of a line's characters, without the first, that were the most probable ones."]
    notes += [] if our_lines else [f"Ours: {context.get_status(name).missing_reason}."]
    notes += [*write_corpus_notes(context, [name]), *wording.write_reduction_notes(context, [name])]
    columns = [
        Column("Origin", lambda row: row["origin"] if row["is_first_piece"] else "", is_text=True),
        Column(
            "Correct", lambda row: f"{format_fixed(100 * row['correct_share'], 0)} %" if row["is_first_piece"] else ""
        ),
        make_text_column("Line", "kind"),
        Column("Characters", lambda row: row["text"], is_text=True, is_code=True),
    ]
    return Table(
        columns, pd.DataFrame(rows, columns=["origin", "correct_share", "kind", "text", "is_first_piece"]), notes
    )


def facts(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per fact of the corpus: the paper's number, ours, and the difference if the paper's is exact."""
    (name,) = context.list_cited_experiments(table_id)
    entries = () if context.find_replaced_dataset(name) else context.get_entry(name).reported
    reported = {(entry.metric, entry.split): (entry.value, entry.note or "") for entry in entries}
    rows = []
    for metric, split, title, kind in _FACTS:
        ours, (paper, qualifier) = (
            compute_mean(context.get_values(name, metric, split)),
            reported.get((metric, split), (None, "")),
        )
        difference = None if qualifier or None in (ours, paper) else ours - paper
        absence = context.get_status(name).explain_missing_value(ours)
        rows.append((metric, split, title, kind, paper, qualifier, ours, difference, absence))
    columns = [
        make_text_column("Fact", "title"),
        Column("Paper", lambda row: f"{row['paper_says']} {_format_amount(row['paper'], row['kind'])}".strip()),
        Column(
            "Ours",
            lambda row: row["missing_reason"] if pd.isna(row["ours"]) else _format_amount(row["ours"], row["kind"]),
        ),
        Column("Ours − paper", lambda row: _format_amount(row["difference"], "count")),
    ]
    keys = ["metric", "split", "title", "kind", "paper", "paper_says", "ours", "difference", "missing_reason"]
    return Table(columns, pd.DataFrame(rows, columns=keys), write_corpus_notes(context, [name]))


def _make_prediction_rows(origin: str, line: str, prediction: str) -> Iterator[dict[str, Any]]:
    """Yield two rows per piece of a line: the true characters and the predicted ones."""
    share_right = sum(a == b for a, b in zip(line[1:], prediction[1:], strict=True)) / (len(line) - 1)
    for piece in _LINE_PIECE.finditer(line):
        row = {"origin": origin, "correct_share": share_right}
        yield row | {"kind": "true", "text": piece[0], "is_first_piece": piece.start() == 0}
        yield row | {"kind": "predicted", "text": prediction[slice(*piece.span())], "is_first_piece": False}


def _format_amount(value: float | None, kind: str) -> str:
    """Write a count, or a share in per cent."""
    if pd.isna(value):
        return DASH
    return f"{format_significant(100 * value)} %" if kind == "share" else format_integer(value)
