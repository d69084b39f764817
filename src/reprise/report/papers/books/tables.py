"""Make the tables of document 002, part 2: losses at the tables' steps, measures of texts, and the texts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from reprise.data.text.books import NEIGHBOURS
from reprise.evaluation import text_measures
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, collect_mean_values, make_count_column, make_text_column
from reprise.report.parts import verdicts, wording
from reprise.report.parts.context import Context
from reprise.report.parts.names import quote_prompt
from reprise.report.parts.rounding import (
    DASH,
    find_lower_bound,
    format_count,
    format_fixed,
    format_integer,
    format_significant,
)
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.uncertainty import INTERVAL, MeanEstimate, estimate_computed_mean, write_interval_notes

ORIGINAL_CURVES = "uva_text_loss_curves.csv"
_PROMPTS = {"book": "in excerpts of the file", "sample": "after a random character"}
_PROMPTS |= {name: f"after {quote_prompt(name)}" for name in ("hamlet", "history", "hansel", "operator", "bird")}
EXPECTATIONS = [
    ("hansel", "expected_log_probability", f"P of “etel” after {quote_prompt('hansel')}"),
    ("hansel", "expected_rank", "rank of “e” there"),
    ("operator", "blank_probability", "P of a blank after “… a vector space.”"),
    ("operator-blank", "capital_probability", "P of a capital after that blank"),
    ("temperature-1", "next_character_entropy", "entropy of the next character, nats, temperature 1"),
    ("temperature-0.8", "next_character_entropy", "the same at temperature 0.8"),
]
EXPECTATIONS += [
    (split, "words_in_licence", f"words of the licence {where}" if split in ("book", "sample") else where)
    for split, where in _PROMPTS.items()
]
EXPECTATIONS += [(split, "words_in_book", f"words of the book {where}") for split, where in _PROMPTS.items()]
"""Split, metric and name of each quantity measured after the prompts."""

_MAX_SDS = 2  # of the original's neighbouring batches
_LOGGED_TEXTS = "books_logged_texts.csv"
_QUOTED_STEPS = (250, 750)
"""Steps whose texts the document quotes, beside those of its tables."""
_FULL_STOPS = "stops_before_capitals"
_TEXT_NAMES = {"sample": "sampled", "argmax": "argmax", "book": "the book itself", "book-short": "the book itself"}
_MEASURES = {
    "words_in_book": "Words of the book",
    "distinct_1": "Distinct 1",
    "distinct_2": "Distinct 2",
    "distinct_3": "Distinct 3",
    "distinct_4": "Distinct 4",
    "spaces": "Spaces",
    _FULL_STOPS: "Full stops",
}


def get_original_losses(context: Context, name: str) -> pd.Series | None:
    """Return the original's losses by step; None if this tier trains on another text or none exists."""
    rows = _select_book(context, ORIGINAL_CURVES, name)
    return None if rows.empty else rows.set_index("step").train_loss_nats


def _select_book(context: Context, file: str, name: str) -> pd.DataFrame:
    """Return the original's rows of a book; none if this tier trains on another text."""
    rows = context.read_reference(file)
    return rows[(rows.book == name.partition("@")[0]) & (context.find_replaced_dataset(name) is None)]


def list_table_steps(context: Context, name: str) -> list[int]:
    """List the steps of the document's tables that this tier trains, without step 0."""
    interval, steps = (context.get_setting(name, f"training.{option}") for option in ("table_every", "steps"))
    return list(range(interval, steps, interval))


def select_near(losses: Any, step: int) -> Any:
    """Select the losses at most NEIGHBOURS steps from `step`, of one run or of a column per replica."""
    return losses.loc[step - NEIGHBOURS : step + NEIGHBOURS]


