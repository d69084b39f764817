"""Turn a claim about means into contrasts: linear combinations of mean metrics, positive if the claim holds.

Perplexities are compared by their logarithms, since replicas vary in cross-entropy. A difference of logarithms is a
difference in per cent. A margin is part of the contrast: "at most 2 % higher" is log 1.02 + log higher - log lower > 0.
The error of the reference model is then part of the error of the contrast.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise, product

from reprise.config.claims import Claim, Comparison, Curve, Level, Margin, Mean, Side
from reprise.config.claims import Term as ConfiguredTerm
from reprise.evidence.runs import Quantity
from reprise.evidence.statistics import compute_curvature_weights, compute_slope_weights
from reprise.sums import add_in_order
from reprise.units import is_ratio_scale


@dataclass(frozen=True)
class Term:
    """One metric of one experiment on one split."""

    experiment: str
    quantity: Quantity


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of mean metrics plus an offset, positive if the hypothesis is true.

    `log`: whether it takes the logarithms of the metrics, as of perplexities.
    """

    weights: tuple[tuple[float, Term], ...]
    offset: float = 0.0
    log: bool = False

    def group_by_experiment(self) -> dict[str, list[tuple[float, Quantity]]]:
        """Return the weighted quantities of each experiment; none for an experiment whose terms cancel."""
        parts: dict[str, list[tuple[float, Quantity]]] = {}
        for term, weight in self.merge_terms().items():
            part = parts.setdefault(term.experiment, [])
            if weight:
                part.append((weight, term.quantity))
        return parts

    def merge_terms(self) -> dict[Term, float]:
        """Return the total weight of each term: a term in both differences of a gap has one random error, not two."""
        weights: dict[Term, float] = {}
        for weight, term in self.weights:
            weights[term] = weights.get(term, 0.0) + weight
        return weights

    def evaluate(self, values: Iterable[float]) -> float:
        """Return the value of the contrast for one number per term, in the order of the weights."""
        numbers = [math.log(v) for v in values] if self.log else values
        return (
            add_in_order(weight * value for (weight, _), value in zip(self.weights, numbers, strict=True)) + self.offset
        )


@dataclass(frozen=True)
class Hypothesis:
    """One comparison of a claim: the effect that readers see, and the tests that decide it, with their margins.

    `label`: what is compared, where the terms do not say it shortly.
    """

    effect: Contrast
    tests: tuple[Contrast, ...]
    label: str = ""


def list_hypotheses(claim: Claim) -> list[Hypothesis]:
    """Return the comparisons of a claim about means. The claim holds if all of them do."""
    if claim.gaps:
        return [
            replace(
                _make_hypothesis(_subtract(_make_difference(a, claim), _make_difference(b, claim))),
                label=f"gain of {a.name}, minus gain of {b.name}",
            )
            for a, b in pairwise(claim.gaps)
        ]
    if claim.compare:
        stated = claim.compare if isinstance(claim.compare, list) else [claim.compare]
        return [_state_comparison(comparison, claim) for comparison in stated]
    if claim.order:
        steps = [entry if isinstance(entry, list) else [entry] for entry in claim.order]
        pairs = [(a, b) for low, high in pairwise(steps) for a, b in product(low, high)]
        return [_state_comparison(Comparison(lower=a, higher=b), claim) for a, b in pairs]
    if claim.equal:
        return [_state_equivalence(a, b, claim) for a, b in claim.equal]
    if claim.trend:
        return _state_trend(claim)
    if claim.curve:
        return [_state_curvature(curve, claim) for curve in claim.curve]
    if claim.level:
        return [
            held
            for name in claim.level.experiments
            for held in _state_level(_list_weighted_terms(name, claim)[0][1], claim.level)
        ]
    return []


def list_terms(claim: Claim) -> list[Term]:
    """Return every experiment of the claim's statistic, with the metric and split that it compares."""
    return [term for _, side in claim.list_sides() for _, term in _list_weighted_terms(side, claim)]


def _state_level(term: Term, level: Level) -> list[Hypothesis]:
    """Compare a metric with a lower and an upper bound; a count equals its number within less than a half."""
    if level.equals is not None:
        effect, negated = Contrast(((1.0, term),), -level.equals), Contrast(((-1.0, term),), level.equals)
        return [Hypothesis(effect, tuple(replace(one, offset=one.offset + 0.5) for one in (effect, negated)))]
    bounds = [(sign, bound) for sign, bound in ((1.0, level.at_least), (-1.0, level.at_most)) if bound is not None]
    return [_make_hypothesis(Contrast(((sign, term),), -sign * bound)) for sign, bound in bounds]


