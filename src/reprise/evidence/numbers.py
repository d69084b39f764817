"""Every number of a run record: those that training left and those that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprise.evidence.bleu import bleu_rows
from reprise.evidence.letters import letter_rows
from reprise.units import derived


def numbers_of(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of split, metric, value, unit and n: each metric, what follows from it, losses of letters, and BLEU."""
    for metric in record["metrics"]:
        yield metric
        yield from derived(metric, record["metrics"])
    yield from letter_rows(record)
    yield from bleu_rows(record)
