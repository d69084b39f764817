"""Document 000 on its text: Figure 2, which is text, and what the paper says of its lines and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reprise.data.text.character_lines import LONG
from reprise.errors import UserError
from reprise.evaluation.line_losses import SHOWN_LINES
from reprise.report import reductions
from reprise.report.context import Context
from reprise.report.gso import CHARACTER, by_fold, corpora
from reprise.report.rounding import NONE, fixed, integer, mean, significant
from reprise.report.tables import Column, Table

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


def predictions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Figure 2: a true line, and under each character the one that was most probable there; the paper's, then ours.

    Options: `printed`, the paper's pairs {line, prediction}; `lines`, how many of ours at most, those of the paper
    first, then one of each fold in turn; `width`, after how many characters a line is broken, at a space.
    """
    (name,) = context.cited_by(table_id)
    for key, value, least in (("lines", options["lines"], 0), ("width", options["width"], 1)):
        if value < least:
            raise UserError(f"{context.option_key(table_id, key)}: {value} is too little; write {least} or more")
    for pair in options["printed"]:
        _check_pair(pair, context.option_key(table_id, "printed"))
    pairs = [("paper", pair) for pair in options["printed"]]
    found = []
    for fold in by_fold(context, name, CHARACTER).index:
        samples = context.samples(name, fold)
        for other in (False, True):
            some = [sample for sample in samples if sample["line"].startswith(SHOWN_LINES) != other]
            found += [(other, rank, fold, sample) for rank, sample in enumerate(some)]
    ours = sorted(found, key=lambda entry: entry[:3])[: options["lines"]]
    pairs += [(f"ours, fold {fold}", sample) for *_, fold, sample in ours]
    rows = [row for whose, pair in pairs for row in _rows(whose, pair["line"], pair["prediction"], options["width"])]
    notes = ["Right: of the characters after the first of a line, the share that was held most probable."]
    notes += [] if ours else [f"Ours: {context.status(name).absence}."]
    notes += [corpora(context, [name]), *reductions.sentences(context, [name])]
    return Table(_PREDICTIONS, pd.DataFrame(rows, columns=["whose", "right", "kind", "text", "begins"]), notes)


def facts(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a fact of the corpus: the paper's number, ours, and the difference where the paper's is exact."""
    (name,) = context.cited_by(table_id)
    stated = () if context.replaced_dataset(name) else context.entry(name).reported
    reported = {(entry.metric, entry.split): entry for entry in stated}
    rows = []
    for metric, split, title, kind in _FACTS:
        ours, paper = mean(context.values(name, metric, split)), reported.get((metric, split))
        exact = paper is not None and not paper.note and ours is not None
        rows.append(
            {
                "metric": metric,
                "split": split,
                "title": title,
                "kind": kind,
                "paper": paper.value if paper else None,
                "paper_says": (paper.note or "") if paper else "",
                "ours": ours,
                "difference": ours - paper.value if exact else None,
                "absence": context.status(name).absence_of(ours),
            }
        )
    return Table(_FACTS_SHOWN, pd.DataFrame(rows), [corpora(context, [name])])


def _check_pair(pair: Any, where: str) -> None:
    keys = ("line", "prediction")
    if not isinstance(pair, Mapping) or set(pair) != set(keys) or not all(isinstance(pair[k], str) for k in keys):
        raise UserError(f"{where}: {pair!r} is no line with its prediction; write {{line: …, prediction: …}}")
    if len(pair["line"]) != len(pair["prediction"]):
        raise UserError(f"{where}: a line and its prediction differ in length; write a character under each")
    if len(pair["line"]) < 2:
        raise UserError(f"{where}: '{pair['line']}' has no character after the first; write a longer line")


def _rows(whose: str, line: str, prediction: str, width: int) -> Iterator[dict[str, Any]]:
    """Two rows for every piece of the line: what stands there, and what was predicted."""
    right = sum(a == b for a, b in zip(line[1:], prediction[1:], strict=True)) / (len(line) - 1)
    for start, stop in _pieces(line, width):
        for kind, text in (("true", line), ("predicted", prediction)):
            piece = text[start:stop]
            begins = start == 0 and kind == "true"
            yield {"whose": whose, "right": right, "kind": kind, "text": piece, "begins": begins}


def _pieces(line: str, width: int) -> Iterator[tuple[int, int]]:
    """Where to break the line: after the last space within `width` characters, or there if there is none."""
    start = 0
    while len(line) - start > width:
        stop = line.rfind(" ", start, start + width) + 1 or start + width
        yield start, stop
        start = stop
    yield start, len(line)


def _amount(value: float | None, kind: str) -> str:
    if pd.isna(value):
        return NONE
    return f"{significant(100 * value)} %" if kind == "share" else integer(value)


def _paper(row: Mapping[str, Any]) -> str:
    return f"{row['paper_says']} {_amount(row['paper'], row['kind'])}".strip()


def _ours(row: Mapping[str, Any]) -> str:
    return row["absence"] if pd.isna(row["ours"]) else _amount(row["ours"], row["kind"])


_PREDICTIONS = [
    Column("Whose", lambda row: row["whose"] if row["begins"] else "", words=True),
    Column("Right", lambda row: f"{fixed(100 * row['right'], 0)} %" if row["begins"] else ""),
    Column("Line", lambda row: row["kind"], words=True),
    Column("Characters", lambda row: row["text"], words=True, code=True),
]
_FACTS_SHOWN = [
    Column("Fact", lambda row: row["title"], words=True),
    Column("Paper", _paper),
    Column("Ours", _ours),
    Column("Ours − paper", lambda row: _amount(row["difference"], "count")),
]
