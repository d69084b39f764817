"""BLEU, by sacrebleu, of the translations that a record holds: made where records are collected and judged.

Training needs no sacrebleu for it: it leaves the counts (`reprise.evaluation.bleu_counts`). The metric's unit is
sacrebleu's signature, which says how it was counted and by which version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from reprise.errors import report_packages
from reprise.evaluation.bleu_counts import ORDER

KIND = "translations"


def _translations(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [s for s in record["samples"] if s.get("kind") == KIND] if record["status"] == "finished" else []


def bleu_rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A metric `bleu` for each text of translations in a run record; n counts its sentences."""
    for found in _translations(record):
        row = {"split": found["split"], "metric": "bleu", "value": bleu(found), "n": len(found["texts"])}
        yield row | {"unit": f"BLEU|{signature(found)}"}


def different_translations(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """How many different translations are written, as a share of the sentences: who reads the source writes many.

    One that does not writes the same few sentences, whatever it is to translate.
    """
    for found in _translations(record):
        n, different = len(found["texts"]), len(set(found["texts"]))
        row = {"split": found["split"], "metric": "different_translations", "value": different / n}
        yield row | {"unit": "share", "n": n}


def bleu(sample: Mapping[str, Any], sentences: Sequence[int] | None = None) -> float:
    """The score, 0 to 100, of all sentences or of those with these numbers; smoothed as sacrebleu does by default."""
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
    """nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:..."""
    return _signature(sample["lowercase"], sample["tokenisation"])


@cache
def _signature(lowercase: bool, tokenisation: str) -> str:
    # A signature has the number of references, which sacrebleu learns from a text.
    metric = _sacrebleu()(lowercase=lowercase, tokenize=tokenisation, smooth_method="exp", references=[["one"]])
    return str(metric.get_signature())


def _sacrebleu() -> type[Any]:
    with report_packages("BLEU"):
        from sacrebleu.metrics import BLEU
    return BLEU
