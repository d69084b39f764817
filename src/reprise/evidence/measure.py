"""Contrasts estimated from run records: folds paired, seeds as independent samples with moderated variances."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from reprise.evidence.contrasts import Contrast, Statement
from reprise.evidence.runs import Runs
from reprise.evidence.spreads import family_prior, of_folds
from reprise.evidence.statistics import Estimate, Spread, combine, mean, over_folds, spread


@dataclass(frozen=True)
class Measured:
    """A contrast, estimated.

    `counts` are the finished replicas behind each experiment, `borrowed` those whose deviation is their family's alone.
    `variances` (of one replica of each experiment, squared weights included) and `ratio` (of folds) say how many
    replicas would do. `unknown` are the experiments of which no deviation is known, where that leaves the estimate
    without an error. `doubt` is the p value of Bartlett's test of a family's folds.
    """

    estimate: Estimate
    counts: dict[str, int]
    borrowed: tuple[str, ...] = ()
    variances: tuple[float, ...] = ()
    ratio: float = 0.0
    method: str = "seeds"
    unknown: tuple[str, ...] = ()
    doubt: float | None = None


@dataclass(frozen=True)
class Compared:
    """A statement, measured: the plain difference, the mean of each of its terms, the tests, the paper's difference.

    `paper` is as printed; `paper_here` in our unit and on our scale, None where the paper's cannot be turned into it,
    and `paper_tests` what the tests would be at the paper's own numbers.
    """

    statement: Statement
    plain: Measured
    means: tuple[float, ...]
    tests: tuple[Measured, ...]
    paper: float | None = None
    paper_here: float | None = None
    paper_tests: tuple[float | None, ...] = ()

    @property
    def test(self) -> Measured:
        """The test that decides: of two one-sided ones the harder."""
        return max(self.tests, key=lambda test: (test.estimate.p_above(), -test.estimate.value))


def compare(statement: Statement, runs: Mapping[str, Runs], everyone: Collection[Runs]) -> Compared | None:
    """The statement over `runs`; None where an experiment has no number for it.

    `everyone` are all experiments and variants, `runs` those under one reading by the names of the experiments.
    """
    plain = measure(statement.plain, runs, everyone)
    tests = tuple(measure(test, runs, everyone) for test in statement.tests)
    if plain is None or None in tests:
        return None
    terms = [term for _, term in statement.plain.weights]
    numbers = [runs[term.experiment].combined([(1.0, term.quantity)]) for term in terms]
    if plain.method == "folds":
        numbers = [{fold: found[fold] for fold in _common(numbers)} for found in numbers]
    plainly, (printed, here) = statement.plain, (_papers(statement.plain, runs, here) for here in (False, True))
    return Compared(
        statement,
        plain,
        tuple(mean(found.values()) for found in numbers),
        tests,
        None if printed is None else replace(plainly, log=False).of(printed),
        None if here is None else plainly.of(here),
        tuple(None if (of := _papers(test, runs, here=True)) is None else test.of(of) for test in statement.tests),
    )


def _papers(contrast: Contrast, runs: Mapping[str, Runs], here: bool) -> list[float] | None:
    """The paper's number of every term, as printed or in our unit; None where one is missing, or has no logarithm."""
    terms = [(runs[term.experiment], term.quantity) for _, term in contrast.weights]
    found = [of.reported_in_our_unit(quantity) if here else of.reported(quantity) for of, quantity in terms]
    usable = None not in found and not (contrast.log and min(found) <= 0)
    return found if usable else None


def measure(contrast: Contrast, runs: Mapping[str, Runs], everyone: Collection[Runs]) -> Measured | None:
    """The contrast over the finished replicas; None where an experiment has no replica with all of its metrics.

    What is exact has no error. Folds are paired where all experiments have them; of their own variance and that of the
    family's folds the one with most degrees of freedom is taken, as a two-way analysis of variance takes its pooled
    residual. Otherwise experiments are independent samples, each with its moderated variance.
    """
    parts = contrast.over_experiments()
    samples = {name: runs[name].combined(terms, contrast.log) for name, terms in parts.items()}
    if not all(samples.values()):
        return None
    if all(runs[name].counted(quantity for _, quantity in terms) for name, terms in parts.items()):
        value = sum(next(iter(sample.values())) for sample in samples.values()) + contrast.offset
        return Measured(Estimate(value, 0.0, 1), dict.fromkeys(samples, 1), method="exact")
    if all(runs[name].by_fold for name in parts):
        return _over_folds(contrast, runs, samples, everyone)
    return _over_seeds(contrast, runs, samples, everyone)


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
    counts, ratio = dict.fromkeys(samples, len(common)), max(runs[name].fold_ratio for name in samples)
    given = Measured(Estimate(mean(values)), counts, ratio=ratio, method="folds")
    family, doubt = of_folds(contrast, common, runs, everyone) or (None, None)
    own = spread(values)
    if own is None and family is None:
        return replace(given, unknown=tuple(samples))
    lent = own is None or (family is not None and family.freedom > own.freedom)
    found = family if lent else own
    estimate = over_folds(mean(values), len(common), ratio, found)
    given = replace(given, estimate=estimate, variances=(found.variance,))
    return replace(given, borrowed=tuple(samples), doubt=doubt) if lent else given


def _over_seeds(
    contrast: Contrast, runs: Mapping[str, Runs], samples: dict[str, dict], everyone: Collection[Runs]
) -> Measured:
    value = sum(mean(sample.values()) for sample in samples.values()) + contrast.offset
    counts = {name: len(sample) for name, sample in samples.items()}
    known, priors = {}, {}
    for name, terms in contrast.over_experiments().items():
        # What is counted has no second replica that could differ.
        if not terms or runs[name].counted(quantity for _, quantity in terms):
            continue
        # Weights up to a common scale: one prior serves all members of a family whose parts differ by it alone.
        scale = terms[0][0]
        key = runs[name].family, tuple((weight / scale, quantity) for weight, quantity in terms)
        if key not in priors:
            priors[key] = family_prior(*key, contrast.log, everyone)
        own = spread([x / scale for x in samples[name].values()])
        known[name] = key, scale**2, priors[key].moderate(own) if priors[key] else own
    if unknown := tuple(name for name, (*_, found) in known.items() if found is None):
        return Measured(Estimate(value), counts, unknown=unknown)
    # Members of a family share its prior: together they know no more than all of its replicas.
    sources = []
    for key, prior in priors.items():
        members = [(square / counts[name], found) for name, (of, square, found) in known.items() if of == key]
        together, most = combine(0.0, members), prior.pooled if prior else math.inf
        sources.append((1.0, Spread(together.error**2, min(together.freedom, max(most, members[0][1].freedom)))))
    return Measured(
        combine(value, sources) if sources else Estimate(value, 0.0, 1),
        counts,
        borrowed=tuple(name for name in known if counts[name] == 1),
        variances=tuple(square * found.variance for _, square, found in known.values()),
    )
