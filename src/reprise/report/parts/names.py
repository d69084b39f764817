"""What the metrics of records are called: each with its split, in words that a newcomer reads."""

import re

from reprise.catalogue.prompts import PROMPTS

_SPLITS = {
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
_SHORT = 20
"""Characters of a prompt by which it is named."""


def quote_prompt(name: str) -> str:
    """Quote the beginning of a prompt: "“To be, or not to be …”"."""
    prompt, end = PROMPTS[name.removesuffix("-blank")], " and a blank" if name.endswith("-blank") else ""
    short = f"{prompt[: _SHORT + 1].rpartition(' ')[0].rstrip(',')} …" if len(prompt) > _SHORT else prompt
    return f"“{short}”{end}"


_METRICS = {
    "above_shuffled": "share of {split} sentences more probable than with their words in a random order",
    "agreement": "share of agreements judged right on {split}",
    "blank_probability": "probability of a blank {where}",
    "bleu": "{split} BLEU",
    "capital_probability": "probability of a capital {where}",
    "cross_entropy": "{split} cross-entropy",
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
_LONGEST = {"clipped": "longest step with clipping", "plain": "longest step without clipping"}
_JACOBIAN = {"start": "before training", "end": "after training"}
_AGREEING = re.compile(r"agreement/(?P<feature>[^/]+)/(?P<kind>[^/]+)/(?P<span>.+)")
_BY_COUNT = re.compile(r"loss_by_count/(?P<side>[^/]+)/(?P<band>[0-9-]+)")
_SIDES = {"read": "after words", "predicted": "on words"}
_ORDER = re.compile(r"(?P<metric>.+)_order_(?P<n>\d+)")
_STORED = re.compile(r"stored_order_(?P<n>\d+)(_halved_(?P<times>\d+)_times)?")
_MARK = re.compile(r"cross_entropy_mark_(?P<mark>\d+)")
_DISTINCT = re.compile(r"distinct_(?P<n>\d+)")
_DISTANT = re.compile(r"(?P<metric>.+)_at_(?P<distance>\d+)")


def split_words(split: str) -> str:
    """Name a split: "validation"."""
    return quote_prompt(split) if split in PROMPTS else _SPLITS.get(split, split)


def plain(metric: str) -> str:
    """Write "cross-entropy macro": a metric without words of its own."""
    return metric.replace("cross_entropy", "cross-entropy").replace("_", " ")


def name_of(metric: str, split: str) -> str:
    """Write "test perplexity": the metric of the split. One without words of its own has its name, without underscores.

    "<metric>@<step>" is a point of a curve, "<metric>@epoch=<epoch>" one on another axis than the step's.
    """
    metric, _, place = metric.partition("@")
    name = _loss_by_count(metric, split) or _name(metric, split)
    axis, _, x = place.rpartition("=")
    return f"{name} at {axis or 'step'} {float(x):,.12g}" if place else name


def _loss_by_count(metric: str, split: str) -> str:
    """Write "test loss after words with under 100 occurrences in training"; "" of another metric."""
    match = _BY_COUNT.fullmatch(metric)
    if not match:
        return ""
    return f"{split_words(split)} loss {_SIDES[match['side']]} with {band_words(match['band'])} occurrences in training"


def band_words(band: str) -> str:
    """Write a band of counts in words: "0", "1 to 9", "under 100" of "0-99", "at least 1,000" of "1000-"."""
    least, dash, most = band.partition("-")
    if not dash:
        return f"{int(least):,}"
    if not most:
        return f"at least {int(least):,}"
    return f"under {int(most) + 1:,}" if least == "0" else f"{int(least):,} to {int(most):,}"


def _name(metric: str, split: str) -> str:
    of = split_words(split)
    if metric == "longest_step":
        return _LONGEST.get(split, f"longest step, {of}")
    if match := _AGREEING.fullmatch(metric):
        named = [match[part] for part in ("feature", "kind") if match[part] != "all"]
        span = f"{match['span'].replace('-', ' to ')} token{'' if match['span'] == '1' else 's'}"
        distance = "at any distance" if match["span"] == "all" else f"at a distance of {span}"
        return f"{_METRICS['agreement'].format(split=of)} {', '.join([distance, *named])}"
    if match := _STORED.fullmatch(metric):
        part = f"1/{2 ** int(match['times'])} of the" if match["times"] else "the"
        return f"number of different {match['n']}-grams in {part} {of} text"
    if match := _MARK.fullmatch(metric):
        mark = match["mark"]
        return f"{of} loss at the start" if mark == "0" else f"{of} loss at the tables' step no. {mark}"
    if match := _DISTINCT.fullmatch(metric):
        return f"share of different sequences of {match['n']} words in {of}"
    if match := _ORDER.fullmatch(metric):
        if split == "phrases":
            return f"ln P of “{match['metric'].replace('_', ' ')}” for n = {match['n']}"
        return f"{_name(match['metric'], split)}, n = {match['n']}"
    if match := _DISTANT.fullmatch(metric):
        if match["metric"] == "log10_jacobian":
            return f"log10 of the Jacobian's norm over {match['distance']} words {_JACOBIAN.get(split, of)}"
        return f"{_name(match['metric'], split)} over {match['distance']} words"
    where = f"after {of}" if split in PROMPTS else f"in {of}"
    return _METRICS.get(metric, f"{{split}} {plain(metric)}").format(split=of, where=where).strip()
