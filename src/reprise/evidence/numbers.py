"""Every number of a run record: those that training left and those that follow from them."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from reprise.evaluation.text_measures import list_whole_words
from reprise.evidence.bleu import list_bleu_rows
from reprise.records.evaluation import BAND_STARTS, BANDS, SIDES, name_loss_metric
from reprise.sums import add_in_order
from reprise.units import derive_metrics

TESTS = "tests"
"""The split of several test texts together, every word counting the same."""
FIFTHS = ("first-fifth", "last-fifth")
"""The splits of texts that a training wrote early and late."""
AXIS = "position_in_word"
"""The axis of the curve that losses of letters are taken from."""
FIRST_LETTERS = "share_of_loss_of_first_letters"
LETTERS = {
    "cross_entropy_of_first_letters": (1, 1),
    "cross_entropy_of_second_letters": (2, 2),
    "cross_entropy_of_letters_9_to_13": (9, 13),
    "cross_entropy_of_letters_beyond_13": (14, None),
}
"""Losses at places of a word (document 000, Figure 3): first and last position. Section 5 sets those beyond 13 apart.
"""


def list_numbers(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield rows of split, metric, value, unit and n: each metric, what follows from it, and what samples show."""
    for metric in record["metrics"]:
        yield metric
        yield from derive_metrics(metric, record["metrics"])
    yield from list_letter_rows(record)
    yield from list_bleu_rows(record)
    yield from list_word_length_rows(record)


def list_loss_rows(evaluation: Mapping[str, Any], bands: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the mean losses of an evaluation record by counts of words, of bands named as in `BANDS`; n counts words.

    Of every test text, and of all of them together where there are several; no row of a band without a word.
    """
    entries = evaluation["losses_by_count"]
    splits = list(dict.fromkeys(entry["split"] for entry in entries))
    together = {split: [split] for split in splits} | ({TESTS: splits} if len(splits) > 1 else {})
    for split, side, band in product(together, SIDES, bands):
        within = {BAND_STARTS[number] for number in BANDS[band]}
        chosen = [e for e in entries if e["split"] in together[split] and e["side"] == side and e["least"] in within]
        if n := sum(entry["n"] for entry in chosen):
            value = add_in_order(entry["value"] * entry["n"] for entry in chosen) / n
            yield {"split": split, "metric": name_loss_metric(side, band), "value": value, "unit": "nats/token", "n": n}


def list_word_length_rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the mean length of the words that a training sampled early and late; n counts the words.

    Early and late are the first and the last fifth of the steps at which it wrote a text, without step 0. Nothing for a
    record with fewer than two of them.
    """
    if record["status"] != "finished":
        return
    sampled = [s for s in record["samples"] if s.get("kind") == "start" and s.get("decoder") == "sample" and s["step"]]
    steps = sorted({s["step"] for s in sampled})
    if len(steps) < 2:
        return
    fifth = max(1, len(steps) // 5)
    for split, chosen in zip(FIFTHS, (steps[:fifth], steps[-fifth:]), strict=True):
        words = [word for s in sampled if s["step"] in chosen for word in list_whole_words(s["text"])]
        if words:
            value = sum(map(len, words)) / len(words)
            yield {"split": split, "metric": "word_length", "value": value, "unit": "letters", "n": len(words)}


def list_letter_rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the mean loss of all letters at these positions, over the curve's means weighed by their counts.

    Nothing for a record without the curve, and no row where no word is so long. n counts the letters. Besides, the
    share of the loss of all characters, spaces too, that first letters have.
    """
    if record["status"] != "finished":
        return
    curves = {(c["metric"], c["split"]): c for c in record["curves"] if c["axis"] == AXIS}
    for (metric, split), curve in curves.items():
        counts = curves.get(("count", split))
        if metric != "cross_entropy" or counts is None:
            continue
        letters = list(zip(curve["x"], curve["y"], counts["y"], strict=True))
        for name, (first, last) in LETTERS.items():
            chosen = [
                (loss, n) for position, loss, n in letters if first <= position and (last is None or position <= last)
            ]
            total = sum(n for _, n in chosen)
            if total:
                value = add_in_order(loss * n for loss, n in chosen) / total
                yield {"split": split, "metric": name, "value": value, "unit": curve["unit"], "n": total}
        for row in record["metrics"]:
            if (row["metric"], row["split"]) == ("cross_entropy", split) and row["value"] and row["n"]:
                first_letters = add_in_order(loss * n for position, loss, n in letters if position == 1)
                share = first_letters / (row["value"] * row["n"])
                yield {**row, "metric": FIRST_LETTERS, "value": share, "unit": "share"}
