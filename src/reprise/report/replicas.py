"""The numbers of all replicas of a paper, sorted once for all tables: by metric, and as claims read run records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from reprise.config.schema import Experiment
from reprise.evidence.runs import Quantity, Replica, Runs
from reprise.records.resolved import Resolved


class Replicas:
    """Replicas of experiments and variants by their names, as `Context.values` gives them one by one."""

    def __init__(
        self, metrics: pd.DataFrame, experiments: Sequence[Resolved], entries: Mapping[str, Experiment]
    ) -> None:
        """`metrics`: a paper's rows of metrics.csv; `entries`: its experiments as configured."""
        self._metrics, self._experiments, self._entries = metrics, experiments, entries

    @cached_property
    def numbers(self) -> dict[Quantity, dict[str, np.ndarray]]:
        """By metric and split, and then by name, the numbers of finished replicas in their order."""
        rows = self._metrics[self._metrics.status == "finished"].sort_values("replica", kind="stable")
        found: dict[Quantity, dict[str, np.ndarray]] = {}
        for (metric, split, base, variant), of in rows.groupby(
            ["metric", "split", "experiment", "variant"], sort=False
        ):
            name = f"{base}@{variant}" if variant else base
            found.setdefault((metric, split), {})[name] = of.value.to_numpy(dtype=float)
        return found

    @cached_property
    def runs(self) -> dict[str, Runs]:
        """Every experiment and variant of the tier with its finished replicas."""
        rows = self._metrics[self._metrics.status == "finished"]
        found: dict[str, list[Replica]] = {}
        for (base, variant, number, fold), of in rows.groupby(["experiment", "variant", "replica", "fold"], sort=True):
            name = f"{base}@{variant}" if variant else base
            metrics = dict(zip(zip(of.metric, of.split, strict=True), of.value.astype(float), strict=True))
            found.setdefault(name, []).append(Replica(int(number), fold or None, True, metrics))
        return {e.experiment: self._runs(e, found.get(e.experiment, [])) for e in self._experiments}

    def with_numbers(self, quantity: Quantity, numbers: Mapping[str, Sequence[float] | np.ndarray]) -> dict[str, Runs]:
        """Every experiment and variant with one number a seed, which no record has as such, under this name."""
        return {
            e.experiment: self._runs(
                e, [Replica(i, None, True, {quantity: float(v)}) for i, v in enumerate(numbers.get(e.experiment, ()))]
            )
            for e in self._experiments
        }

    def _runs(self, experiment: Resolved, replicas: list[Replica]) -> Runs:
        return Runs(experiment.experiment, "", experiment, self._entries[experiment.base], replicas)
