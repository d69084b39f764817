"""Every number of a run record: those that training left and those that follow from them.

BLEU is sacrebleu's, of the translations that a record holds. Training needs no sacrebleu for it: it leaves the counts
(`reprise.evaluation.bleu_counts`). The metric's unit is sacrebleu's signature, which says how it was counted and by
which version.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from reprise.evaluation.bleu_counts import ORDER
from reprise.evaluation.text_measures import list_whole_words
from reprise.records.evaluation import BAND_STARTS, BANDS, SIDES, name_loss_metric
from reprise.units import derive_metrics

TRANSLATIONS = "translations"
"""The kind of sample that a score is made of."""
AXIS = "position_in_word"
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


TESTS = "tests"
"""The split of several test texts together, every word counting the same."""


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
            value = sum(entry["value"] * entry["n"] for entry in chosen) / n
            yield {"split": split, "metric": name_loss_metric(side, band), "value": value, "unit": "nats/token", "n": n}


FIFTHS = ("first-fifth", "last-fifth")


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
            chosen = [(loss, n) for at, loss, n in letters if first <= at and (last is None or at <= last)]
            total = sum(n for _, n in chosen)
            if total:
                value = sum(loss * n for loss, n in chosen) / total
                yield {"split": split, "metric": name, "value": value, "unit": curve["unit"], "n": total}
        for whole in record["metrics"]:
            if (whole["metric"], whole["split"]) == ("cross_entropy", split):
                share = sum(loss * n for at, loss, n in letters if at == 1) / (whole["value"] * whole["n"])
                yield {**whole, "metric": FIRST_LETTERS, "value": share, "unit": "share"}


def _list_translations(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [s for s in record["samples"] if s.get("kind") == TRANSLATIONS] if record["status"] == "finished" else []


def list_bleu_rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a metric `bleu` for each text of translations in a run record; n counts its sentences."""
    for sample in _list_translations(record):
        row = {"split": sample["split"], "metric": "bleu", "value": bleu(sample), "n": len(sample["texts"])}
        yield row | {"unit": f"BLEU|{signature(sample)}"}


def list_different_translations(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield how many different translations are written, as a share of the sentences.

    A model that reads the source writes many; one that does not writes the same few, whatever it is to translate.
    """
    for sample in _list_translations(record):
        n, different = len(sample["texts"]), len(set(sample["texts"]))
        row = {"split": sample["split"], "metric": "different_translations", "value": different / n}
        yield row | {"unit": "share", "n": n}


def bleu(sample: Mapping[str, Any], sentences: Sequence[int] | None = None) -> float:
    """Return the score, 0 to 100, of all sentences or of those with these numbers, smoothed by sacrebleu's default."""
    chosen = range(len(sample["texts"])) if sentences is None else sentences
    words = [sample["hypothesis_words"][i] for i in chosen]
    orders = range(1, ORDER + 1)
    return (
        _sacrebleu()
        .compute_bleu(
            correct=[sum(sample[f"matches_{n}"][i] for i in chosen) for n in orders],
            total=[sum(max(0, count - n + 1) for count in words) for n in orders],
            sys_len=sum(words),
            ref_len=sum(sample["reference_words"][i] for i in chosen),
            smooth_method="exp",
        )
        .score
    )


def signature(sample: Mapping[str, Any]) -> str:
    """Return sacrebleu's signature, such as nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.4.3."""
    return _signature(sample["lowercase"], sample["tokenisation"])


@cache
def _signature(lowercase: bool, tokenisation: str) -> str:
    # A signature has the number of references, which sacrebleu learns from a text.
    metric = _sacrebleu()(lowercase=lowercase, tokenize=tokenisation, smooth_method="exp", references=[["one"]])
    return str(metric.get_signature())


def _sacrebleu() -> type[Any]:
    from sacrebleu.metrics import BLEU

    return BLEU
