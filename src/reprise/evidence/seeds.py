"""The variances of experiments whose replicas are seeds: independent samples, moderated by their families.

The variance of an experiment is moderated by that of its family (`reprise.evidence.moderated`). An experiment with one
replica takes the family's variance. Two experiments with one replica each cannot be tested.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from reprise.evidence.contrasts import Contrast
from reprise.evidence.moderated import Prior, fit_prior
from reprise.evidence.runs import Quantity, Runs, Table
from reprise.evidence.statistics import Estimate, VarianceEstimate, combine_variances, estimate_variance


@dataclass(frozen=True)
class SeedVariance:
    """The variance of one replica of an experiment.

    Attributes:
        family: What the experiments with this prior have in common: their family and their terms.
        square: The factor of the variance in the contrast.
        prior: The prior of the family; None without one, and where families moderate none.
        variance: The moderated variance of the terms; None where it is unknown.
    """

    family: Hashable
    square: float
    prior: Prior | None
    variance: VarianceEstimate | None


def estimate_seed_variances(
    contrast: Contrast, table: Table, samples: Mapping[str, Mapping[int | str, float]]
) -> dict[str, SeedVariance]:
    """Estimate the variance of every experiment of a contrast; a count has none, since no replica could differ.

    `samples`: of each experiment the weighted sum of its terms, by replica.
    """
    variances = {}
    for name, terms in contrast.group_by_experiment().items():
        runs = table.runs[name]
        if not terms or runs.is_exact(quantity for _, quantity in terms):
            continue
        # Weights are divided by a common scale, so that one prior serves all members of a family.
        scale = terms[0][0]
        scaled_terms = tuple((weight / scale, quantity) for weight, quantity in terms)
        prior = _fit_family_prior(table, runs, scaled_terms, contrast.log) if table.lends_sds else None
        own = estimate_variance([value / scale for value in samples[name].values() if math.isfinite(value)])
        variance = prior.moderate(own) if prior else own
        variances[name] = SeedVariance((runs.family, scaled_terms), scale**2, prior, variance)
    return variances


def _fit_family_prior(table: Table, runs: Runs, terms: tuple[tuple[float, Quantity], ...], log: bool) -> Prior | None:
    """Fit the prior of an experiment's family for a weighted sum of metrics, or of their logarithms."""

    def fit() -> Prior | None:
        samples = (member.combine(terms, log) for member in table.list_members({runs.family} - {None}))
        # A replica whose perplexity is infinite has no variance, and its family keeps that of the others.
        variances = (estimate_variance(list(filter(math.isfinite, sample.values()))) for sample in samples)
        return fit_prior(tuple(variance for variance in variances if variance))

    return table.compute_once((runs.family, terms, log), fit)


def combine_seed_variances(value: float, variances: Mapping[str, SeedVariance], counts: Mapping[str, int]) -> Estimate:
    """Return the estimate of a contrast over independent samples, of which each has so many replicas.

    Members of a family share its prior. So their degrees of freedom add up to at most those of all its replicas.
    """
    sources = []
    for family in dict.fromkeys(one.family for one in variances.values()):
        members = {name: one for name, one in variances.items() if one.family == family}
        first = next(iter(members.values()))
        together = combine_variances(0.0, [(one.square / counts[name], one.variance) for name, one in members.items()])
        largest_df = max(first.prior.pooled_df, first.variance.df) if first.prior else math.inf
        sources.append((1.0, VarianceEstimate(together.error**2, min(together.df, largest_df))))
    return combine_variances(value, sources) if sources else Estimate(value, 0.0, 1)
