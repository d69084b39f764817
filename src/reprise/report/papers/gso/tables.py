"""Document 000, Table 1, and the unit that its numbers are in."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reprise.config import ldc_wsj
from reprise.config.claims import Published
from reprise.data.text.character_lines import LONG
from reprise.errors import UserError
from reprise.evaluation.line_losses import SHOWN_LINES
from reprise.evidence.verdicts.kinds import CLEAR, mean_log_ratio
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, picked, signed, text, values
from reprise.report.parts import verdicts, words
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import NONE, deviation, fixed, integer, mean, plural, significant
from reprise.report.parts.spreads import INTERVAL, difference_reach, measured, noted
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.words import replicas
from reprise.units import bits

TOKEN = "cross_entropy"
CHARACTER = "cross_entropy_per_character"
MIKOLOV = "mikolov-text"
"""The deviation that is in force where Mikolov's text is read."""
_MODELS = {"gso": "general", "first-order": "first-order RNN", "mi-rnn": "general MI-RNN"}
_BITS, _BY_LINE = "bits_per_character", "cross_entropy_per_character_macro"
_ABOUT = ("cross_entropy test", "cross_entropy_per_character test", "bits_per_character test")


def on_equal_folds(context: Context, names: Iterable[str], metric: str) -> pd.DataFrame:
    """Test losses, a row an experiment and a column a fold: of the folds that all have, of every one if none is."""
    losses = pd.DataFrame({name: context.by_fold(name, metric) for name in names}).T
    shared = losses.dropna(axis=1)
    return losses if shared.empty else shared


_UNSTABLE = 1.1
"""A model became unstable if its validation loss rises after the best epoch to so many times its lowest."""


def list_unstable(context: Context, name: str) -> list[str]:
    """Of each fold whose loss rose far or stopped being finite: in which epoch, and which epoch's parameters count."""
    epochs, best = context.by_fold(name, "diverged_epoch", "train"), context.by_fold(name, "best_epoch", "valid")
    unstable = {
        fold: (epoch, f"no finite loss, tested as of epoch {integer(best[fold])}") for fold, epoch in epochs.items()
    }
    for fold, losses in context.points(name, TOKEN, "valid").items():
        course = losses.dropna()
        risen = course[(course.index > course.idxmin()) & (course > _UNSTABLE * course.min())]
        if len(risen) and fold not in unstable:
            rise = f"from {fixed(course.min(), 2)} to {fixed(risen.max(), 2)}"
            unstable[fold] = risen.index[0], f"validation loss {rise}, tested as of epoch {integer(course.idxmin())}"
    courses = context.points(name, TOKEN, "valid", status="diverged")
    for fold in (replica.number for replica in context.replicas(name, "diverged")):
        unstable[fold] = (courses[fold].last_valid_index() + 1 if fold in courses else 1, "without a number")
    return [f"fold {fold} in epoch {integer(epoch)}, {what}" for fold, (epoch, what) in sorted(unstable.items())]


def corpora(context: Context, names: Sequence[str]) -> list[str]:
    """Which texts are read, where they stand in for the paper's, and the declared deviation of Mikolov's text."""
    run = [name for name in names if context.resolved(name)] or names
    used = {context.replaced_dataset(name) or context.entry(name).data.dataset for name in run}
    notes = [f"Text: {'; '.join(sorted(context.datasets[dataset].title for dataset in used))}."]
    deviation = context.paper.deviations.get(MIKOLOV)
    if deviation and any(context.datasets[d].prepare == ldc_wsj.REPLACES for d in used):
        notes.append(f"Deviation {MIKOLOV}: {deviation.title}.")
    return [*notes, *words.corpora(context, names)]


