"""Scores of the translations that run records hold.

BLEU is sacrebleu's. Training needs no sacrebleu for it: it leaves the counts (`reprise.evaluation.bleu_counts`). The
metric's unit is sacrebleu's signature, which says how it was counted and by which version.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from reprise.evaluation.bleu_counts import MAX_ORDER

TRANSLATIONS = "translations"
"""The kind of sample that a score is made of."""


def _list_translations(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [s for s in record["samples"] if s.get("kind") == TRANSLATIONS] if record["status"] == "finished" else []


def list_bleu_rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a metric `bleu` for each text of translations in a run record; n counts its sentences."""
    for sample in _list_translations(record):
        row = {"split": sample["split"], "metric": "bleu", "value": compute_bleu(sample), "n": len(sample["texts"])}
        yield row | {"unit": f"BLEU|{make_signature(sample)}"}


def list_different_translations(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield how many different translations are written, as a share of the sentences.

    A model that reads the source writes many; one that does not writes the same few, whatever it is to translate.
    """
    for sample in _list_translations(record):
        n, different = len(sample["texts"]), len(set(sample["texts"]))
        row = {"split": sample["split"], "metric": "different_translations", "value": different / n}
        yield row | {"unit": "share", "n": n}


def compute_bleu(sample: Mapping[str, Any], sentences: Sequence[int] | None = None) -> float:
    """Return the score, 0 to 100, of all sentences or of those with these numbers, smoothed by sacrebleu's default.

    It is rounded to nine decimals, because sacrebleu adds with Python's `sum` (see `reprise.sums`).
    """
    chosen = range(len(sample["texts"])) if sentences is None else sentences
    words = [sample["hypothesis_words"][i] for i in chosen]
    orders = range(1, MAX_ORDER + 1)
    score = _import_metric().compute_bleu(
        correct=[sum(sample[f"matches_{n}"][i] for i in chosen) for n in orders],
        total=[sum(max(0, count - n + 1) for count in words) for n in orders],
        sys_len=sum(words),
        ref_len=sum(sample["reference_words"][i] for i in chosen),
        smooth_method="exp",
    )
    return round(score.score, 9)


def make_signature(sample: Mapping[str, Any]) -> str:
    """Return sacrebleu's signature, such as nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.4.3."""
    return _make_signature(sample["lowercase"], sample["tokenisation"])


@cache
def _make_signature(lowercase: bool, tokenisation: str) -> str:
    # A signature has the number of references, which sacrebleu learns from a text.
    metric = _import_metric()(lowercase=lowercase, tokenize=tokenisation, smooth_method="exp", references=[["one"]])
    return str(metric.get_signature())


def _import_metric() -> type[Any]:
    """Import sacrebleu, which not every command needs."""
    from sacrebleu.metrics import BLEU

    return BLEU
