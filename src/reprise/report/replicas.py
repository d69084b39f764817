"""The numbers of all finished replicas of a paper, sorted once for all tables: by metric, by family, by fold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from reprise.config.resolved import Resolved
from reprise.evidence.runs import family_of

TASK = (("data", "length"), ("data", "tokens"), ("training", "steps"))
"""Settings whose other values are other tasks, or a training of another length."""


class Replicas:
    """Replicas of experiments and variants by their names, as `Context.values` gives them one by one."""

    def __init__(self, metrics: pd.DataFrame, experiments: Sequence[Resolved]) -> None:
        """`metrics`: a paper's rows of metrics.csv."""
        self._metrics, self._experiments = metrics, experiments

    @cached_property
    def numbers(self) -> dict[tuple[str, str], dict[str, np.ndarray]]:
        """By metric and split, and then by name, the numbers of finished replicas in their order."""
        rows = self._metrics[self._metrics.status == "finished"].sort_values("replica", kind="stable")
        found: dict[tuple[str, str], dict[str, np.ndarray]] = {}
        for (metric, split, base, variant), of in rows.groupby(
            ["metric", "split", "experiment", "variant"], sort=False
        ):
            name = f"{base}@{variant}" if variant else base
            found.setdefault((metric, split), {})[name] = of.value.to_numpy(dtype=float)
        return found

    @cached_property
    def folded(self) -> set[str]:
        """Names of what has folds for replicas."""
        rows = self._metrics.loc[self._metrics.fold != "", ["experiment", "variant"]].drop_duplicates()
        return {f"{base}@{variant}" if variant else base for base, variant in rows.itertuples(index=False)}

    @cached_property
    def _families(self) -> dict[str, tuple]:
        return {e.experiment: _family(e) for e in self._experiments if family_of(e)}

    def family(self, name: str) -> list[str]:
        """The names of what is taken to vary alike from replica to replica, itself too; none of a check."""
        own = self._families.get(name)
        return [member for member, family in self._families.items() if own and family == own]


def _family(experiment: Resolved) -> tuple:
    options = (experiment.config[section].get("options", {}).get(key) for section, key in TASK)
    return (*family_of(experiment), *map(str, options))