def ablation(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 1, a row a model: the paper's number as printed, ours in nats and bits per character, the gap in either.

    ± is half of an interval (see `parts.spreads`). Besides, how far it is above the general model of its
    activation without first-order terms, paired by fold.
    """
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_row(context, name, names) for name in names]).astype({"parameters": "Int64"})
    notes = [*corpora(context, names), *words.reductions(context, names)]
    printed = {entry.note for name in names for entry in context.entry(name).reported if entry.note}
    notes += [f"Paper: {note}." for note in sorted(printed)]
    if rows.difference.notna().any():
        notes.append(
            "Above no D, E: above the general model of the same activation without D and E; mean difference of equal "
            f"folds, in nats per character, ± half of its {INTERVAL}."
        )
    notes += noted(context, names, rows)
    where = {name: list_unstable(context, name) for name in names}
    notes += [f"Became unstable: {context.title(name)}, {'; '.join(folds)}." for name, folds in where.items() if folds]
    notes += words.of_which(words.AT_THE_END, context, words.best_at_the_end(context, names))
    columns = [
        Column("Model", _model, words=True),
        Column("φ", lambda row: row["activation"] or NONE, words=True),
        Column("Paper", _paper),
        cells.ours(f"Nats per character ± {INTERVAL}", "nats", 3),
        Column("Above no D, E", _difference),
        cells.interval("Bits per character", "bits", 3),
        Column("Gap in nats", lambda row: signed(row["gap_as_nats"], 3)),
        Column("Gap in bits", lambda row: signed(row["gap_as_bits"], 3)),
        _FOLDS,
        cells.number("Mean of lines", "nats_by_line", 3),
        cells.PARAMETERS,
    ]
    notes.insert(0, "Gap in nats, in bits: ours minus the printed number, read as nats or as bits per character.")
    return Table(columns, rows, notes)


def unit_audit(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a model: the printed number read as bits and as nats, and ours, each beside a counted n-gram model's.

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
    rows["bits_beside"] = [_above_on_equal_folds(context, name, asked.reference) for name in names]
    note = f"Beside the n-gram: above (+) or below (−) what the {title} gets, for ours on the folds that both have."
    notes = [note, *corpora(context, names)]
    if yardstick:
        notes = [*unit_sentences(rows, yardstick, title, asked.published), *notes]
    notes += noted(context, names, rows)
    columns = [
        cells.MODEL,
        Column("Paper, as printed", _paper),
        _relative_column("Read as bits: beside the n-gram", "paper_beside"),
        cells.number("Read as nats: in bits", "paper_as_nats", 2),
        _relative_column("Read as nats: beside the n-gram", "paper_as_nats_beside"),
        cells.ours(f"Ours, bits per character ± {INTERVAL}", "bits", 3),
        _relative_column("Ours beside the n-gram", "bits_beside"),
        cells.ours(f"Ours, nats per character ± {INTERVAL}", "nats", 3),
        _FOLDS,
    ]
    return verdicts.add_claims(context, Table(columns, rows, notes), lambda row: _ABOUT, only={key})


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

    def relative(value: float) -> str:
        return _by(math.log(value / yardstick))

    others = ""
    if published:
        off = _by(math.log(low.paper / published.value))
        others = f", and {off} {fixed(published.value, 2)}, {published.what} ({published.source})"
    return [
        f"Read as bits per character, the paper's {fixed(low.paper, 2)} ({low.title}) would be {relative(low.paper)} "
        f"the {fixed(yardstick, 2)} of our {title}{others}; its highest, {fixed(high.paper, 2)} ({high.title}), "
        f"{relative(high.paper)} the n-gram.",
        f"Read as nats per character, {fixed(low.paper, 2)} would be {fixed(low.paper_as_nats, 2)} bits, "
        f"{relative(low.paper_as_nats)} the n-gram; {fixed(high.paper, 2)} would be {fixed(high.paper_as_nats, 2)} "
        f"bits, {relative(high.paper_as_nats)} it.",
        _verdict(printed, yardstick),
    ]


_READINGS = {"bits": "paper", "nats": "paper_as_nats"}


def _verdict(printed: pd.DataFrame, yardstick: float) -> str:
    ours = printed[printed.bits.notna()]
    measure = dict(ours.bits) if len(ours) else dict.fromkeys(printed.index, yardstick)
    off = {u: mean_log_ratio(dict(printed.loc[list(measure), column]), measure) for u, column in _READINGS.items()}
    near, far = sorted(off, key=lambda unit: abs(off[unit]))
    clear = abs(off[near]) * CLEAR < abs(off[far])
    whose = f"Ours ({plural(len(ours), 'model')}) are" if len(ours) else "The n-gram is"
    means = f"{whose} on average {_by(off['bits'])} the paper's numbers read as bits, {_by(off['nats'])} them read as "
    return f"{means}nats{f', so that {near} are the plausible unit' if clear else ', which leaves the unit undecided'}."


def _by(mean_log_ratio: float) -> str:
    """Write "5.9 % below": a ratio, given by its logarithm."""
    return f"{fixed(100 * abs(math.expm1(mean_log_ratio)), 1)} % {'above' if mean_log_ratio > 0 else 'below'}"


def _row(context: Context, name: str, names: Sequence[str]) -> dict[str, Any]:
    status, replaced = context.status(name), context.replaced_dataset(name)
    nats, in_bits, by_line = (measured(context, name, metric, "test") for metric in (CHARACTER, _BITS, _BY_LINE))
    # The number stands in the paper's column only where it is about the same text.
    paper = None if replaced else context.printed(name, "cross_entropy", "test")
    plain = _without_first_order_terms(context, name, names)
    differences = (context.by_fold(name, CHARACTER) - context.by_fold(plain, CHARACTER)).dropna() if plain else []
    return {
        "experiment": name,
        "title": context.title(name),
        "model": context.entry(name).model.name,
        **{key: context.setting(name, f"model.{key}") for key in ("activation", "input_term", "recurrent_term")},
        "parameters": cells.parameters(context, name),
        "paper": paper,
        "other_text": replaced is not None and context.reported(name, "cross_entropy", "test") is not None,
        **values(nats, "nats"),
        **values(in_bits, "bits"),
        "nats_by_line": by_line.mean,
        "replica_std": nats.deviation,
        "freedom": nats.df,
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
        "diverged": len(list_unstable(context, name)),
        **picked(status, "run", "wanted", "absence"),
    }


def _above_on_equal_folds(context: Context, name: str, reference: str) -> float | None:
    """By which share the bits of `name` are above those of `reference` on the folds that both have; None for itself."""
    both = pd.concat([context.by_fold(one, _BITS) for one in (name, reference)], axis=1, join="inner")
    if both.empty or name == reference:
        return None
    ours, theirs = both.mean()
    return ours / theirs - 1


def _without_first_order_terms(context: Context, name: str, names: Sequence[str]) -> str | None:
    """Return the general model without D and E that has the activation of `name`; None for itself."""
    terms = ("activation", "input_term", "recurrent_term")
    wanted = [context.setting(name, "model.activation"), False, False]
    plain = (other for other in names if [context.setting(other, f"model.{term}") for term in terms] == wanted)
    return None if (match := next(plain, None)) == name else match


def _difference(row: Row) -> str:
    text = signed(row["difference"], 4)
    return text if pd.isna(row["difference_reach"]) else f"{text} ± {fixed(row['difference_reach'], 4)}"


def _model(row: Row) -> str:
    if row["model"] != "gso":
        return _MODELS.get(row["model"], row["title"])
    terms = [letter for letter, key in (("D", "input_term"), ("E", "recurrent_term")) if row[key]]
    return f"{_MODELS['gso']}, {'with' if terms else 'without'} {' and '.join(terms or 'DE')}"


def _paper(row: Row) -> str:
    return "other text" if row["other_text"] else fixed(row["paper"], 2)


def _relative_column(title: str, key: str) -> Column:
    return Column(title, lambda row: signed(None if pd.isna(row[key]) else 100 * row[key], 1, " %"))


_FOLDS = Column("Folds", lambda row: replicas(row["n"], row["wanted"], row["run"] - row["n"]))
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
    ("long_words.share_of_words", "all", f"Words of more than {LONG} letters, of all", "share"),
    ("long_words.share_of_types", "all", f"Words of more than {LONG} letters, of the different ones", "share"),
]


_SHOWN = 6
"""Lines of ours."""
_PIECE = re.compile(r".{1,80}$|.{0,79} |.{80}", re.DOTALL)
"""A line is broken after the last space within 80 characters, or there if there is none."""


def predictions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Figure 2: a true line, and under each character the one that was most probable there; the paper's, then ours.

    Option `printed`: the paper's pairs {line, prediction}. Of ours stand those of the paper's lines first, then one of
    each fold in turn.
    """
    (name,) = context.cited_by(table_id)
    lines = []
    for fold in context.by_fold(name, CHARACTER).index:
        ranks = {True: 0, False: 0}
        for sample in context.samples(name, fold):
            shown = sample["line"].startswith(SHOWN_LINES)
            lines.append((not shown, ranks[shown], fold, sample))
            ranks[shown] += 1
    ours = sorted(lines, key=lambda entry: entry[:3])[:_SHOWN]
    pairs = [("paper", pair) for pair in options["printed"]]
    pairs += [(f"ours, fold {fold}", sample) for *_, fold, sample in ours]
    rows = [row for whose, pair in pairs for row in _rows(whose, pair["line"], pair["prediction"])]
    notes = ["Right: of the characters after the first of a line, the share that was held most probable."]
    notes += [] if ours else [f"Ours: {context.status(name).absence}."]
    notes += [*corpora(context, [name]), *words.reductions(context, [name])]
    columns = [
        Column("Whose", lambda row: row["whose"] if row["begins"] else "", words=True),
        Column("Right", lambda row: f"{fixed(100 * row['right'], 0)} %" if row["begins"] else ""),
        text("Line", "kind"),
        Column("Characters", lambda row: row["text"], words=True, code=True),
    ]
    return Table(columns, pd.DataFrame(rows, columns=["whose", "right", "kind", "text", "begins"]), notes)


def facts(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a fact of the corpus: the paper's number, ours, and the difference where the paper's is exact."""
    (name,) = context.cited_by(table_id)
    stated = () if context.replaced_dataset(name) else context.entry(name).reported
    reported = {(entry.metric, entry.split): (entry.value, entry.note or "") for entry in stated}
    rows = []
    for metric, split, title, kind in _FACTS:
        ours, (paper, says) = mean(context.values(name, metric, split)), reported.get((metric, split), (None, ""))
        difference = None if says or None in (ours, paper) else ours - paper
        absence = context.status(name).absence_of(ours)
        rows.append((metric, split, title, kind, paper, says, ours, difference, absence))
    columns = [
        text("Fact", "title"),
        Column("Paper", lambda row: f"{row['paper_says']} {_amount(row['paper'], row['kind'])}".strip()),
        Column("Ours", lambda row: row["absence"] if pd.isna(row["ours"]) else _amount(row["ours"], row["kind"])),
        Column("Ours − paper", lambda row: _amount(row["difference"], "count")),
    ]
    keys = ["metric", "split", "title", "kind", "paper", "paper_says", "ours", "difference", "absence"]
    return Table(columns, pd.DataFrame(rows, columns=keys), corpora(context, [name]))


def _rows(whose: str, line: str, prediction: str) -> Iterator[dict[str, Any]]:
    """Two rows for every piece of the line: what stands there, and what was predicted."""
    right = sum(a == b for a, b in zip(line[1:], prediction[1:], strict=True)) / (len(line) - 1)
    for piece in _PIECE.finditer(line):
        row = {"whose": whose, "right": right}
        yield row | {"kind": "true", "text": piece[0], "begins": piece.start() == 0}
        yield row | {"kind": "predicted", "text": prediction[slice(*piece.span())], "begins": False}


def _amount(value: float | None, kind: str) -> str:
    if pd.isna(value):
        return NONE
    return f"{significant(100 * value)} %" if kind == "share" else integer(value)
