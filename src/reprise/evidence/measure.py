"""Contrasts estimated from run records: folds paired, seeds as independent samples, one or two replicas and few folds
with a borrowed deviation that is shown as such.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from reprise.evidence.contrasts import Contrast, Statement
from reprise.evidence.fold_spread import lent
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.statistics import Estimate, Spread, combine, over_folds, pooled, spread


@dataclass(frozen=True)
class Measured:
    """A contrast, estimated.

    `counts` are the finished replicas behind each experiment, `borrowed` those whose deviation is another's, and
    `lenders` whose: the family's, or (under an alternative) that of the assumptions as chosen. `variances` (of one
    replica of each experiment, squared weights included) and `ratio` (of folds) say how many replicas would do.
    `unknown` are the experiments of which no deviation is known, where that leaves the estimate without an error.
    """

    estimate: Estimate
    counts: dict[str, int]
    borrowed: tuple[str, ...] = ()
    variances: tuple[float, ...] = ()
    ratio: float = 0.0
    method: str = "seeds"
    lenders: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


_ENOUGH = 2
"""Degrees of freedom, of three replicas, from which on an experiment's own deviation is taken."""

FAMILY, CHOICE = "pooled over the family", "as under the assumptions as chosen"
"""Lenders of a deviation, in words."""


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


def compare(statement: Statement, runs: Mapping[str, Runs], everyone: Mapping[str, Runs]) -> Compared | None:
    """The statement over `runs`; None where an experiment has no number for it.

    `everyone` holds all experiments and variants by their own names, `runs` the same under an alternative, if any.
    """

    def measured(contrast: Contrast) -> Measured | None:
        chosen = None if runs is everyone else everyone
        return measure(contrast, runs, everyone.values(), chosen)

    plain = measured(statement.plain)
    if plain is None:
        return None
    numbers = [_values(runs[term.experiment], [(1.0, term.quantity)]) for _, term in statement.plain.weights]
    if plain.method == "folds":
        numbers = [{fold: found[fold] for fold in _common(numbers)} for found in numbers]
    terms = [(runs[term.experiment], term.quantity) for _, term in statement.plain.weights]
    paper = _combined(statement.plain, [of.reported(quantity) for of, quantity in terms])
    paper_here = _combined(statement.plain, [of.reported_in_our_unit(quantity) for of, quantity in terms])
    means = tuple(_mean(found.values()) for found in numbers)
    return Compared(statement, plain, means, tuple(measured(test) for test in statement.tests), paper, paper_here)


def _combined(contrast: Contrast, values: Collection[float | None]) -> float | None:
    if None in values:
        return None
    return sum(weight * value for (weight, _), value in zip(contrast.weights, values, strict=True)) + contrast.offset


def measure(
    contrast: Contrast,
    runs: Mapping[str, Runs],
    everyone: Collection[Runs],
    chosen: Mapping[str, Runs] | None = None,
) -> Measured | None:
    """The contrast over the finished replicas; None where an experiment has no replica with all of its metrics.

    `chosen` are, where `runs` are under an alternative, those under the assumptions as chosen.

    What is exact has no error. Folds are paired where all experiments have them. Otherwise experiments are independent
    samples, and one with a single replica takes over the variance of its family (`family_of`), pooled over its
    members among `everyone`; so do then all of that family, of which the variance is taken to be one. So does one
    with two, where the family knows more than they do: with the single degree of freedom of two in the place of the
    family's many, a second replica would weaken a claim. Under an alternative it takes that of the same experiment as
    chosen, if that has more: were it the family's, which may be far smaller, a verdict would change for another reason
    than the alternative.

    A perplexity's deviation is lent as a share of it. Replicas differ in their cross-entropy, of which the perplexity
    is the exponential: it differs by so many per cent, be it 12 or 120.

    Of folds there are up to three estimates of the variance: their own, that of the same contrast as chosen (measured
    on more), and that of the family's folds (`fold_spread`). The one with most degrees of freedom is taken, the first
    of equals, as a two-way analysis of variance takes its pooled residual: were it for a lone fold alone, a second one
    would put the single degree of freedom of two folds in the place of the family's many, and weaken a claim.
    """
    parts = contrast.over_experiments()
    samples = {name: _values(runs[name], terms) for name, terms in parts.items()}
    if not all(samples.values()):
        return None
    if all(runs[name].counted(quantity for _, quantity in terms) for name, terms in parts.items()):
        value = sum(next(iter(sample.values())) for sample in samples.values()) + contrast.offset
        return Measured(Estimate(value, 0.0, 1), dict.fromkeys(samples, 1), method="exact")
    if all(runs[name].by_fold for name in parts):
        base = measure(contrast, chosen, everyone) if chosen is not None else None
        return _over_folds(contrast, runs, samples, everyone, base)
    return _over_seeds(contrast, runs, parts, samples, everyone, chosen or {})


def _values(runs: Runs, terms: list[tuple[float, Quantity]]) -> dict[int | str, float]:
    """The combination of an experiment's metrics, by replica (by fold where there are folds)."""
    return {
        r.number if r.fold is None else r.fold: sum(weight * r.metrics[quantity] for weight, quantity in terms)
        for r in runs.finished
        if all(quantity in r.metrics for _, quantity in terms)
    }