def loss_at_steps(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per book and step: the original's mean loss, ours, and whether both are within two SDs.

    These SDs are of the original's single batches, since it was run once; ± of ours is its interval.
    """
    names = context.list_cited_experiments(table_id)
    rows = pd.DataFrame([row for name in names for row in _make_loss_rows(context, name)])
    if rows.empty:
        note = ["Training ends before the first step of the document's tables."] if names else []
        return Table([_BOOK_COLUMN], rows, note)
    notes = wording.write_corpus_notes(context, names)
    notes += _write_within_note(rows)
    notes += [f"Our {note}" for note in write_interval_notes(context, names, rows)]
    columns = [
        _BOOK_COLUMN,
        make_count_column("Step", "step"),
        Column("Loss: original ± SD of its single batches", _format_original),
        cells.make_result_column(f"Loss: ours ± {INTERVAL}", "mean", 3),
        cells.make_number_column("Gap", "gap", 3),
        cells.make_number_column("Gap in SDs of the original's single batches", "gap_in_std", 1),
        Column("Within two SDs", lambda row: cells.format_yes_no(row["within"])),
        cells.REPLICAS_COLUMN,
    ]
    return verdicts.add_claims_column(
        context, Table(columns, rows, notes), lambda row: (f"cross_entropy_mark_{row['mark']} *",)
    )


def _format_original(row: Row) -> str:
    """Write the original's mean loss with the SD of its batches."""
    mean, sd = row["original_mean"], row["original_std"]
    return format_fixed(mean, 3) if pd.isna(sd) else f"{format_fixed(mean, 3)} ± {format_fixed(sd, 3)}"


def _write_within_note(rows: pd.DataFrame) -> list[str]:
    """Write how many mean losses of each book are within the bound, and where the gap is largest."""
    compared = rows[rows.within.notna()]
    if compared.empty:
        return []
    books = [
        f"{title}: {sum(is_within)} of {len(is_within)}"
        for title, is_within in compared.groupby("title", sort=False).within
    ]
    farthest = compared.loc[compared.gap_in_std.abs().astype(float).idxmax()]
    direction = "above" if farthest.gap > 0 else "below"
    return [
        f"{sum(compared.within)} of {len(compared)} mean losses are within two SDs of the original's "
        f"batches ({'; '.join(books)}). The largest gap is at step {format_integer(farthest.step)} "
        f"of {farthest.title}: ours is {format_fixed(abs(farthest.gap_in_std), 1)} SDs {direction} the original's mean."
    ]


def _make_loss_rows(context: Context, name: str) -> list[dict[str, Any]]:
    """Make a row per step of a book."""
    original = get_original_losses(context, name)
    curves = cache(lambda run: context.get_curve_points(run, "cross_entropy", "train"))
    status, rows = context.get_status(name), []
    for mark, step in enumerate(list_table_steps(context, name), 1):
        ours = estimate_computed_mean(
            context, name, lambda run, step=step: select_near(curves(run), step).mean().dropna().to_numpy()
        )
        original_mean, original_sd = (
            (None, None) if original is None else select_near(original, step).agg(["mean", "std"])
        )
        gap = ours.compute_gap(original_mean)
        row = {"experiment": name, "title": context.get_title(name), "step": step, "mark": mark}
        row |= {
            "original_mean": original_mean,
            "original_std": original_sd,
            **cells.make_mean_values(ours),
            "n": ours.n,
            "gap": gap,
        }
        row["gap_in_std"] = None if gap is None else gap / original_sd
        row["within"] = None if gap is None else abs(gap) <= _MAX_SDS * original_sd
        row["missing_reason"] = status.explain_missing_value(ours.mean)
        rows.append(row | cells.pick_attributes(status, "diverged", "planned"))
    return rows


def measures(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per book, decoder and step: measures of 100-character texts, and of the longer final ones.

    The original's are computed here from the texts of its author's log. Its share of words in the book needs the book:
    at the last step, the paper's file reports it.
    """
    rows, notes = [], []
    for name in context.list_cited_experiments(table_id):
        options_read = ("sample_length", "sample_every", "steps", "final_length")
        length, interval, steps, final_length = (
            context.get_setting(name, f"training.{option}") for option in options_read
        )
        originals = _make_original_rows(context, name, length)
        rows += originals
        quoted_steps = {step for step in _QUOTED_STEPS if step < steps and not step % interval}
        shown_steps = sorted(quoted_steps.union(list_table_steps(context, name)))
        for decoder in ("sample", "argmax"):
            rows += _make_decoder_rows(context, name, decoder, shown_steps, length)
        rows.append(_make_final_row(context, name, "book-short", None, length))
        rows += [_make_final_row(context, name, decoder, steps - 1, final_length) for decoder in ("sample", "argmax")]
        rows.append(_make_final_row(context, name, "book", None, final_length))
        notes.append(_write_count_note(context, name, originals))
    frame = pd.DataFrame(rows)
    columns = [
        _BOOK_COLUMN,
        make_text_column("Texts", "texts"),
        make_count_column("Step", "step"),
        make_count_column("Characters", "length"),
        *(
            Column(title, _format_full_stops if measure == _FULL_STOPS else _make_share_formatter(measure))
            for measure, title in _MEASURES.items()
        ),
    ]
    table = Table(
        columns,
        frame,
        [*notes, *write_interval_notes(context, context.list_cited_experiments(table_id), frame, has_shares=True)],
    )
    return verdicts.add_claims_column(
        context, table, lambda row: [f"{measure}{row['point']} {row['split']}" for measure in _MEASURES]
    )


def _write_count_note(context: Context, name: str, originals: Sequence[Mapping[str, Any]]) -> str:
    """Write how many texts a row of ours measures, and how many a row of the original if it has any."""
    count = context.get_setting(name, "training.samples")
    note = f"{context.get_title(name)}: each of our rows measures {format_count(count, 'text')} of each replica"
    if originals:
        logged_count = int(originals[0]["texts_at_step"])
        note += f"; each row of the original measures {format_count(logged_count, 'text')} of its author's log"
    return f"{note}."


def _make_decoder_rows(
    context: Context, name: str, decoder: str, steps: Iterable[int], length: int
) -> list[dict[str, Any]]:
    """Make a row per step, of the texts that a decoder wrote then."""
    curves = cache(lambda run, measure: context.get_curve_points(run, measure, decoder))
    rows = []
    for step in steps:
        estimates = {
            measure: estimate_computed_mean(context, name, partial(_get_measure_at, curves, measure, step))
            for measure in _MEASURES
        }
        row = _make_measures_row(context, name, _TEXT_NAMES[decoder], step, length, estimates)
        rows.append(row | {"split": decoder, "point": f"@{step}"})
    return rows


def _get_measure_at(curves: Callable[[str, str], pd.DataFrame], measure: str, step: int, run: str) -> Any:
    """Return a measure of every replica of a run at a step."""
    points = curves(run, measure)
    return points.loc[step].dropna().to_numpy() if step in points.index else []


def _make_original_rows(context: Context, name: str, length: int) -> list[dict[str, Any]]:
    """Make a row per step of the author's log; none if this tier trains on another text."""
    rows, logged = [], _select_book(context, _LOGGED_TEXTS, name)
    for step, texts_of_step in logged.groupby("step"):
        texts = (texts_of_step.prompt + texts_of_step.text).tolist()
        measured = {
            measure: (value, n)
            for measure, value, n in text_measures.measure_texts(texts, text_measures.BookVocabulary(""))
        }
        values = {measure: MeanEstimate(value, 1) for measure, (value, _) in measured.items()}
        share_of_words = context.get_printed(name, "words_in_book", "sample") if step == logged.step.max() else None
        values["words_in_book"] = MeanEstimate(share_of_words, 1)
        row = _make_measures_row(context, name, "original, sampled", int(step), length, values)
        rows.append(
            row
            | {"stops": measured[_FULL_STOPS][1] if _FULL_STOPS in measured else 0, "texts_at_step": len(texts_of_step)}
        )
    return rows


def _make_final_row(context: Context, name: str, split: str, step: int | None, length: int) -> dict[str, Any]:
    """Make the row of the texts written at the end, or of the book itself."""
    stops = sum(replica.sizes.get((_FULL_STOPS, split)) or 0 for replica in context.list_replicas(name, "finished"))
    row = _make_measures_row(context, name, _TEXT_NAMES[split], step, length, {}) | {
        "stops": stops or None,
        "split": split,
    }
    return row | collect_mean_values(context, name, {measure: (measure, split) for measure in _MEASURES})


def _make_measures_row(
    context: Context, name: str, texts: str, step: int | None, length: int, estimates: Mapping[str, MeanEstimate]
) -> dict[str, Any]:
    """Return the raw values of a row of measures."""
    row = {"experiment": name, "title": context.get_title(name), "texts": texts, "step": step, "length": length}
    for measure in _MEASURES:
        row |= cells.make_mean_values(estimates.get(measure, MeanEstimate(None, 0)), measure)
    return row | {"split": "", "point": ""}


def expectations(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per quantity, a column per book: probabilities, entropies and shares of words after the prompts."""
    names = context.list_cited_experiments(table_id)
    rows = []
    for split, metric, label in EXPECTATIONS:
        row: dict[str, Any] = {
            "quantity": label,
            "split": split,
            "metric": metric,
            "unit": context.get_unit(metric, split),
        }
        numbers = {e.experiment: context.get_values(e.experiment, metric, split) for e in context.experiments}
        if metric == "expected_log_probability":
            numbers, row["unit"] = {name: np.exp(values) for name, values in numbers.items()}, "share"
        for name in names:
            row |= cells.make_mean_values(estimate_computed_mean(context, name, numbers.__getitem__), name)
        rows.append(row | {"claims": _summarise_claims_of_books(context, names, f"{metric} {split}")})
    columns = [
        make_text_column("Quantity", "quantity"),
        *(Column(context.get_title(name), _make_expectation_formatter(name)) for name in names),
    ]
    frame = pd.DataFrame(rows)
    if frame.claims.any():
        columns.append(Column("Claims", lambda row: row["claims"] or DASH, is_text=True))
    return Table(columns, frame, write_interval_notes(context, names, frame, has_shares=True))


def _summarise_claims_of_books(context: Context, names: Sequence[str], pattern: str) -> str:
    """Write the claims about a metric; with the book's title if they are not about all books."""
    texts = {name: verdicts.summarise_claims(context, [name], [pattern]) for name in names}
    if len(set(texts.values())) == 1:
        return texts[names[0]]
    return "; ".join(f"{text} ({context.get_title(name)})" for name, text in texts.items() if text)


def _make_expectation_formatter(name: str) -> Any:
    """Make the function that formats the value of a book."""

    def format_cell(row: Row) -> str:
        if pd.notna(row[name]) and 0 < row[name] < 0.0005:
            return "< 0.001"
        return cells.format_row_interval(row, name, 3, row["unit"] == "share", find_lower_bound(row["metric"]))

    return format_cell


def _make_share_formatter(measure: str) -> Any:
    """Make the function that formats a measure that is a share."""
    return lambda row: cells.format_row_interval(row, measure, 3, is_share=True)


def _format_full_stops(row: Row) -> str:
    """Write the share, and of how many full stops it is if that is known."""
    share = _make_share_formatter(_FULL_STOPS)(row)
    return share if pd.isna(row["stops"]) or not row["stops"] else f"{share} of {format_integer(row['stops'])}"


_BOOK_COLUMN = make_text_column("Book", "title")


ORIGINAL_SAMPLES = "books_samples.csv"
BAR = "|"
_MISREAD_BARS = ("", "l", "I", "/", " l ", " l")
"""What our copy of the document has where it sets a bar."""
_OPERATOR_NOTE = (
    "The prompt on T stands twice, with and without a blank at its end. The author's code ends it with the full stop; "
    "the document's print leaves open whether a blank follows."
)


def samples(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per step: what the original wrote after a random character, and what ours wrote with both decoders."""
    (name,) = context.list_cited_experiments(table_id)
    original = _select_book(context, ORIGINAL_SAMPLES, name).query("kind == 'start'").set_index("step", drop=False)
    our_samples = {
        (sample["step"], sample["decoder"]): sample
        for sample in context.list_samples(name)
        if sample["kind"] == "start"
    }
    rows = []
    for step in sorted({0, *list_table_steps(context, name), *original.index}):
        row: dict[str, Any] = {"experiment": name, "step": step, "original": "", "printed": ""}
        if step in original.index:
            original_text = original.loc[step]
            row |= {"original": f"{original_text.prompt}{BAR}{original_text.logged}", "printed": original_text.printed}
        for decoder in ("sample", "argmax"):
            sample = our_samples.get((step, decoder))
            row[decoder] = f"{sample['prompt']}{BAR}{sample['text']}" if sample else ""
        rows.append(row)
    columns = [
        make_count_column("Step", "step"),
        *([make_text_column("Original (its author's log)", "original")] if len(original) else []),
        make_text_column("Ours, sampled", "sample"),
        make_text_column("Ours, argmax", "argmax"),
    ]
    return Table(
        columns,
        pd.DataFrame(rows),
        [_write_sampling_note(context, name), *_write_original_notes(context, name, original)],
    )


def completions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make rows per prompt: the original's completion, those that ours sampled, and ours by argmax."""
    (name,) = context.list_cited_experiments(table_id)
    original = _select_book(context, ORIGINAL_SAMPLES, name).query("kind != 'start'")
    our_samples = [sample for sample in context.list_samples(name) if sample["kind"] != "start"]
    rows = []
    for kind in dict.fromkeys([*original.kind, *(sample["kind"] for sample in our_samples)]):
        for logged in original[original.kind == kind].itertuples():
            source = f"original, sampled (log, step {format_integer(logged.logged_step)})"
            rows.append((kind, logged.prompt, source, logged.logged, logged.printed))
        for sample in (sample for sample in our_samples if sample["kind"] == kind):
            rows.append((kind, sample["prompt"], f"ours, {_TEXT_NAMES[sample['decoder']]}", sample["text"], ""))
    columns = [
        Column("Prompt", lambda row: f"{row['prompt']}{BAR}" if row["is_first_row"] else "", is_text=True),
        make_text_column("Origin", "origin"),
        make_text_column("Completion", "text"),
    ]
    frame = pd.DataFrame(rows, columns=["kind", "prompt", "origin", "text", "printed"])
    frame["is_first_row"] = ~frame.kind.duplicated()
    notes = [_write_sampling_note(context, name), *_write_original_notes(context, name, original)]
    if (frame.kind == "operator-blank").any():
        notes.insert(1, _OPERATOR_NOTE)
    return Table(columns, frame, notes)


def _write_sampling_note(context: Context, name: str) -> str:
    """Write how texts are sampled."""
    temperature = format_significant(context.get_setting(name, "training.temperature"))
    return f"Sampled: drawn at temperature {temperature}. Argmax: the most probable character at each place."


def _write_original_notes(context: Context, name: str, original: pd.DataFrame) -> list[str]:
    """Write where the print differs from the log by more than the bar, and which of ours is missing."""
    notes = []
    for row in original.itertuples():
        place = f"Step {format_integer(row.step)}" if row.kind == "start" else f"“{row.prompt}”"
        if row.step != row.logged_step:
            notes.append(f"{place}: the log has this text at step {format_integer(row.logged_step)}.")
        if not is_printed_as_logged(row.kind, row.prompt, row.printed, row.logged):
            notes.append(f"{place}: our copy of the document has “{row.printed}”.")
    notes += wording.write_corpus_notes(context, [name])
    if not context.list_samples(name):
        notes.append(f"Ours: {context.get_status(name).missing_reason}.")
    return notes


def is_printed_as_logged(kind: str, prompt: str, printed: str, logged: str) -> bool:
    """Return whether a printed text begins the logged one, apart from a misread bar after the prompt."""
    body = printed.removeprefix(prompt) if kind == "start" else printed
    return any(body.startswith(bar) and logged.startswith(body[len(bar) :]) for bar in _MISREAD_BARS)
