"""The run records of a tier as claims read them: the numbers of every replica of every experiment."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.schema import Experiment
from reprise.data.text.character_lines import VALIDATION_DIVISOR
from reprise.evidence.statistics import compute_mean
from reprise.records.resolved import Resolved
from reprise.sums import add_in_order
from reprise.units import convert_entropy, is_ratio_scale

T = TypeVar("T")
Quantity = tuple[str, str]
"""A metric and its split."""

_TASK = (("data", "length"), ("data", "tokens"), ("training", "steps"))
"""Settings whose other values are other tasks, or a training of another length.

`tokens`: document 000 calls its characters and bigrams two tasks (sections 4.2, 5). How far a model's folds differ was
seen to differ between them.
"""


def trains(resolved: Resolved) -> bool:
    """Return whether running it trains a model: a check computes errors, facts of a corpus are counted."""
    return not resolved.is_check and PROTOCOLS[resolved.config["training"]["protocol"]].trains


@dataclass(frozen=True)
class Curve:
    """The points of one metric of one split along an axis."""

    metric: str
    split: str
    axis: str
    unit: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Provenance:
    """How a run record was made: what is no part of its result."""

    engine: str = "reference"
    device: str = "cpu"
    seconds: float = 0.0
    parameters: int | None = None
    code: Mapping[str, Any] | None = None
    """Which packages made it, and their digest; None where the record does not say."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The files of a user's own model with their SHA-256, by their path from the project folder."""


@dataclass(frozen=True)
class Replica:
    """What one run record says.

    Attributes:
        finished: Whether training ended and, for claims, every number is finite. An infinite perplexity is judged as a
            divergence is.
        ended: Whether training ended, with whatever numbers.
        metrics: The numbers.
        units: Their units.
        sizes: How many things each is a mean over.
        best: The highest point of every curve, which diverged replicas have too.
        rise: By how much its validation loss, in nats, later lay above its lowest; None of one without that curve.
    """

    number: int
    fold: int | str | None
    finished: bool
    metrics: dict[Quantity, float]
    units: dict[Quantity, str] = field(default_factory=dict)
    sizes: dict[Quantity, int | None] = field(default_factory=dict)
    best: dict[Quantity, float] = field(default_factory=dict)
    rise: float | None = None
    made: Provenance = Provenance()
    curves: Sequence[Curve] = ()
    samples: Sequence[Mapping[str, Any]] = ()
    ended: bool = True

    def get_number(self, quantity: Quantity, log: bool) -> float:
        """Return a metric or its logarithm."""
        value = self.metrics[quantity]
        return math.log(value) if log else value

    def get_value(self, quantity: Quantity, unit: str | None = None) -> float:
        """Return its number, of an entropy perhaps in another unit.

        Raises:
            ValueError: That takes the number of characters, which the record does not count.
        """
        if unit is None:
            return self.metrics[quantity]
        characters = self.metrics.get(("predicted_characters", quantity[1]))
        return convert_entropy(self.metrics[quantity], self.units[quantity], unit, self.sizes.get(quantity), characters)


