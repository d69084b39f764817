"""Every number of a run record: those that training left and those that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprise.evaluation.units import derived
from reprise.evidence.bleu import bleu_rows


def numbers_of(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of split, metric, value, unit and n: each metric, what is derived from it, and in the end BLEU."""
    for metric in record["metrics"]:
        yield metric
        yield from derived(metric, record["metrics"])
    yield from bleu_rows(record)