def _common(samples: list[dict]) -> list:
    """The folds that all have."""
    return [fold for fold in samples[0] if all(fold in sample for sample in samples)]


def _over_folds(
    contrast: Contrast, runs: Mapping[str, Runs], samples: dict, everyone: Collection[Runs], base: Measured | None
) -> Measured | None:
    common = _common(list(samples.values()))
    if not common:
        return None
    values = [sum(sample[fold] for sample in samples.values()) + contrast.offset for fold in common]
    lenders: list[tuple[Spread | None, str]] = [(spread(values), "")]
    if base is not None and base.method == "folds" and base.variances and not base.borrowed:
        lenders.append((Spread(base.variances[0], base.estimate.freedom), CHOICE))
    lenders.append((lent(contrast, common, runs, everyone), FAMILY))
    found, lender = max(lenders, key=lambda entry: entry[0].freedom if entry[0] else 0)
    ratio = max(runs[name].fold_ratio for name in samples)
    counts = dict.fromkeys(samples, len(common))
    mean = float(np.mean(values))
    if found is None:
        return Measured(Estimate(mean), counts, ratio=ratio, method="folds")
    estimate = over_folds(mean, len(common), ratio, found)
    borrowed = tuple(samples) if lender else ()
    return Measured(estimate, counts, borrowed, (found.variance,), ratio, "folds", (lender,) if lender else ())


def _over_seeds(
    contrast: Contrast,
    runs: Mapping[str, Runs],
    parts: dict,
    samples: dict,
    everyone: Collection[Runs],
    chosen: Mapping[str, Runs],
) -> Measured:
    value = sum(_mean(sample.values()) for sample in samples.values()) + contrast.offset
    counts = {name: len(sample) for name, sample in samples.items()}
    spreads = {name: spread(list(sample.values())) for name, sample in samples.items()}
    of_choice = set()
    for name in parts.keys() & chosen.keys():
        as_chosen = list(_values(chosen[name], parts[name]).values())
        found = spread(as_chosen)
        if found and _in_proportion(_shape(parts[name])[1]):
            found = replace(found, variance=found.variance * (_mean(samples[name].values()) / _mean(as_chosen)) ** 2)
        if _freedom(spreads[name]) < _ENOUGH and _freedom(found) > _freedom(spreads[name]):
            spreads[name] = found
            of_choice.add(name)
    keys = {name: (runs[name].family, _shape(terms)[1]) for name, terms in parts.items()}
    few = [name for name in parts if _freedom(spreads[name]) < _ENOUGH]
    families = {key: _family(everyone, *key) for key in {keys[name] for name in few}}
    # Those of which the family knows more; without any spread of its own an experiment needs it in any case.
    lent_to = {keys[n] for n in few if spreads[n] is None or _freedom(families[keys[n]]) > _freedom(spreads[n])}
    own: list[tuple[float, Spread]] = []
    shared: dict[tuple, float] = {}
    variances, borrowed = [], []
    lenders: dict[str, None] = {}
    for name, terms in parts.items():
        (scale, shape), key = _shape(terms), keys[name]
        if _in_proportion(shape):
            scale = _mean(samples[name].values())
        if key in lent_to:
            found = families[key]
            if found is None:
                unknown = tuple(one for one in parts if keys[one] in lent_to and families[keys[one]] is None)
                return Measured(Estimate(value), counts, unknown=unknown)
            shared[key] = shared.get(key, 0.0) + scale**2 / counts[name]
            variances.append(scale**2 * found.variance)
            borrowed.append(name)
            lenders[FAMILY] = None
        else:
            own.append((1 / counts[name], spreads[name]))
            variances.append(spreads[name].variance)
            if name in of_choice:
                borrowed.append(name)
                lenders[CHOICE] = None
    pools = [(factor, families[key]) for key, factor in shared.items()]
    return Measured(combine(value, own + pools), counts, tuple(borrowed), tuple(variances), lenders=tuple(lenders))


def _freedom(known: Spread | None) -> float:
    return known.freedom if known else 0.0


def _shape(terms: list[tuple[float, Quantity]]) -> tuple[float, tuple[tuple[float, Quantity], ...]]:
    """Weights up to a common scale, so that one pooled variance serves all that differ by it alone."""
    scale = terms[0][0]
    return scale, tuple((weight / scale, quantity) for weight, quantity in terms)


def _in_proportion(shape: tuple) -> bool:
    """Whether a deviation is lent as a share of the number: of a perplexity by itself."""
    ((_, (metric, _)), *more) = shape
    return metric == "perplexity" and not more


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _family(everyone: Collection[Runs], family: tuple[str, ...] | None, shape: tuple) -> Spread | None:
    """The variance of one replica of a family, of those in proportion that of a replica over the mean."""
    members = (runs for runs in everyone if family is not None and runs.family == family)
    samples = [list(_values(member, list(shape)).values()) for member in members]
    if _in_proportion(shape):
        samples = [[value / _mean(sample) for value in sample] for sample in samples]
    return pooled(samples)
