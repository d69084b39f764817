"""Losses by how often words stand in the training text, as evaluation records have them: means over replicas."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from reprise.evidence.runs import Runs
from reprise.evidence.statistics import compute_mean, estimate_variance
from reprise.records.evaluation import SIDES, SINGLE_BANDS, name_loss_metric


def list_losses_by_count(experiments: Sequence[Runs], split: str) -> Iterator[dict[str, Any]]:
    """Yield a row a side and band of counts that has a word.

    Each holds `side`, `band` and `words`, the number of these in the split. After the name of every experiment it holds
    ".mean", ".std" (None of one replica) and ".n" of its evaluations.
    """
    for side, band in product(SIDES, SINGLE_BANDS):
        quantity = name_loss_metric(side, band), split
        having = {runs.name: [r for r in runs.evaluations if quantity in r.metrics] for runs in experiments}
        words = [r.sizes[quantity] for replicas in having.values() for r in replicas]
        if not words:
            continue
        row: dict[str, Any] = {"side": side, "band": band, "words": max(words)}
        for name, replicas in having.items():
            values = [r.metrics[quantity] for r in replicas]
            varied = estimate_variance(values)
            row[f"{name}.mean"] = compute_mean(values) if values else None
            row |= {f"{name}.std": varied.deviation if varied else None, f"{name}.n": len(values)}
        yield row
