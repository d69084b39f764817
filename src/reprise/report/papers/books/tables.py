"""Document 002, part 2: the loss at the tables' steps, and what was measured in the texts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from reprise.data.text.books import NEIGHBOURS
from reprise.evaluation import text_measures
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, all_values, count, text
from reprise.report.parts import verdicts, words
from reprise.report.parts.context import Context
from reprise.report.parts.names import quote_prompt
from reprise.report.parts.rounding import fixed, integer, least_of, significant
from reprise.report.parts.spreads import INTERVAL, Measured, measured_by, noted
from reprise.report.parts.tables import Column, Table

ORIGINAL_CURVES = "uva_text_loss_curves.csv"
_PROMPTS = {"book": "in excerpts of the file", "sample": "after a random character"}
_PROMPTS |= {name: f"after {quote_prompt(name)}" for name in ("hamlet", "history", "hansel", "operator", "bird")}
EXPECTED = [
    ("hansel", "expected_log_probability", f"P of “etel” after {quote_prompt('hansel')}"),
    ("hansel", "expected_rank", "rank of “e” there"),
    ("operator", "blank_probability", "P of a blank after “… a vector space.”"),
    ("operator-blank", "capital_probability", "P of a capital after that blank"),
    ("temperature-1", "next_character_entropy", "entropy of the next character, nats, temperature 1"),
    ("temperature-0.8", "next_character_entropy", "the same at temperature 0.8"),
]
EXPECTED += [
    (split, "words_in_licence", f"words of the licence {where}" if split in ("book", "sample") else where)
    for split, where in _PROMPTS.items()
]
EXPECTED += [(split, "words_in_book", f"words of the book {where}") for split, where in _PROMPTS.items()]
"""Split, metric and name of what is measured after the prompts."""

_BOUND = 2  # standard deviations of the original's neighbouring batches
_LOGGED = "books_logged_texts.csv"
_QUOTED = (250, 750)
"""Steps of which the document quotes texts, beside those of its tables."""
_STOPS = "stops_before_capitals"
_TEXTS = {"sample": "sampled", "argmax": "argmax", "book": "the book itself", "book-short": "the book itself"}
_MEASURES = {
    "words_in_book": "Words of the book",
    "distinct_1": "Distinct 1",
    "distinct_2": "Distinct 2",
    "distinct_3": "Distinct 3",
    "distinct_4": "Distinct 4",
    "spaces": "Spaces",
    _STOPS: "Full stops",
}


def original_of(context: Context, name: str) -> pd.Series | None:
    """Return the original's losses by step; None where this tier trains on another text, or there is no original."""
    rows = _of_book(context, ORIGINAL_CURVES, name)
    return None if rows.empty else rows.set_index("step").train_loss_nats


def _of_book(context: Context, file: str, name: str) -> pd.DataFrame:
    """Return the original's rows of a book; none where this tier trains on another text."""
    rows = context.original(file)
    return rows[(rows.book == name.partition("@")[0]) & (context.replaced_dataset(name) is None)]


def table_steps(context: Context, name: str) -> list[int]:
    """Return the steps of the document's tables that this tier has, up to the last one that is trained; not step 0."""
    every, steps = (context.setting(name, f"training.{option}") for option in ("table_every", "steps"))
    return list(range(every, steps, every))


def near(losses: Any, step: int) -> Any:
    """Return the losses, of one run or a column a replica, at most NEIGHBOURS steps from `step`."""
    return losses.loc[step - NEIGHBOURS : step + NEIGHBOURS]


