"""Make Tables 1 to 5 of document 004: a treebank's facts, perplexities, a generated sentence and agreement."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from reprise.errors import require_known
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import (
    Row,
    iterate_with_variants,
    make_mean_values,
    make_text_column,
    pick_attributes,
)
from reprise.report.parts import verdicts, wording
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import DASH, compute_mean, format_count, format_fixed, format_integer, format_signed
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.uncertainty import INTERVAL, estimate_mean, write_interval_notes
from reprise.report.parts.wording import describe_replacement, format_replicas
from reprise.units import convert_to_perplexity

SPLITS = {"train": "Training", "valid": "Validation", "test1": "Test1", "test2": "Test2"}
STATISTICS = {
    "sentences": ("Total sentences", 0),
    "tokens": ("Tokens", 0),
    "average_sentence_length": ("Avg. sent. length", 2),
    "types": ("Types", 0),
    "token_type_ratio": ("Token-type ratio", 2),
}
"""By metric, the name in Table 2 and the number of decimals there."""
_POS = "ADJ ADP ADV AUX CONJ DET INTJ NIL NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _"
_FEATURES = {
    "Case": "Abl Acc Nom Voc",
    "Definite": "Def Ind",
    "Degree": "Cmp",
    "Gender": "Fem Masc Neut",
    "Mood": "Cnd Imp Ind Sub",
    "Number": "Plur Sing",
    "Person": "1 2 3",
    "PronType": "Dem Ind Int Neg Prs Rel",
    "Reflex": "Yes",
    "Tense": "Fut Imp Past Pres",
    "VerbForm": "Fin Inf Part",
}
PAPER_TAGS = [f"{name}:{value}" for name, values in {"POS": _POS, **_FEATURES}.items() for value in values.split(" ")]
"""The 52 tags of Table 3, in its order; names that it abbreviates (POS:PUNC, POS:SCON, PronType:In) in full."""


def splits(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make Table 1: the sentences of every split, a row per corpus and split, with this tier's variants."""
    return _compare_corpora(
        context, table_id, [(split, "sentences", title, 0) for split, title in SPLITS.items()], "Split"
    )