@dataclass(frozen=True)
class Runs:
    """An experiment or variant in one tier, and the replicas of it that are there.

    Attributes:
        resolved: Its configuration; None of what the tier does not run.
        entry: The experiment in the paper's file, whose variant it may be.
        unavailable: Why its data cannot be had, "" where they can.
        digits: The place of the last digit that the paper prints, 0.01 of 1.23, by quantity.
        evaluations: The replicas whose kept weights were measured again, with those numbers.
        evaluated: Whether evaluations stand in the place of `replicas`.
    """

    name: str
    title: str
    resolved: Resolved | None
    entry: Experiment
    replicas: list[Replica] = field(default_factory=list)
    unavailable: str = ""
    digits: Mapping[Quantity, float] = field(default_factory=dict)
    evaluations: list[Replica] = field(default_factory=list)
    evaluated: bool = False

    def replace_by_evaluations(self) -> Runs:
        """Return the experiment with its evaluations in the place of its records; diverged replicas stay lost."""
        lost = [replica for replica in self.replicas if not replica.ended] if self.evaluations else []
        return replace(self, replicas=[*self.evaluations, *lost], evaluated=True)

    @property
    def finished(self) -> list[Replica]:
        """Return the replicas that have numbers."""
        return [r for r in self.replicas if r.finished]

    @property
    def diverged(self) -> int:
        """Count the replicas without numbers."""
        return len(self.replicas) - len(self.finished)

    @cached_property
    def family(self) -> tuple[str, ...] | None:
        """Return its family by model, dataset, task and reading ("" is as chosen); its replicas vary alike.

        Return None for a check, and for what the tier does not run.
        """
        if self.resolved is None or self.resolved.is_check:
            return None
        config = self.resolved.config
        task = (config.get(section, {}).get("options", {}).get(setting) for section, setting in _TASK)
        return config["model"]["name"], config["data"]["dataset"], *map(str, task), self.name.partition("@")[2]

    def is_exact(self, quantities: Iterable[Quantity]) -> bool:
        """Return whether no chance is in these numbers: those of a check, or counted on a whole text or on a split."""
        if self.resolved is None or self.resolved.is_check:
            return self.resolved is not None
        protocol = PROTOCOLS[self.resolved.config["training"]["protocol"]]
        if self.resolved.replicas == 1 and not (protocol.trains and protocol.chance):
            return True
        return all(split in protocol.counted for _, split in quantities)

    def combine(self, terms: Collection[tuple[float, Quantity]], log: bool = False) -> dict[int | str, float]:
        """Return the weighted sum of metrics by replica (by fold where there are folds), of the finished ones with all.

        `log`: of their logarithms.
        """
        return {
            r.number if r.fold is None else r.fold: add_in_order(
                w * r.get_number(quantity, log) for w, quantity in terms
            )
            for r in self.finished
            if all(quantity in r.metrics for _, quantity in terms)
        }

    def compute_mean(self, quantity: Quantity, unit: str | None = None) -> float | None:
        """Return the mean over finished replicas, perhaps in another unit; None where none has the quantity."""
        values = [r.get_value(quantity, unit) for r in self.finished if quantity in r.metrics]
        return compute_mean(values, is_ratio_scale(quantity[0])) if values else None

    @property
    def learns(self) -> bool:
        """Return whether it is a model that is trained, at any tier."""
        return self.entry.check is None and PROTOCOLS[self.entry.training.protocol].trains

    @property
    def by_fold(self) -> bool:
        """Return whether replicas are folds, not seeds."""
        return bool(self.finished) and all(r.fold is not None for r in self.finished)

    @property
    def fold_ratio(self) -> float:
        """Return n_test / n_train: one of K folds is tested on, and one in VALIDATION_DIVISOR of the others validates.

        Of five folds, 0.2 / 0.72 = 0.278.
        """
        folds = int(self.resolved.config["data"]["options"].get("folds", self.resolved.replicas))
        return 1 / ((folds - 1) * (1 - 1 / VALIDATION_DIVISOR))

    @property
    def replaced_dataset(self) -> str | None:
        """Return the dataset of this tier if it is not the paper's; else None."""
        if self.family is None or self.entry.data is None or self.family[1] == self.entry.data.dataset:
            return None
        return self.family[1]

    def get_reported(self, quantity: Quantity) -> float | None:
        """Return what the paper gives for it; None where it gives nothing, or for another dataset."""
        return None if self.replaced_dataset else self.get_printed(quantity)

    def get_printed(self, quantity: Quantity) -> float | None:
        """Return what the paper gives for it, whatever its dataset; None where it gives nothing."""
        return self.entry.get_printed(*quantity)

    def get_reported_in_our_unit(self, quantity: Quantity) -> float | None:
        """Return the same as an entropy in the unit of ours; None where there is nothing to turn it by."""
        value = self.get_reported(quantity)
        return None if value is None else self._convert_to_our_unit(value, quantity)

    def get_reported_band(self, quantity: Quantity) -> tuple[float, float] | None:
        """Return the numbers that round to the paper's, in our unit; None as of `get_reported_in_our_unit`."""
        value, half = self.get_reported(quantity), self.digits.get(quantity, 0.0) / 2
        ends = (
            [] if value is None else [self._convert_to_our_unit(end, quantity) for end in (value - half, value + half)]
        )
        return None if not ends or None in ends else tuple(ends)

    def _convert_to_our_unit(self, value: float, quantity: Quantity) -> float | None:
        stated, unit = self.get_reported_unit(quantity), self.get_unit(quantity)
        if stated in {None, unit}:
            return value
        counts = ((r.sizes.get(quantity), r.metrics.get(("predicted_characters", quantity[1]))) for r in self.finished)
        try:
            return convert_entropy(value, stated, unit, *next(counts, (None, None)))
        except ValueError:
            return None

    def get_unit(self, quantity: Quantity) -> str | None:
        """Return the unit of our number for it; None where there is no number."""
        return next((r.units[quantity] for r in self.finished if quantity in r.units), None)

    def get_reported_unit(self, quantity: Quantity) -> str | None:
        """Return the unit that the paper states for its number, where the configuration names it."""
        reported = self.entry.find_reported(*quantity)
        return reported.unit if reported else None


@dataclass(frozen=True)
class Table:
    """The runs that a claim is judged by, under one reading, by the names of the experiments.

    Attributes:
        runs: Experiments and variants; under the reading of a variant it stands under its experiment's name too.
        all_runs: All experiments and variants, by which families are estimated; where none are given, `runs` are all.
        covered: Whether the part of a claim that is about these experiments is judged, which not all are under an
            alternative.
        lends_sds: Whether families lend their experiments an SD.
    """

    runs: Mapping[str, Runs]
    all_runs: Collection[Runs] = ()
    covered: Callable[[set[str]], bool] = lambda names: True
    lends_sds: bool = True
    family_cache: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was computed of families, by what it is: one for all readings, since `all_runs` is the same for them."""

    def replace_by_variants(self, variants: Mapping[str, Runs]) -> Table:
        """Return the table with variants in the place of experiments."""
        return replace(self, runs={**self.runs, **variants}, all_runs=self.all_runs or list(self.runs.values()))

    def replace_by_evaluations(self) -> Table:
        """Return the same experiments as their evaluations measured them."""
        return Table({name: runs.replace_by_evaluations() for name, runs in self.runs.items()})

    def list_members(self, families: Set[tuple[str, ...] | None]) -> list[Runs]:
        """List all experiments and variants of these families."""
        all_runs = self.all_runs or self.runs.values()
        return self.compute_once(frozenset(families), lambda: [runs for runs in all_runs if runs.family in families])

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what is known of families by its key, computed at the first call."""
        if key not in self.family_cache:
            self.family_cache[key] = compute()
        return self.family_cache[key]
