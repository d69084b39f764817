"""Make the tables of document 003: n-gram and other language models, recall, word order, tagging and translation."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from reprise.data.synthetic.phrases import BASE_DISTANCE, CHANGES, PHRASES, SENTENCE_2_FILLER, name_metric
from reprise.errors import require_known
from reprise.evidence.bleu import TRANSLATIONS
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, collect_mean_values, iterate_with_variants, make_text_column
from reprise.report.parts import verdicts, wording
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import DASH, compute_mean, format_fixed, format_integer, format_significant
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.uncertainty import INTERVAL, estimate_mean, write_interval_notes
from reprise.report.parts.wording import count_replicas, format_replicas_or_absence
from reprise.units import convert_to_perplexity

_REPLICAS_COLUMN = Column("Replicas", format_replicas_or_absence)
_BEST_EPOCH_COLUMN = cells.make_number_column("Best epoch", "best_epoch", 1)
_QUANTITIES = {
    "cross_entropy": ("perplexity", convert_to_perplexity),
    "zero_share": ("share of words with probability 0", float),
    "undefined_share": ("share of words without a probability", float),
    "score_cross_entropy": ("as a perplexity from scores, which it is not", convert_to_perplexity),
    "score_sum": ("sum of the scores of all words", float),
}
"""By metric of the curves over n: the name of the quantity, and the conversion of its values."""
_UNPREDICTED_PATTERN = "unpredicted_share_order_* test"
_METRIC_PATTERNS = {
    # Where it is infinite a word has no probability, or 0.
    "perplexity": ("cross_entropy* test", _UNPREDICTED_PATTERN),
    "share of words with probability 0": (_UNPREDICTED_PATTERN,),
    "share of words without a probability": (_UNPREDICTED_PATTERN,),
}


def ngrams(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per model and quantity, a column per order.

    A perplexity is infinite if a word has no probability.
    """
    names = context.list_cited_experiments(table_id)
    orders = range(1, max(context.get_setting(name, "model.order") for name in names) + 1)
    rows = []
    for name, title in iterate_with_variants(context, names):
        by_metric = {metric: context.get_curve_points(name, metric, "test") for metric in _QUANTITIES}
        entropy_metric = "score_cross_entropy" if len(by_metric["score_sum"]) else "cross_entropy"
        if all(points.empty for points in by_metric.values()):
            rows.append({"experiment": name, "title": title, "quantity": context.get_status(name).missing_reason})
        for metric, (quantity, convert) in _QUANTITIES.items():
            values = {int(n): convert(compute_mean(v.dropna().to_numpy())) for n, v in by_metric[metric].iterrows()}
            if metric == entropy_metric and len(by_metric["zero_share"]):
                values = {n: values.get(n, math.inf) for n in range(1, context.get_setting(name, "model.order") + 1)}
            if values and not (metric.endswith("_share") and not any(values.values())):
                row = {"experiment": name, "title": title, "quantity": quantity}
                rows.append(row | {f"order_{n}": value for n, value in values.items()})
    columns = [
        cells.MODEL_COLUMN,
        make_text_column("Quantity", "quantity"),
        *(Column(f"n = {n}", _make_order_formatter(n)) for n in orders),
    ]
    keys = ["experiment", "title", "quantity", *(f"order_{n}" for n in orders)]
    table = Table(columns, pd.DataFrame(rows, columns=keys), wording.write_corpus_notes(context, names))
    return verdicts.add_claims_column(context, table, lambda row: _METRIC_PATTERNS.get(row["quantity"], ("*",)))


def _make_order_formatter(n: int) -> Any:
    """Make the function that formats the value of an order."""
    perplexity_names = [_QUANTITIES[metric][0] for metric in ("cross_entropy", "score_cross_entropy")]

    def format_cell(row: Row) -> str:
        value = row[f"order_{n}"]
        if math.isinf(value):
            return "∞"
        return format_fixed(value, 1 if row["quantity"] in perplexity_names else 4)

    return format_cell