def loss_at_steps(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a book and step: the original's mean loss and ours, and whether ours is within two deviations of it.

    These deviations are of the original's single batches, since there is one run of it; ± of ours is its interval.
    """
    names = context.cited_by(table_id)
    rows = pd.DataFrame([row for name in names for row in _losses(context, name)])
    notes = words.corpora(context, names)
    notes += _within(rows)
    notes += [f"Ours {note}" for note in noted(context, names, rows)]
    columns = [
        _BOOK,
        count("Step", "step"),
        Column("Loss: original ± SD of its single batches", _original),
        cells.ours(f"Loss: ours ± {INTERVAL}", "mean", 3),
        cells.number("Gap", "gap", 3),
        cells.number("Gap in SDs of the original's single batches", "gap_in_std", 1),
        Column("Within two SDs", lambda row: cells.yes_or_no(row["within"])),
        cells.REPLICAS,
    ]
    return verdicts.add_claims(
        context, Table(columns, rows, notes), lambda row: (f"cross_entropy_mark_{row['mark']} *",)
    )


def _original(row: Row) -> str:
    mean, std = row["original_mean"], row["original_std"]
    return fixed(mean, 3) if pd.isna(std) else f"{fixed(mean, 3)} ± {fixed(std, 3)}"


def _within(rows: pd.DataFrame) -> list[str]:
    """Return the sentence on how many steps of each book are within the bound, and where ours is farthest off."""
    judged = rows[rows.within.notna()]
    if judged.empty:
        return []
    books = [
        f"{sum(within)} of {len(within)} of {title}" for title, within in judged.groupby("title", sort=False).within
    ]
    far = judged.loc[judged.gap_in_std.abs().astype(float).idxmax()]
    return [
        f"{sum(judged.within)} of {len(judged)} mean losses are within two SDs of the original's "
        f"batches ({'; '.join(books)}); the largest gap is at step {integer(far.step)} of {far.title}, "
        f"{fixed(abs(far.gap_in_std), 1)} SDs {'above' if far.gap > 0 else 'below'} its mean."
    ]


def _losses(context: Context, name: str) -> list[dict[str, Any]]:
    original, curves = original_of(context, name), cache(lambda run: context.points(run, "cross_entropy", "train"))
    status, rows = context.status(name), []
    for mark, step in enumerate(table_steps(context, name), 1):
        ours = measured_by(context, name, lambda run, step=step: near(curves(run), step).mean().dropna().to_numpy())
        centre, std = (None, None) if original is None else near(original, step).agg(["mean", "std"])
        gap = ours.gap(centre)
        row = {"experiment": name, "title": context.title(name), "step": step, "mark": mark}
        row |= {"original_mean": centre, "original_std": std, **cells.values(ours), "n": ours.n, "gap": gap}
        row["gap_in_std"] = None if gap is None else gap / std
        row["within"] = None if gap is None else abs(gap) <= _BOUND * std
        row["absence"] = "diverged" if status.run else status.absence
        rows.append(row | cells.picked(status, "diverged", "wanted"))
    return rows


def measures(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a book, way of drawing and step: measures of 100-character texts, and of the longer ones at the end.

    The original's are measured here, in the texts of its author's log. That its words are in the book takes the book:
    their share at the last of these steps is the one that the paper's file reports.
    """
    rows, notes = [], []
    for name in context.cited_by(table_id):
        asked = ("sample_length", "sample_every", "steps", "final_length")
        length, every, steps, final = (context.setting(name, f"training.{option}") for option in asked)
        originals = _originals(context, name, length)
        rows += originals
        quoted = {step for step in _QUOTED if step < steps and not step % every}
        for decoder in ("sample", "argmax"):
            curves = cache(lambda run, m, decoder=decoder: context.points(run, m, decoder))
            for step in sorted(quoted.union(table_steps(context, name))):
                at = {m: measured_by(context, name, partial(_at, curves, m, step)) for m in _MEASURES}
                point = {"split": decoder, "point": f"@{step}"}
                rows.append(_measured(context, name, _TEXTS[decoder], step, length, at) | point)
        rows.append(_at_the_end(context, name, "book-short", None, length))
        rows += [_at_the_end(context, name, decoder, steps - 1, final) for decoder in ("sample", "argmax")]
        rows.append(_at_the_end(context, name, "book", None, final))
        texts = f"{context.setting(name, 'training.samples')} texts of each replica"
        source = f", the original of {integer(originals[0]['of'])} of its author's log" if originals else ""
        notes.append(f"{context.title(name)}: a row of ours is of {texts}{source}.")
    frame = pd.DataFrame(rows)
    columns = [
        _BOOK,
        text("Texts", "texts"),
        count("Step", "step"),
        count("Characters", "length"),
        *(Column(title, _stops if measure == _STOPS else _share(measure)) for measure, title in _MEASURES.items()),
    ]
    table = Table(columns, frame, [*notes, *noted(context, context.cited_by(table_id), frame, shares=True)])
    return verdicts.add_claims(context, table, lambda row: [f"{m}{row['point']} {row['split']}" for m in _MEASURES])


def _at(curves: Callable[[str, str], pd.DataFrame], measure: str, step: int, run: str) -> Any:
    """Return a measure of every replica of a run at a step."""
    points = curves(run, measure)
    return points.loc[step].dropna().to_numpy() if step in points.index else []


def _originals(context: Context, name: str, length: int) -> list[dict[str, Any]]:
    """Make a row a step of the author's log; none where this tier trains on another text."""
    rows, logged = [], _of_book(context, _LOGGED, name)
    for step, written in logged.groupby("step"):
        texts = (written.prompt + written.text).tolist()
        counted = {m: (value, n) for m, value, n in text_measures.measure(texts, text_measures.Words(""))}
        values = {m: Measured(value, 1) for m, (value, _) in counted.items()}
        share = context.printed(name, "words_in_book", "sample") if step == logged.step.max() else None
        values["words_in_book"] = Measured(share, 1)
        row = _measured(context, name, "original, sampled", int(step), length, values)
        rows.append(row | {"stops": counted[_STOPS][1] if _STOPS in counted else 0, "of": len(written)})
    return rows


def _at_the_end(context: Context, name: str, split: str, step: int | None, length: int) -> dict[str, Any]:
    stops = sum(replica.sizes.get((_STOPS, split)) or 0 for replica in context.replicas(name, "finished"))
    row = _measured(context, name, _TEXTS[split], step, length, {}) | {"stops": stops or None, "split": split}
    return row | all_values(context, name, {measure: (measure, split) for measure in _MEASURES})


def _measured(
    context: Context, name: str, texts: str, step: int | None, length: int, means: Mapping[str, Measured]
) -> dict[str, Any]:
    row = {"experiment": name, "title": context.title(name), "texts": texts, "step": step, "length": length}
    for measure in _MEASURES:
        row |= cells.values(means.get(measure, Measured(None, 0)), measure)
    return row | {"split": "", "point": ""}


def expectations(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a quantity, a column a book: probabilities, entropies and shares of words after the prompts."""
    names = context.cited_by(table_id)
    rows = []
    for split, metric, label in EXPECTED:
        row: dict[str, Any] = {"quantity": label, "split": split, "metric": metric, "unit": context.unit(metric, split)}
        numbers = {e.experiment: context.values(e.experiment, metric, split) for e in context.experiments}
        if metric == "expected_log_probability":
            numbers, row["unit"] = {name: np.exp(values) for name, values in numbers.items()}, "share"
        for name in names:
            row |= cells.values(measured_by(context, name, numbers.__getitem__), name)
        rows.append(row | {"experiment": tuple(names)})
    columns = [text("Quantity", "quantity"), *(Column(context.title(name), _show(name)) for name in names)]
    frame = pd.DataFrame(rows)
    table = Table(columns, frame, noted(context, names, frame, shares=True))
    with_claims = verdicts.add_claims(context, table, lambda row: (f"{row['metric']} {row['split']}",))
    return replace(with_claims, rows=with_claims.rows.drop(columns="experiment"))


def _show(name: str) -> Any:
    def show(row: Row) -> str:
        if pd.notna(row[name]) and 0 < row[name] < 0.0005:
            return "< 0.001"
        return cells.with_interval(row, name, 3, row["unit"] == "share", least_of(row["metric"]))

    return show


def _share(measure: str) -> Any:
    return lambda row: cells.with_interval(row, measure, 3, share=True)


def _stops(row: Row) -> str:
    """Return the share, and of how many full stops it is where that is known."""
    share = _share(_STOPS)(row)
    return share if pd.isna(row["stops"]) or not row["stops"] else f"{share} of {integer(row['stops'])}"


_BOOK = text("Book", "title")


ORIGINAL = "books_samples.csv"
BAR = "|"
_MISREAD = ("", "l", "I", "/", " l ", " l")
"""What our copy of the document has where it sets a bar."""
_ON_T = (
    "The prompt on T stands twice: the author's code ends it with the full stop, and the document's print leaves open "
    "whether a blank follows; ours completes both."
)


def samples(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a step: what the original wrote after a random character, and what ours wrote, drawn in both ways."""
    (name,) = context.cited_by(table_id)
    original = _of_book(context, ORIGINAL, name).query("kind == 'start'").set_index("step", drop=False)
    ours = {(s["step"], s["decoder"]): s for s in context.samples(name) if s["kind"] == "start"}
    rows = []
    for step in sorted({0, *table_steps(context, name), *original.index}):
        row: dict[str, Any] = {"experiment": name, "step": step, "original": "", "printed": ""}
        if step in original.index:
            logged = original.loc[step]
            row |= {"original": f"{logged.prompt}{BAR}{logged.logged}", "printed": logged.printed}
        for decoder in ("sample", "argmax"):
            sample = ours.get((step, decoder))
            row[decoder] = f"{sample['prompt']}{BAR}{sample['text']}" if sample else ""
        rows.append(row)
    columns = [
        count("Step", "step"),
        *([text("Original (its author's log)", "original")] if len(original) else []),
        text("Ours, sampled", "sample"),
        text("Ours, argmax", "argmax"),
    ]
    return Table(columns, pd.DataFrame(rows), [_drawing(context, name), *_notes(context, name, original)])


def completions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Rows of each prompt: the original's completion, those that ours sampled, and its likeliest."""
    (name,) = context.cited_by(table_id)
    original = _of_book(context, ORIGINAL, name).query("kind != 'start'")
    ours = [s for s in context.samples(name) if s["kind"] != "start"]
    rows = []
    for kind in dict.fromkeys([*original.kind, *(s["kind"] for s in ours)]):
        for logged in original[original.kind == kind].itertuples():
            whose = f"original, sampled (log, step {integer(logged.logged_step)})"
            rows.append((kind, logged.prompt, whose, logged.logged, logged.printed))
        for sample in (s for s in ours if s["kind"] == kind):
            rows.append((kind, sample["prompt"], f"ours, {_TEXTS[sample['decoder']]}", sample["text"], ""))
    columns = [
        Column("Prompt", lambda row: f"{row['prompt']}{BAR}" if row["first"] else "", words=True),
        text("Whose", "whose"),
        text("Completion", "text"),
    ]
    frame = pd.DataFrame(rows, columns=["kind", "prompt", "whose", "text", "printed"])
    frame["first"] = ~frame.kind.duplicated()
    notes = [_drawing(context, name), *_notes(context, name, original)]
    if (frame.kind == "operator-blank").any():
        notes.insert(1, _ON_T)
    return Table(columns, frame, notes)


def _drawing(context: Context, name: str) -> str:
    temperature = context.setting(name, "training.temperature")
    return f"Sampled: drawn at temperature {significant(temperature)}; argmax: the likeliest character at each place."


def _notes(context: Context, name: str, original: pd.DataFrame) -> list[str]:
    """Where the print differs from the log in more than the bar, and what is missing of ours."""
    notes = []
    for row in original.itertuples():
        where = integer(row.step) if row.kind == "start" else f"“{row.prompt}”"
        if row.step != row.logged_step:
            notes.append(f"{where}: the log has this text at step {integer(row.logged_step)}.")
        if not printed_as_logged(row.kind, row.prompt, row.printed, row.logged):
            notes.append(f"{where}: in our copy of the document “{row.printed}”.")
    notes += words.corpora(context, [name])
    if not context.samples(name):
        notes.append(f"Ours: {context.status(name).absence}.")
    return notes


def printed_as_logged(kind: str, prompt: str, printed: str, logged: str) -> bool:
    """Whether a printed text is the beginning of the logged one, a misread bar between prompt and text aside."""
    body = printed.removeprefix(prompt) if kind == "start" else printed
    return any(body.startswith(bar) and logged.startswith(body[len(bar) :]) for bar in _MISREAD)
