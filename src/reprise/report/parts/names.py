"""Name the metrics of run records, each with its split, in words that a newcomer understands."""

import re

from reprise.catalogue.prompts import PROMPTS

_SPLIT_NAMES = {
    "all": "",
    "first-fifth": "the first fifth of training",
    "last-fifth": "the last fifth of training",
    "argmax": "argmax texts",
    "sample": "sampled texts",
    "test1": "Test1",
    "test2": "Test2",
    "tests": "Test1 and Test2",
    "train": "training",
    "valid": "validation",
}
_PROMPT_LENGTH = 20
"""Characters quoted of a longer prompt."""


def quote_prompt(name: str) -> str:
    """Quote the beginning of a prompt: "“To be, or not to be …”"."""
    prompt, end = PROMPTS[name.removesuffix("-blank")], " and a blank" if name.endswith("-blank") else ""
    short = (
        f"{prompt[: _PROMPT_LENGTH + 1].rpartition(' ')[0].rstrip(',')} …" if len(prompt) > _PROMPT_LENGTH else prompt
    )
    return f"“{short}”{end}"


_METRIC_NAMES = {
    "above_shuffled": "share of {split} sentences more probable than with their words in a random order",
    "agreement": "share of agreements judged right on {split}",
    "blank_probability": "probability of a blank {where}",
    "bleu": "{split} BLEU",
    "capital_probability": "probability of a capital {where}",
    "cross_entropy": "{split} cross-entropy",
    "cross_entropy_of_letters_beyond_13": "{split} cross-entropy of letters 14 and later",
    "cross_entropy_best": "{split} cross-entropy at the best epoch",
    "cross_entropy_macro": "{split} cross-entropy averaged over lines",
    "cross_entropy_per_character": "{split} cross-entropy",
    "cross_entropy_per_character_macro": "{split} cross-entropy averaged over lines",
    "expected_log_probability": "ln P of “etel” after {split}",
    "expected_rank": "rank of e after {split}",
    "final_cross_entropy": "{split} cross-entropy of the last steps",
    "guessing": "{split} accuracy by guessing",
    "last_ten_accuracy": "{split} accuracy, mean of the last ten logged batches",
    "long_words.share_of_words": "share of long words in the text",
    "share_of_loss_of_first_letters": "share of the {split} loss that first letters have",
    "shortening_by_bigrams": "shortening of the median line by bigrams",
    "spaces": "share of spaces in {split}",
    "unpredicted_share": "share of {split} words without a probability or with 0",
    "word_length": "mean length of sampled words {where}",
    "words_in_book": "share of words found in the book {where}",
    "words_in_licence": "share of the licence's words {where}",
}
_LONGEST_STEP_NAMES = {"clipped": "longest step with clipping", "plain": "longest step without clipping"}
_JACOBIAN_TIMES = {"start": "before training", "end": "after training"}
_AGREEMENT = re.compile(r"agreement/(?P<feature>[^/]+)/(?P<kind>[^/]+)/(?P<span>.+)")
_LOSS_BY_COUNT = re.compile(r"loss_by_count/(?P<side>[^/]+)/(?P<band>[0-9-]+)")
_SIDE_NAMES = {"read": "after words", "predicted": "on words"}
_ORDER = re.compile(r"(?P<metric>.+)_order_(?P<n>\d+)")
_STORED_NGRAMS = re.compile(r"stored_order_(?P<n>\d+)(_halved_(?P<times>\d+)_times)?")
_MARK = re.compile(r"cross_entropy_mark_(?P<mark>\d+)")
_DISTINCT = re.compile(r"distinct_(?P<n>\d+)")
_AT_DISTANCE = re.compile(r"(?P<metric>.+)_at_(?P<distance>\d+)")


def name_split(split: str) -> str:
    """Name a split: "validation"."""
    return quote_prompt(split) if split in PROMPTS else _SPLIT_NAMES.get(split, split)