def _make_hypothesis(contrast: Contrast) -> Hypothesis:
    return Hypothesis(contrast, (contrast,))


def _list_weighted_terms(side: Side, claim: Claim) -> list[tuple[float, Term]]:
    """Return the weighted terms of one side: one experiment, or the mean of several."""
    sides = side.mean if isinstance(side, Mean) else [side]
    terms = [one if isinstance(one, ConfiguredTerm) else ConfiguredTerm(experiment=one) for one in sides]
    return [(1 / len(terms), Term(t.experiment, (t.metric or claim.metric, t.split or claim.split))) for t in terms]


def _make_contrast(weights: Iterable[tuple[float, Term]], claim: Claim) -> Contrast:
    terms = tuple(weights)
    absolute = claim.margin is not None and claim.margin.measure == "absolute"
    return Contrast(terms, log=not absolute and all(is_ratio_scale(term.quantity[0]) for _, term in terms))


def _make_difference(comparison: Comparison, claim: Claim) -> Contrast:
    higher, lower = _list_weighted_terms(comparison.higher, claim), _list_weighted_terms(comparison.lower, claim)
    return _make_contrast([*higher, *((-weight, term) for weight, term in lower)], claim)


def _subtract(one: Contrast, other: Contrast) -> Contrast:
    return replace(one, weights=(*one.weights, *((-weight, term) for weight, term in other.weights)))


def _state_comparison(comparison: Comparison, claim: Claim) -> Hypothesis:
    """Compare higher - lower with 0, or with the margin of a non-inferiority or superiority test."""
    effect, margin = _make_difference(comparison, claim), claim.margin
    if margin is None:
        return _make_hypothesis(effect)
    if margin.measure == "share-of-gain":
        # (over - lower) - share * (over - higher) > 0
        ((_, over),) = _list_weighted_terms(margin.over, claim)
        scaled = tuple((weight if weight < 0 else margin.value * weight, term) for weight, term in effect.weights)
        return Hypothesis(effect, (replace(effect, weights=(*scaled, (1 - margin.value, over))),))
    return Hypothesis(effect, (_add_margin(effect, effect, -1 if claim.kind == "superiority" else 1, margin),))


def _state_equivalence(one: Side, other: Side, claim: Claim) -> Hypothesis:
    """Test equivalence by two one-sided tests, above minus the margin and below the margin (Schuirmann 1987)."""
    effect = _make_difference(Comparison(lower=one, higher=other), claim)
    ways = effect, _subtract(Contrast((), log=effect.log), effect)
    return Hypothesis(effect, tuple(_add_margin(way, effect, 1, claim.margin) for way in ways))


def _add_margin(way: Contrast, effect: Contrast, sign: int, margin: Margin) -> Contrast:
    """Add the margin to `way` (`sign` 1) or subtract it.

    A relative margin is a share of the higher side; of logarithms a factor of 1 + margin.
    """
    if margin.measure == "absolute":
        return replace(way, offset=sign * margin.value)
    if effect.log:
        return replace(way, offset=math.log1p(sign * margin.value))
    share = tuple((sign * margin.value * weight, term) for weight, term in effect.weights if weight > 0)
    return replace(way, weights=way.weights + share)


def _state_curvature(curve: Curve, claim: Claim) -> Hypothesis:
    """Test that the quadratic coefficient over log x is above 0: the metric bends upward."""
    terms = [_list_weighted_terms(side, claim)[0][1] for side in curve.experiments]
    weights = compute_curvature_weights([math.log(value) for value in curve.x])
    return _make_hypothesis(_make_contrast(zip(weights, terms, strict=True), claim))


def _state_trend(claim: Claim) -> list[Hypothesis]:
    """Test that the slope over log x is negative and that the last experiment lies below the first."""
    experiments, x = claim.trend.experiments, [math.log(value) for value in claim.trend.x]
    terms = [_list_weighted_terms(name, claim)[0][1] for name in experiments]
    slope = _make_contrast([(-w, term) for w, term in zip(compute_slope_weights(x), terms, strict=True)], claim)
    ends = _make_difference(Comparison(lower=experiments[-1], higher=experiments[0]), claim)
    return [_make_hypothesis(slope), _make_hypothesis(ends)]
