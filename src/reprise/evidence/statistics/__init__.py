"""The statistics that verdicts rest on: pure functions of numbers, one statistic a file."""

from reprise.evidence.statistics.bartlett import bartlett
from reprise.evidence.statistics.estimate import Estimate, Spread, alike, combine, mean, pooled, spread
from reprise.evidence.statistics.folds import over_folds, residuals
from reprise.evidence.statistics.moderated import Prior, prior
from reprise.evidence.statistics.power import replicas_needed
from reprise.evidence.statistics.proportions import binomial, clopper_pearson
from reprise.evidence.statistics.ranks import ranks_above
from reprise.evidence.statistics.several import all_hold, holm
from reprise.evidence.statistics.trend import slope_weights

__all__ = [
    "Estimate",
    "Prior",
    "Spread",
    "alike",
    "all_hold",
    "bartlett",
    "binomial",
    "clopper_pearson",
    "combine",
    "holm",
    "mean",
    "over_folds",
    "pooled",
    "prior",
    "ranks_above",
    "replicas_needed",
    "residuals",
    "slope_weights",
    "spread",
]