def humanize_metric(metric: str) -> str:
    """Write a metric that has no name of its own in words: "cross-entropy macro"."""
    return metric.replace("cross_entropy", "cross-entropy").replace("_", " ")


def name_metric(metric: str, split: str) -> str:
    """Name a metric of a split: "test perplexity".

    "<metric>@<step>" names a point of a curve, "<metric>@epoch=<epoch>" one on another axis.
    """
    metric, _, point = metric.partition("@")
    name = _name_loss_by_count(metric, split) or _name_whole_metric(metric, split)
    axis, _, x = point.rpartition("=")
    return f"{name} at {axis or 'step'} {float(x):,.12g}" if point else name


def name_measure(metric: str, split: str) -> str:
    """Name what a metric measures: "test loss" also where it is that of some words or of one step alone."""
    is_part = _LOSS_BY_COUNT.fullmatch(metric) or _MARK.fullmatch(metric)
    return f"{name_split(split)} loss" if is_part else name_metric(metric, split)


def _name_loss_by_count(metric: str, split: str) -> str:
    """Write "test loss after words with under 100 occurrences in training"; "" for another metric."""
    match = _LOSS_BY_COUNT.fullmatch(metric)
    if not match:
        return ""
    side, band = _SIDE_NAMES[match["side"]], describe_count_band(match["band"])
    return f"{name_split(split)} loss {side} with {band} occurrences in training"


def describe_count_band(band: str) -> str:
    """Write a band of counts in words: "0", "1 to 9", "under 100" for "0-99", "at least 1,000" for "1000-"."""
    low, dash, high = band.partition("-")
    if not dash:
        return f"{int(low):,}"
    if not high:
        return f"at least {int(low):,}"
    return f"under {int(high) + 1:,}" if low == "0" else f"{int(low):,} to {int(high):,}"


def _name_whole_metric(metric: str, split: str) -> str:
    """Name a metric without a step or epoch."""
    split_name = name_split(split)
    if metric == "longest_step":
        return _LONGEST_STEP_NAMES.get(split, f"longest step, {split_name}")
    if match := _AGREEMENT.fullmatch(metric):
        restrictions = [match[group] for group in ("feature", "kind") if match[group] != "all"]
        span = f"{match['span'].replace('-', ' to ')} token{'' if match['span'] == '1' else 's'}"
        distance = "at any distance" if match["span"] == "all" else f"at a distance of {span}"
        return f"{_METRIC_NAMES['agreement'].format(split=split_name)} {', '.join([distance, *restrictions])}"
    if match := _STORED_NGRAMS.fullmatch(metric):
        part = f"1/{2 ** int(match['times'])} of the" if match["times"] else "the"
        return f"number of different {match['n']}-grams in {part} {split_name} text"
    if match := _MARK.fullmatch(metric):
        mark = match["mark"]
        return f"{split_name} loss at the start" if mark == "0" else f"{split_name} loss at the tables' step no. {mark}"
    if match := _DISTINCT.fullmatch(metric):
        return f"share of different sequences of {match['n']} words in {split_name}"
    if match := _ORDER.fullmatch(metric):
        if split == "phrases":
            return f"ln P of “{match['metric'].replace('_', ' ')}” for n = {match['n']}"
        return f"{_name_whole_metric(match['metric'], split)}, n = {match['n']}"
    if match := _AT_DISTANCE.fullmatch(metric):
        if match["metric"] == "log10_jacobian":
            return (
                f"log10 of the Jacobian's norm over {match['distance']} words {_JACOBIAN_TIMES.get(split, split_name)}"
            )
        return f"{_name_whole_metric(match['metric'], split)} over {match['distance']} words"
    place = f"after {split_name}" if split in PROMPTS else f"in {split_name}"
    return (
        _METRIC_NAMES.get(metric, f"{{split}} {humanize_metric(metric)}").format(split=split_name, where=place).strip()
    )
