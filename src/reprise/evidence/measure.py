"""Contrasts estimated from run records: folds paired, seeds as independent samples, one or two replicas and few folds
with a borrowed deviation that is shown as such.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace

from reprise.evidence.contrasts import Contrast, Statement
from reprise.evidence.fold_spread import lent
from reprise.evidence.runs import Runs
from reprise.evidence.seed_spread import ENOUGH, FAMILY, Known, deviations
from reprise.evidence.statistics import Estimate, Spread, combine, mean, over_folds, spread


@dataclass(frozen=True)
class Measured:
    """A contrast, estimated.

    `counts` are the finished replicas behind each experiment, `borrowed` those whose deviation is another's, and
    `lenders` whose. `variances` (of one
    replica of each experiment, squared weights included) and `ratio` (of folds) say how many replicas would do.
    `unknown` are the experiments of which no deviation is known, where that leaves the estimate without an error.
    `own` is, of three folds or more that borrow all the same, the estimate by their own deviation alone.
    """

    estimate: Estimate
    counts: dict[str, int]
    borrowed: tuple[str, ...] = ()
    variances: tuple[float, ...] = ()
    ratio: float = 0.0
    method: str = "seeds"
    lenders: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    own: Estimate | None = None


@dataclass(frozen=True)
class Compared:
    """A statement, measured: the plain difference, the mean of each of its terms, the tests, the paper's difference.

    `paper` is as printed; `paper_here` in our unit, None where the paper's cannot be turned into it.
    """

    statement: Statement
    plain: Measured
    means: tuple[float, ...]
    tests: tuple[Measured, ...]
    paper: float | None
    paper_here: float | None = None

    @property
    def test(self) -> Measured:
        """The test that decides: of two one-sided ones the harder."""
        return max(self.tests, key=lambda test: (test.estimate.p_above(), -test.estimate.value))

    @property
    def by_own_folds(self) -> Compared | None:
        """The same by the deviation of its own folds alone; None where that is too little known, or taken anyway."""
        if any(measured.own is None for measured in (self.plain, *self.tests)):
            return None
        plain, *tests = (replace(measured, estimate=measured.own) for measured in (self.plain, *self.tests))
        return replace(self, plain=plain, tests=tuple(tests))


def compare(statement: Statement, runs: Mapping[str, Runs], everyone: Mapping[str, Runs]) -> Compared | None:
    """The statement over `runs`; None where an experiment has no number for it.

    `everyone` holds all experiments and variants by their own names, `runs` the same under an alternative, if any.
    """
    plain = measure(statement.plain, runs, everyone.values())
    if plain is None:
        return None
    numbers = [runs[term.experiment].combined([(1.0, term.quantity)]) for _, term in statement.plain.weights]
    if plain.method == "folds":
        numbers = [{fold: found[fold] for fold in _common(numbers)} for found in numbers]
    terms = [(runs[term.experiment], term.quantity) for _, term in statement.plain.weights]
    paper = _combined(statement.plain, [of.reported(quantity) for of, quantity in terms])
    paper_here = _combined(statement.plain, [of.reported_in_our_unit(quantity) for of, quantity in terms])
    means = tuple(mean(found.values()) for found in numbers)
    tests = tuple(measure(test, runs, everyone.values()) for test in statement.tests)
    return Compared(statement, plain, means, tests, paper, paper_here)


def _combined(contrast: Contrast, values: Collection[float | None]) -> float | None:
    if None in values:
        return None
    return sum(weight * value for (weight, _), value in zip(contrast.weights, values, strict=True)) + contrast.offset


def measure(contrast: Contrast, runs: Mapping[str, Runs], everyone: Collection[Runs]) -> Measured | None:
    """The contrast over the finished replicas; None where an experiment has no replica with all of its metrics.

    What is exact has no error. Folds are paired where all experiments have them. Otherwise experiments are independent
    samples, of which those with one or two replicas borrow a deviation (`seed_spread`).

    Of folds there are up to two estimates of the variance: their own, and that of the family's folds
    (`fold_spread`). The one with most degrees of freedom is taken, the first of equals, as a two-way analysis of
    variance takes its pooled residual: were it for a lone fold alone, a second one would put the single degree of
    freedom of two folds in the place of the family's many, and weaken a claim.
    """
    parts = contrast.over_experiments()
    samples = {name: runs[name].combined(terms) for name, terms in parts.items()}
    if not all(samples.values()):
        return None
    if all(runs[name].counted(quantity for _, quantity in terms) for name, terms in parts.items()):
        value = sum(next(iter(sample.values())) for sample in samples.values()) + contrast.offset
        return Measured(Estimate(value, 0.0, 1), dict.fromkeys(samples, 1), method="exact")
    if all(runs[name].by_fold for name in parts):
        return _over_folds(contrast, runs, samples, everyone)
    value = sum(mean(sample.values()) for sample in samples.values()) + contrast.offset
    counts = {name: len(sample) for name, sample in samples.items()}
    known = deviations({name: part for name, part in parts.items() if part}, runs, everyone)
    unknown = tuple(name for name, one in known.items() if one.spread is None)
    return Measured(Estimate(value), counts, unknown=unknown) if unknown else _over_seeds(value, counts, known)


def _common(samples: list[dict]) -> list:
    """The folds that all have."""
    return [fold for fold in samples[0] if all(fold in sample for sample in samples)]


def _over_folds(
    contrast: Contrast, runs: Mapping[str, Runs], samples: dict, everyone: Collection[Runs]
) -> Measured | None:
    common = _common(list(samples.values()))
    if not common:
        return None
    values = [sum(sample[fold] for sample in samples.values()) + contrast.offset for fold in common]
    alone = spread(values)
    lenders: list[tuple[Spread | None, str]] = [(alone, "")]
    lenders.append((lent(contrast, common, runs, everyone), FAMILY))
    found, lender = max(lenders, key=lambda entry: entry[0].freedom if entry[0] else 0)
    ratio = max(runs[name].fold_ratio for name in samples)
    counts = dict.fromkeys(samples, len(common))
    value = mean(values)
    if found is None:
        return Measured(Estimate(value), counts, ratio=ratio, method="folds")
    estimate = over_folds(value, len(common), ratio, found)
    if not lender:
        return Measured(estimate, counts, (), (found.variance,), ratio, "folds")
    own = over_folds(value, len(common), ratio, alone) if alone and alone.freedom >= ENOUGH else None
    return Measured(estimate, counts, tuple(samples), (found.variance,), ratio, "folds", (lender,), own=own)


def _over_seeds(value: float, counts: dict[str, int], known: Mapping[str, Known]) -> Measured:
    """Each estimate of a variance counts once, however many experiments share it."""
    spreads = {one.source: one.spread for one in known.values()}
    factors: dict[Hashable, float] = {}
    for name, one in known.items():
        factors[one.source] = factors.get(one.source, 0.0) + one.scale**2 / counts[name]
    estimate = combine(value, [(factor, spreads[source]) for source, factor in factors.items()])
    lent_to = tuple(name for name, one in known.items() if one.lender)
    lenders = tuple(dict.fromkeys(known[name].lender for name in lent_to))
    return Measured(estimate, counts, lent_to, tuple(one.variance for one in known.values()), lenders=lenders)