def statistics(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make Table 2: sentences, tokens, types and ratios, a row per corpus and number, with this tier's variants."""
    quantities = [("all", metric, title, places) for metric, (title, places) in STATISTICS.items()]
    return _compare_corpora(context, table_id, quantities, "Statistic")


def tags(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make Table 3: a row per tag of the paper or a corpus, with the tokens and types that have it."""
    names = context.list_cited_experiments(table_id)
    counts = {name: {kind: _count_by_tag(context, name, kind) for kind in ("tokens", "types")} for name in names}
    other_tags = {tag for kinds in counts.values() for tag in kinds["tokens"]} - set(PAPER_TAGS)
    rows = []
    for tag in [*PAPER_TAGS, *sorted(other_tags, key=lambda tag: (not tag.startswith("POS:"), tag))]:
        row: dict[str, Any] = {"tag": tag, "paper": tag in PAPER_TAGS}
        for name in names:
            for kind, by_tag in counts[name].items():
                row[f"{name}.{kind}"] = by_tag.get(tag, 0) if by_tag else None
        rows.append(row)
    columns = [
        make_text_column("Tag", "tag"),
        Column("In the paper", lambda row: cells.format_yes_no(row["paper"]), is_text=True),
    ]
    for name in names:
        absence = context.get_status(name).explain_missing_value(counts[name]["tokens"] or None)
        for kind in counts[name]:
            columns.append(_make_count_column(f"{context.get_title(name)}: {kind}", f"{name}.{kind}", absence))
    return Table(
        columns, pd.DataFrame(rows), [_write_tag_note(context, name, counts[name]["tokens"]) for name in names]
    )


def _compare_corpora(
    context: Context, table_id: str, quantities: list[tuple[str, str, str, int]], heading: str
) -> Table:
    """Compare the paper's numbers with ours; `quantities` are (split, metric, title, decimals)."""
    rows = []
    for name, title in iterate_with_variants(context, context.list_cited_experiments(table_id), include_untrained=True):
        for split, metric, quantity, places in quantities:
            value = next(iter(context.get_values(name, metric, split)), None)
            paper = context.get_printed(name, metric, split)
            row = {
                "experiment": name,
                "title": title,
                "corpus": wording.name_corpus(context, name),
                "quantity": quantity,
            }
            row |= {"decimals": places, "paper": paper, "ours": value}
            row["difference"] = None if None in (value, paper) else value - paper
            rows.append(row | {"missing_reason": context.get_status(name).explain_missing_value(value)})
    columns = [
        make_text_column("Experiment", "title"),
        make_text_column("Corpus", "corpus"),
        make_text_column(heading, "quantity"),
        Column("Paper", lambda row: format_fixed(row["paper"], row["decimals"])),
        Column(
            "Ours",
            lambda row: row["missing_reason"] if pd.isna(row["ours"]) else format_fixed(row["ours"], row["decimals"]),
        ),
        Column("Ours − paper", lambda row: format_fixed(row["difference"], row["decimals"])),
    ]
    return Table(columns, pd.DataFrame(rows))


def _count_by_tag(context: Context, name: str, kind: str) -> dict[str, float]:
    """Count tokens or types by tag, from the first finished replica; empty without one."""
    prefix = f"tag_{kind}."
    return {
        metric.removeprefix(prefix): value
        for metric, (value, _) in _collect_first_values(context, name, prefix).items()
    }


def _collect_first_values(context: Context, name: str, prefix: str) -> dict[str, tuple[float, int | None]]:
    """Collect value and n of all metrics with a prefix, from the first finished replica that has each."""
    first_values: dict[str, tuple[float, int | None]] = {}
    for replica in context.list_replicas(name, "finished"):
        for (metric, split), value in replica.metrics.items():
            if metric.startswith(prefix):
                first_values.setdefault(metric, (value, replica.sizes[metric, split]))
    return first_values


def _make_count_column(title: str, key: str, absence: str) -> Column:
    """Make a column of counts, with `absence` for a missing one."""
    return Column(title, lambda row: absence if pd.isna(row[key]) else format_integer(row[key]))


def _write_tag_note(context: Context, name: str, counts: Mapping[str, float]) -> str:
    """Write how the tags of a corpus differ from the paper's."""
    title = f"{context.get_title(name)} ({wording.name_corpus(context, name)})"
    if not counts:
        return f"{title}: {context.get_status(name).explain_missing_value(None)}."
    missing = [tag for tag in PAPER_TAGS if tag not in counts]
    added = sorted(set(counts) - set(PAPER_TAGS))
    sentences = [f"{title} has {len(counts)} tags; the paper has {len(PAPER_TAGS)}."]
    sentences += [f"Of the paper's it lacks {', '.join(missing)}."] if missing else []
    sentences += [f"It adds {', '.join(added)}."] if added else []
    return " ".join(sentences)


METRIC, BEST_METRIC = "cross_entropy", "cross_entropy_best"
_FEATURE_SETTINGS = ("features_from", "top_types", "word_identity")
SHOWN_SPLITS = {"train": "Train", "test1": "Test1", "test2": "Test2"}
BOTH_TESTS = "tests"


def perplexities(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a table per split, a row per experiment: the paper's log-perplexity, and ours at the last and best epoch.

    The paper's numbers also stand beside another release of its treebank; the notes name the release.
    """
    names = context.list_cited_experiments(table_id)
    wide_rows = [_make_row(context, name) for name in names]
    rows = pd.DataFrame([_select_split(row, split) for split in SHOWN_SPLITS for row in wide_rows]).astype(
        {"parameters": "Int64"}
    )
    has_paper_numbers = rows.paper.notna().any()
    columns = [
        cells.MODEL_COLUMN,
        *([cells.make_number_column("Paper", "paper", 2)] if has_paper_numbers else []),
        cells.make_result_column(f"Ours ± {INTERVAL}", "mean", 3),
        *([Column("Gap (in SD)", _format_gap)] if has_paper_numbers else []),
        cells.make_number_column("Best epoch, or reread", "best_or_read", 3),
        Column("n", _format_replicas),
    ]
    notes = [*wording.write_corpus_notes(context, names), *_write_factor_note(context, names)]
    if rows[rows.split == SHOWN_SPLITS["train"]].best_or_read.notna().any():
        notes.append("Reread: for Train, the loss over the training part with the last weights.")
    notes += write_interval_notes(context, names, rows, has_gaps=bool(has_paper_numbers))
    return verdicts.add_claims_column(context, Table(columns, rows, notes, group_by="split"), _list_metric_patterns)


def _select_split(row: Row, split: str) -> dict[str, Any]:
    """Return the values of one split from a row of all splits."""
    shared_keys = (
        "experiment",
        "title",
        "parameters",
        "epochs",
        "best_epoch",
        "diverged",
        "recorded",
        "planned",
        "missing_reason",
    )
    split_keys = ("paper", "mean", "std", "low", "high", "single_replica", "replica_std", "gap", "gap_in_std")
    columns = {key: row[key] for key in shared_keys} | {key: row.get(f"{split}_{key}") for key in split_keys}
    return (
        {"split": SHOWN_SPLITS[split]}
        | columns
        | {"best_or_read": row["train_read" if split == "train" else f"{split}_best"]}
    )


def controls(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per model: the nearest end model (`base` or `full`), and the change on the tests.

    The nearest end model differs in the fewest settings. The change is that of the last epochs, as in Table 4; that of
    the best epochs stands beside it. If losses rise at the end, the last epochs depend on where training stopped. A
    note per change gives its share of the gain from `base` to `full`. The experiments' own notes come last.
    """
    ends, names = (options["base"], options["full"]), context.list_cited_experiments(table_id)
    for key, name in zip(("base", "full"), ends, strict=True):
        require_known(name, names, context.name_option(table_id, key), "experiment of this table")
    rows, notes = [], wording.write_corpus_notes(context, names)
    gain, best_gain = (_compute_difference(context, *ends, metric) for metric in (METRIC, BEST_METRIC))
    if gain is not None:
        base, full = map(context.get_title, ends)
        change = _format_change(-gain, " nats per token")
        text = f"{full} is {change} than {base} on both tests together at the last epochs"
        notes.append(f"{text}." if best_gain is None else f"{text}, and {_format_change(-best_gain)} at the best ones.")
    for name in names:
        nearest_end = None if name in ends else min(ends, key=lambda end: len(_list_differences(context, name, end)))
        row = _make_row(context, name) | {"compared_with": context.get_title(nearest_end) if nearest_end else ""}
        row["difference"] = "; ".join(_list_differences(context, name, nearest_end)) if nearest_end else ""
        for key, metric in (("change", METRIC), ("change_best", BEST_METRIC)):
            row[key] = _compute_difference(context, name, nearest_end, metric) if nearest_end else None
        rows.append(row)
        if row["change"] is not None:
            notes.append(_write_change_note(row, gain, best_gain))
    frame = pd.DataFrame(rows).astype({"parameters": "Int64"})
    notes += write_interval_notes(context, names, frame)
    notes += [f"{context.get_title(name)}: {note}" for name in names if (note := context.get_entry(name).note)]
    columns = [
        cells.MODEL_COLUMN,
        Column("Compared with", lambda row: row["compared_with"] or DASH, is_text=True),
        Column("Difference", lambda row: row["difference"] or DASH, is_text=True),
        Column("Change", lambda row: format_signed(row["change"], 3)),
        *(
            cells.make_result_column(f"{title} ± {INTERVAL}", f"{split}_mean", 3)
            for split, title in SHOWN_SPLITS.items()
        ),
        Column("Change, best epochs", lambda row: format_signed(row["change_best"], 3)),
        Column("Replicas", _format_replicas),
        cells.PARAMETERS_COLUMN,
    ]
    return verdicts.add_claims_column(context, Table(columns, frame, notes), _list_metric_patterns)


def _list_metric_patterns(row: Row) -> list[str]:
    """List the metrics of a row, as patterns of "<metric> <split>"."""
    return [f"{METRIC}* {split}" for split in (*SHOWN_SPLITS, BOTH_TESTS)]


def _make_row(context: Context, name: str) -> dict[str, Any]:
    """Return the raw values of an experiment."""
    row = {
        "experiment": name,
        "title": context.get_title(name),
        "parameters": cells.find_parameter_count(context, name),
        "train_read": compute_mean(context.get_values(name, "cross_entropy_evaluated", "train")),
        "epochs": compute_mean(context.get_values(name, "epochs", "train")),
        "best_epoch": compute_mean(context.get_values(name, "best_epoch", "valid")),
        **pick_attributes(status := context.get_status(name), "diverged", "recorded", "planned"),
    }
    for split in SHOWN_SPLITS:
        estimate, paper = estimate_mean(context, name, METRIC, split), _get_paper_number(context, name, split)
        row |= {f"{split}_paper": paper, **make_mean_values(estimate, f"{split}_mean")}
        row |= {f"{split}_replica_std": estimate.replica_sd, f"{split}_degrees_of_freedom": estimate.df}
        row |= {
            f"{split}_gap": estimate.compute_gap(paper),
            f"{split}_gap_in_std": estimate.compute_gap_in_sds(paper),
        }
        row[f"{split}_best"] = compute_mean(context.get_values(name, BEST_METRIC, split))
    means = [row[f"{split}_mean"] for split in SHOWN_SPLITS]
    return row | {"missing_reason": status.explain_missing_value(None if None in means else means[0])}


def _get_paper_number(context: Context, name: str, split: str) -> float | None:
    """Return the paper's number if this tier trains on the paper's corpus or another release of it."""
    replaced, dataset = context.find_replaced_dataset(name), context.get_entry(name).data.dataset
    is_comparable = replaced is None or context.datasets[replaced].prepare == context.datasets[dataset].prepare
    return context.get_printed(name, METRIC, split) if is_comparable else None


def _write_factor_note(context: Context, names: list[str]) -> list[str]:
    """Write the factor between the softmax RNN and the best log-linear model, in perplexity on Test1."""
    frame = pd.DataFrame({"title": map(context.get_title, names)})
    frame["output"] = [context.get_setting(name, "model.output") for name in names]
    frame["ours"] = [compute_mean(context.get_values(name, METRIC, "test1")) for name in names]
    frame["paper"] = [_get_paper_number(context, name, "test1") for name in names]
    finished = frame.dropna(subset="ours")
    best = finished.loc[finished.groupby("output").ours.idxmin()].set_index("output")
    if len(best) < 2:
        return []
    rnn, log_linear = best.loc["softmax"], best.loc["log-linear"]
    rnn_perplexity, log_linear_perplexity = convert_to_perplexity(rnn.ours), convert_to_perplexity(log_linear.ours)
    count = (finished.output == "log-linear").sum()
    remark = f" (the best of {count})" if count > 1 else ""
    printed_numbers = frame.astype({"paper": float}).groupby("output").paper.min()
    paper = ""
    if printed_numbers.notna().all():
        factor = convert_to_perplexity(printed_numbers["softmax"] - printed_numbers["log-linear"])
        paper = f" (paper: {format_fixed(factor, 2)})"
    return [
        f"On Test1, {rnn.title} has a perplexity of {format_fixed(rnn_perplexity, 0)}; "
        f"{log_linear.title}{remark} has {format_fixed(log_linear_perplexity, 0)}: "
        f"a factor of {format_fixed(rnn_perplexity / log_linear_perplexity, 2)}{paper}."
    ]


def _list_differences(context: Context, name: str, other: str) -> list[str]:
    """List the model settings in which two experiments differ, if both have them."""
    settings, other_settings = (
        {key: context.get_setting(run, f"model.{key}") for key in context.get_entry(run).model.settings}
        for run in (name, other)
    )
    is_plain = any(
        (model_settings["input"], model_settings["output"]) == ("one-hot", "softmax")
        for model_settings in (settings, other_settings)
    )
    compared = [key for key in settings if key in other_settings and not (is_plain and key in _FEATURE_SETTINGS)]
    return [
        describe_replacement(context.paper, key, settings[key], other_settings[key])
        for key in compared
        if settings[key] != other_settings[key]
    ]


def _compute_difference(context: Context, name: str, other: str, metric: str) -> float | None:
    """Return the mean of an experiment minus another's, on both tests together; None if one has none."""
    values = [compute_mean(context.get_values(run, metric, BOTH_TESTS)) for run in (name, other)]
    return None if None in values else values[0] - values[1]


def _write_change_note(row: Row, gain: float | None, best_gain: float | None) -> str:
    """Write the change of a model on the tests, at the last and the best epochs."""
    change, best_change = row["change"], row["change_best"]
    text = f"{row['title']} is {_format_change(change, ' nats per token')} than {row['compared_with']}"
    text += f"{_format_share_of_gain(change, gain, 'that gain')}."
    if best_change is not None:
        share = _format_share_of_gain(best_change, best_gain, "the gain there")
        text += f" At the best epochs it is {_format_change(best_change)}{share}."
    return text


def _format_change(change: float, unit: str = "") -> str:
    """Write "0.123 better" or "0.123 worse"."""
    return f"{format_fixed(abs(change), 3)}{unit} {'worse' if change > 0 else 'better'}"


def _format_share_of_gain(change: float, gain: float | None, gain_name: str) -> str:
    """Write a change as a share of the gain between the end models; "" without a gain."""
    return f", or {format_fixed(100 * abs(change) / gain, 0)} % of {gain_name}" if gain and gain > 0 else ""


def _format_gap(row: Row) -> str:
    """Write the gap to the paper's number, and in brackets the same in SDs."""
    gap, in_std = format_signed(row["gap"], 3), row["gap_in_std"]
    return gap if pd.isna(in_std) else f"{gap} ({format_fixed(in_std, 1)})"


def _format_replicas(row: Row) -> str:
    """Write the number of replicas of a row."""
    return format_replicas(row["recorded"] - row["diverged"], row["planned"], row["diverged"])


NIL, NOT_TOP = "@nil", "TOPFORM:@notTop"
MIN_WORDS, MAX_WORDS = 6, 30
"""Words of a sentence that is shown; a longer one is cut."""

AGREEMENT, FREQUENCY_BASELINE, ALL = "agreement", "agreement_by_frequency", "all"


def generated(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per word of the first whole sentence that the cited model wrote, with its features."""
    (name, *_) = context.list_cited_experiments(table_id)
    samples = [sample for sample in context.list_samples(name, None) if "features" in sample]
    sample, pairs = next(((sample, sentence) for sample in samples for sentence in _split_sentences(sample)), ({}, []))
    note = f": {'no sentence of this length' if samples else context.get_status(name).missing_reason}."
    if pairs:
        note = (
            f", replica {sample['replica']}, epoch {sample['epoch']}: {format_count(len(pairs), 'word')}, of which "
            f"{sum(NOT_TOP in features for _, features in pairs)} not among the most frequent ones (@notTop)."
        )
    rows = pd.DataFrame(pairs, columns=["word", "features"])
    return Table(
        [make_text_column("Word", "word"), make_text_column("Features", "features")],
        rows,
        [f"{context.get_title(name)}{note}"],
    )


def agreement(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per model and feature: the share of pairs judged right, over all pairs and by distance.

    Last comes the baseline of each corpus: the form that is more frequent in it.
    """
    names = context.list_cited_experiments(table_id)
    groups = {name: _count_groups(context, name) for name in names}
    distances = list(dict.fromkeys(distance for model_groups in groups.values() for _, distance in model_groups)) or [
        ALL
    ]
    predictors = [(name, AGREEMENT, context.get_title(name)) for name in names]
    first_models: dict[str, str] = {}
    for name in filter(groups.get, names):
        first_models.setdefault(wording.name_corpus(context, name), name)
    predictors += [
        (name, FREQUENCY_BASELINE, f"the more frequent form, {corpus}") for corpus, name in first_models.items()
    ]
    rows = []
    for name, metric, title in predictors:
        for feature in dict.fromkeys(feature for feature, _ in groups[name]) or [ALL]:
            row = {"experiment": name, "model": title, "feature": feature, "metric": metric}
            row["missing_reason"] = context.get_status(name).missing_reason
            for distance in distances:
                row[distance] = compute_mean(
                    context.get_values(name, f"{metric}/{feature}/{ALL}/{distance}", BOTH_TESTS)
                )
                row[f"{distance}: pairs"] = groups[name].get((feature, distance))
            rows.append(row)

    def list_patterns(row: Row) -> list[str]:
        """List the metrics of a model; claims are about models, not about the baseline."""
        return [f"{AGREEMENT}/{row['feature']}/{ALL}/* {BOTH_TESTS}"] if row["metric"] == AGREEMENT else []

    columns = [
        make_text_column("Model", "model"),
        make_text_column("Feature", "feature"),
        *map(_make_share_column, distances),
    ]
    notes = [
        _write_gain_note(context, name, other, distances)
        for name in names
        if groups[name] and (other := first_models[wording.name_corpus(context, name)]) != name
    ]
    return verdicts.add_claims_column(context, Table(columns, pd.DataFrame(rows), notes), list_patterns)


def _count_groups(context: Context, name: str) -> dict[tuple[str, str], int]:
    """Count the pairs of each feature and distance, over all kinds."""
    groups = _collect_first_values(context, name, f"{AGREEMENT}/")
    parts = ((*metric.split("/")[1:], int(n)) for metric, (_, n) in groups.items())
    return {(feature, distance): n for feature, kind, distance, n in parts if kind == ALL}


def _make_share_column(distance: str) -> Column:
    """Make a column of the shares judged right at a distance."""

    def format_share(row: Row) -> str:
        if pd.isna(row[distance]):
            return row["missing_reason"] if distance == ALL else DASH
        return f"{format_fixed(100 * row[distance], 1)} % of {format_integer(row[f'{distance}: pairs'])}"

    return Column("All" if distance == ALL else f"Distance {distance}", format_share)


def _write_gain_note(context: Context, name: str, other: str, distances: list[str]) -> str:
    """Write the gain of a model over the first one of its corpus, at every distance."""
    gains = []
    for distance in distances:
        gain = _compute_difference(context, name, other, f"{AGREEMENT}/{ALL}/{ALL}/{distance}")
        if gain is not None:
            noun = "distance" if distance.isdigit() else "distances"
            place = "over all pairs" if distance == ALL else f"at {noun} {distance.replace('-', ' to ')}"
            gains.append(f"{format_signed(100 * gain, 1)} {place}")
    return f"{context.get_title(name)} minus {context.get_title(other)}, in percentage points: {', '.join(gains)}."


def _split_sentences(sample: Mapping[str, Any]) -> list[list[tuple[str, str]]]:
    """Return the whole sentences of a text, each word with its features; the text's beginning if it has none."""
    pairs = list(zip(sample["words"], sample["features"], strict=True))
    ends = [i for i, (word, _) in enumerate(pairs) if word == NIL]
    if not ends:
        return [pairs[:MAX_WORDS]]
    return [pairs[a + 1 : b][:MAX_WORDS] for a, b in pairwise(ends) if b - a > MIN_WORDS]