def storage(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per order, a column per size of the training text: the number of different n-grams."""
    (name,) = context.list_cited_experiments(table_id)
    rows = []
    for n in range(1, context.get_setting(name, "model.order") + 1):
        points = context.get_curve_points(name, f"stored_order_{n}", "train")
        counts = {f"words_{int(words)}": float(v.iloc[0]) for words, v in points.iterrows()}
        rows.append({"experiment": name, "order": n} | counts)
    frame = pd.DataFrame(rows)
    sizes = [column for column in frame if column.startswith("words_")]
    columns = [
        cells.make_count_column("n", "order"),
        *(cells.make_count_column(f"{int(size[6:]):,} words", size) for size in sizes),
    ]
    notes = wording.write_corpus_notes(context, [name])
    notes += [] if sizes else [f"{context.get_status(name).missing_reason.capitalize()}."]
    return verdicts.add_claims_column(
        context, Table(columns, frame, notes), lambda row: (f"stored_order_{row['order']}* train",)
    )


def language_models(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per model: test perplexity of the notes' own models, then of models cited from other papers.

    Option `cited`: "<paper>/<experiment>", separated by blanks; they are shown at the same tier. Notes name the models
    that the tier reduces, since reductions differ.
    """
    own_names = context.list_cited_experiments(table_id)
    models, notes = [(context, name) for name in own_names], wording.write_corpus_notes(context, own_names)
    for entry in options["cited"].split():
        paper, _, name = entry.partition("/")
        if paper not in context.papers:
            notes.append(f"{entry}: the paper {paper} is not among the configured ones.")
            continue
        other_context = context.papers[paper]
        option_name = context.name_option(table_id, "cited")
        require_known(name, other_context.paper.experiments, option_name, f"experiment of {paper}")
        models.append((other_context, name))
        notes += wording.write_corpus_notes(other_context, [name])
    reductions = wording.group_by_reduction(models).items()
    notes += [f"Reduced run of {'; '.join(titles)}: {reduction}." for reduction, titles in reductions if reduction]
    ngram_titles = [
        context.get_title(name) for name in own_names if context.get_entry(name).training.protocol == "word-ngram"
    ]
    if ngram_titles:
        notes.append(f"Parameters of {'; '.join(ngram_titles)}: the n-grams that they store.")
    rows = [_make_model_row(owning_context, name, is_own=owning_context is context) for owning_context, name in models]
    frame = pd.DataFrame(rows).astype({"parameters": "Int64"})
    columns = [
        cells.MODEL_COLUMN,
        Column("From", lambda row: row["source"] or "here", is_text=True),
        cells.PARAMETERS_COLUMN,
        cells.make_result_column(f"Test perplexity ({INTERVAL})", "mean", 2, lower_bound=1.0),
        cells.make_interval_column(f"Validation ({INTERVAL})", "valid_mean", 2, lower_bound=1.0),
        cells.REPLICAS_COLUMN,
    ]
    table = Table(columns, frame, [*notes, *write_interval_notes(context, own_names, frame)])
    return verdicts.add_claims_column(context, table, lambda row: ("perplexity *", "cross_entropy *"))


def _make_model_row(context: Context, name: str, is_own: bool) -> dict[str, Any]:
    """Return the raw values of an experiment, of this paper or another."""
    status, estimate = context.get_status(name), estimate_mean(context, name, "perplexity", "test")
    return {
        "source": "" if is_own else f"document {context.paper.document}",
        "experiment": f"{context.paper_id}/{name}",
        "title": context.get_title(name),
        "parameters": cells.find_parameter_count(context, name),
        **collect_mean_values(context, name, {"mean": ("perplexity", "test"), "valid_mean": ("perplexity", "valid")}),
        **count_replicas(status),
        "missing_reason": status.explain_missing_value(estimate.mean),
    }


def recall(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per network: names recalled at the distances of both sentences and the longest, and Jacobian norms."""
    names = context.list_cited_experiments(table_id)
    longest = {name: BASE_DISTANCE + context.get_setting(name, "data.filler") for name in names}
    rows, patterns = [], {}
    for name in names:
        quantities = {
            "sentence_1": (f"accuracy_at_{BASE_DISTANCE}", "test"),
            "sentence_2": (f"accuracy_at_{BASE_DISTANCE + SENTENCE_2_FILLER}", "test"),
            "accuracy_longest": (f"accuracy_at_{longest[name]}", "test"),
            "log10_norm_before": (f"log10_jacobian_at_{longest[name]}", "start"),
            "log10_norm_after": (f"log10_jacobian_at_{longest[name]}", "end"),
        }
        patterns[name] = [" ".join(quantity) for quantity in quantities.values()]
        row = {"experiment": name, "title": context.get_title(name), "longest": longest[name]}
        rows.append(row | collect_mean_values(context, name, quantities) | count_replicas(context.get_status(name)))
    longest_text = " or ".join(str(distance) for distance in sorted(set(longest.values())))
    columns = [
        make_text_column("Network", "title"),
        cells.make_interval_column(
            f"Recalled ± {INTERVAL}: sentence 1, {BASE_DISTANCE} words", "sentence_1", 3, is_share=True
        ),
        cells.make_interval_column(
            f"Sentence 2, {BASE_DISTANCE + SENTENCE_2_FILLER} words", "sentence_2", 3, is_share=True
        ),
        cells.make_interval_column(f"{longest_text} words", "accuracy_longest", 3, is_share=True),
        Column(f"Norm over {longest_text} words: before training", _make_norm_formatter("log10_norm_before")),
        Column("after", _make_norm_formatter("log10_norm_after")),
        _REPLICAS_COLUMN,
    ]
    chances = {1 / context.get_setting(name, "data.names") for name in names}
    notes = [
        f"Share recalled by guessing: {', '.join(format_fixed(share, 2) for share in sorted(chances))}. "
        "Norms: geometric mean over replicas."
    ]
    frame = pd.DataFrame(rows)
    notes += [
        *wording.write_reduction_notes(context, names),
        *write_interval_notes(context, names, frame, has_shares=True),
    ]
    return verdicts.add_claims_column(context, Table(columns, frame, notes), lambda row: patterns[row["experiment"]])


def _make_norm_formatter(key: str) -> Any:
    """Make the function that formats a norm, given by its decimal logarithm."""
    return lambda row: DASH if pd.isna(row[key]) else format_significant(10.0 ** row[key], 2)


_CHANGE_NAMES = {"shuffled": "share above a random order", "swapped": "share above two neighbours exchanged"}
_WORD_GROUPS = {"": "All words", "_ambiguous": "Words with several tags", "_unseen": "Words unseen in training"}


def taggers(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per network, and one for the baseline: test accuracy of all words and of two groups."""
    names = context.list_cited_experiments(table_id)
    rows = _make_accuracy_rows(context, names, _WORD_GROUPS)
    if baseline := _get_guessing_accuracies(context, names, _WORD_GROUPS):
        row = {"experiment": "guessing", "title": "The word's most frequent tag", "n": 0, "planned": 0, "diverged": 0}
        row |= {f"accuracy{group}": share for group, share in zip(_WORD_GROUPS, baseline, strict=True)}
        rows.append(row | {"missing_reason": DASH})
    columns = [
        make_text_column("Network", "title"),
        cells.PARAMETERS_COLUMN,
        *_make_accuracy_columns(_WORD_GROUPS, "Nats a tag"),
    ]
    return _make_accuracy_table(context, names, columns, rows)


def pooling(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per way to pool the states: test accuracy of the sentences' labels, by sentence length."""
    names = context.list_cited_experiments(table_id)
    groups = {"": "Accuracy", "_short": "Short sentences", "_long": "Long"}
    shares = [format_fixed(share, 4) for share in _get_guessing_accuracies(context, names, groups)]
    template = "Guessing the more frequent label has an accuracy of {}: {} on short sentences, {} on long ones."
    notes = [template.format(*shares)] if shares else []
    columns = [make_text_column("Representation", "title"), *_make_accuracy_columns(groups, "Nats a sentence")]
    return _make_accuracy_table(context, names, columns, _make_accuracy_rows(context, names, groups), notes)


def _get_guessing_accuracies(context: Context, names: list[str], groups: Iterable[str]) -> list[float | None]:
    """Return the accuracies of guessing, from the first finished network; none without one."""
    finished = [name for name in names if context.get_status(name).finished]
    return [compute_mean(context.get_values(finished[0], f"guessing{group}", "test")) for group in groups if finished]


def _make_accuracy_rows(context: Context, names: list[str], groups: Iterable[str]) -> list[dict[str, Any]]:
    """Make the rows of networks and their variants, with accuracies of these groups."""
    quantities = {metric: (metric, "test") for metric in (*(f"accuracy{group}" for group in groups), "log_loss")}
    return [
        {
            "experiment": name,
            "title": title,
            "parameters": compute_mean(context.get_values(name, "parameters_without_vectors", "train")),
            **collect_mean_values(context, name, quantities),
            "best_epoch": compute_mean(context.get_values(name, "best_epoch", "valid")),
            **count_replicas(context.get_status(name)),
        }
        for name, title in iterate_with_variants(context, names)
    ]


def _make_accuracy_columns(groups: Mapping[str, str], loss_title: str) -> list[Column]:
    """Make the columns of the accuracies of these groups, of the loss, and of the replicas."""
    return [
        *(cells.make_interval_column(title, f"accuracy{group}", 4, is_share=True) for group, title in groups.items()),
        cells.make_interval_column(loss_title, "log_loss", 3),
        _BEST_EPOCH_COLUMN,
        _REPLICAS_COLUMN,
    ]


def _make_accuracy_table(
    context: Context, names: list[str], columns: list[Column], rows: list[dict[str, Any]], notes: Iterable[str] = ()
) -> Table:
    """Make the table of networks that label words or sentences."""
    frame = pd.DataFrame(rows)
    notes = [*notes, *wording.write_corpus_notes(context, names), *wording.write_reduction_notes(context, names)]
    notes += write_interval_notes(context, names, frame, has_shares=True)
    return verdicts.add_claims_column(
        context, Table(columns, frame, notes), lambda row: ("accuracy* test", "guessing* test")
    )


def word_order(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make rows per model: the phrases' log-probabilities and shares of test sentences; a column per order."""
    names = context.list_cited_experiments(table_id)
    orders = range(1, max(context.get_setting(name, "model.order") for name in names) + 1)
    rows = []
    for name in names:
        common = {"experiment": name, "title": context.get_title(name)}
        if not context.get_status(name).finished:
            rows.append(
                {**common, "quantity": context.get_status(name).missing_reason, "kind": "", "metric_pattern": "*"}
            )
            continue
        for phrase in PHRASES:
            pattern = f"{name_metric(phrase)}_order_* phrases"
            row = {**common, "quantity": f"“{phrase}”", "kind": "phrase", "metric_pattern": pattern}
            rows.append(row | _collect_by_order(context, name, "order", name_metric(phrase), "phrases", orders))
        for change in CHANGES:
            row = {
                **common,
                "quantity": _CHANGE_NAMES[change],
                "kind": "share",
                "metric_pattern": f"above_{change}_order_* test",
            }
            row |= _collect_by_order(context, name, "order", f"above_{change}", "test", orders)
            rows.append(row | _collect_by_order(context, name, "tied", f"tied_with_{change}", "test", orders))
    columns = [
        cells.MODEL_COLUMN,
        make_text_column("Quantity", "quantity"),
        *(Column(f"n = {n}", _make_score_formatter(n)) for n in orders),
    ]
    number_keys = (f"{kind}_{n}" for kind in ("order", "tied") for n in orders)
    keys = ["experiment", "title", "quantity", "kind", "metric_pattern", *number_keys]
    notes = ["A phrase with probability 0 has no number.", *wording.write_corpus_notes(context, names)]
    table = Table(columns, pd.DataFrame(rows, columns=keys), notes)
    return verdicts.add_claims_column(context, table, lambda row: (row["metric_pattern"],))


def _collect_by_order(context: Context, name: str, key: str, metric: str, split: str, orders: range) -> dict[str, Any]:
    """Collect the means of a metric by order."""
    return {f"{key}_{n}": compute_mean(context.get_values(name, f"{metric}_order_{n}", split)) for n in orders}


def _make_score_formatter(n: int) -> Callable[[Mapping[str, Any]], str]:
    """Make the function that formats the score of an order, with ties in brackets."""

    def format_cell(row: Row) -> str:
        value, tied = row[f"order_{n}"], row[f"tied_{n}"]
        if row["kind"] != "share":
            return format_fixed(value, 2)
        return format_fixed(value, 3) + (f" ({format_fixed(tied, 3)})" if tied >= 0.0005 else "")

    return format_cell


_TRANSLATION_QUANTITIES = {
    "perplexity": ("perplexity", "test"),
    "bleu": ("bleu", "test"),
    "valid_perplexity": ("perplexity", "valid"),
    "best_epoch": ("best_epoch", "valid"),
}


def list_translations(context: Context, name: str) -> list[dict[str, Any]]:
    """List the samples with all test translations of an experiment, one per finished replica."""
    return [sample for sample in context.list_samples(name, None) if sample["kind"] == TRANSLATIONS]


def translation_ladder(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per model: test perplexity and BLEU, validation perplexity and its epoch."""
    names = context.list_cited_experiments(table_id)
    rows = pd.DataFrame([_make_translation_row(context, name) for name in names]).astype({"parameters": "Int64"})
    units = (replica.units.items() for name in names for replica in context.list_replicas(name, "finished"))
    signatures = dict.fromkeys(
        unit for replica_units in units for (metric, _), unit in replica_units if metric == "bleu"
    )
    notes = [f"BLEU is sacrebleu's, with {signature.removeprefix('BLEU|')}." for signature in signatures]
    statement = "The same translation for every sentence, whatever its source"
    notes += wording.write_model_note(
        statement, context, dict(zip(names, rows.replicas_with_one_translation, strict=True))
    )
    notes += wording.write_model_note(
        wording.BEST_AT_LAST_EPOCH, context, wording.count_best_at_last_epoch(context, names)
    )
    notes += wording.write_corpus_notes(context, names) + wording.write_reduction_notes(context, names)
    notes += write_interval_notes(context, names, rows)
    columns = [
        cells.MODEL_COLUMN,
        cells.PARAMETERS_COLUMN,
        cells.make_interval_column(f"Test perplexity ({INTERVAL})", "perplexity", 2, lower_bound=1.0),
        cells.make_interval_column(f"BLEU ± {INTERVAL}", "bleu", 2),
        Column("Different translations", lambda row: _format_part(row["distinct_translations"], row["translated"])),
        cells.make_interval_column(f"Validation perplexity ({INTERVAL})", "valid_perplexity", 2, lower_bound=1.0),
        Column("Epoch", lambda row: format_fixed(row["best_epoch"], 0 if row["n"] == 1 else 1)),
        _REPLICAS_COLUMN,
    ]
    return verdicts.add_claims_column(context, Table(columns, rows, notes), lambda row: ("perplexity *", "bleu *"))


def _make_translation_row(context: Context, name: str) -> dict[str, Any]:
    """Return the raw values of a translation model."""
    texts = [sample["texts"] for sample in list_translations(context, name)]
    return {
        "experiment": name,
        "title": context.get_title(name),
        "parameters": cells.find_parameter_count(context, name),
        "distinct_translations": compute_mean([len(set(replica_texts)) for replica_texts in texts]),
        "translated": len(texts[0]) if texts else None,
        "replicas_with_one_translation": sum(
            len(replica_texts) > 1 and len(set(replica_texts)) == 1 for replica_texts in texts
        ),
        **count_replicas(context.get_status(name)),
        **collect_mean_values(context, name, _TRANSLATION_QUANTITIES),
    }


def _format_part(part: float, total: float) -> str:
    """Write "12 of 100"."""
    return DASH if pd.isna(part) else f"{format_integer(part)} of {format_integer(total)}"


def translation_examples(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make rows per sentence: its source and reference, and the translation by each model's first replica."""
    names = context.list_cited_experiments(table_id)
    # Models of one tier may read different texts: a text is told by its line and its source.
    examples_by_model = {
        name: {
            (s["line"], s["source"], s["reference"]): s for s in context.list_samples(name) if s["kind"] == "example"
        }
        for name in names
    }
    rows: list[tuple[int, str, str]] = []
    for key in sorted({key for examples in examples_by_model.values() for key in examples}):
        line, source, reference = key
        rows += [(line, "source", source), (line, "reference", reference)]
        rows += [
            (line, context.get_title(name), examples_by_model[name][key]["text"])
            for name in names
            if key in examples_by_model[name]
        ]
    columns = [
        Column("Line", lambda row: format_integer(row["line"]) if row["origin"] == "source" else ""),
        make_text_column("Origin", "origin"),
        make_text_column("Text", "text"),
    ]
    absences = [
        f"{context.get_title(name)}: {context.get_status(name).missing_reason}."
        for name in names
        if not examples_by_model[name]
    ]
    datasets = dict.fromkeys(
        context.find_replaced_dataset(n) or context.get_entry(n).data.dataset for n in names if examples_by_model[n]
    )
    sources = [f"Sources and references: {(d := context.datasets[name]).title} ({d.licence})." for name in datasets]
    return Table(columns, pd.DataFrame(rows, columns=["line", "origin", "text"]), [*sources, *absences])
