"""From a claim to what is computed: linear combinations of mean metrics, each of which is positive if the claim holds.

A margin is part of the combination: "at most 2 % higher" is 1.02 * mean(higher) - mean(lower) > 0. That the reference
is itself an estimate is thereby accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, product

from reprise.config.claims import Claim, Comparison, Level, Margin, Side
from reprise.config.claims import Term as ConfiguredTerm
from reprise.evidence.runs import Quantity


@dataclass(frozen=True)
class Term:
    """A metric of an experiment, of one split."""

    experiment: str
    quantity: Quantity


@dataclass(frozen=True)
class Contrast:
    """Sum of weight * mean over terms, plus an offset; positive if what it stands for is true."""

    weights: tuple[tuple[float, Term], ...]
    offset: float = 0.0

    def over_experiments(self) -> dict[str, list[tuple[float, Quantity]]]:
        """The part that each experiment has in it; an empty one of those whose terms cancel."""
        found: dict[str, list[tuple[float, Quantity]]] = {}
        for term, weight in self.merged().items():
            part = found.setdefault(term.experiment, [])
            if weight:
                part.append((weight, term.quantity))
        return found

    def merged(self) -> dict[Term, float]:
        """The weight of each term, 2 of one that stands in both differences of a gap: it varies once, by twice that."""
        found: dict[Term, float] = {}
        for weight, term in self.weights:
            found[term] = found.get(term, 0.0) + weight
        return found


@dataclass(frozen=True)
class Statement:
    """One part of a claim: the plain difference that people read, and the tests that decide it, margins included."""

    plain: Contrast
    tests: tuple[Contrast, ...]
    margin: Margin | None = None


def statements(claim: Claim) -> list[Statement]:
    """The parts of a claim about means, all of which have to hold."""
    margin = claim.margin
    if claim.gaps:
        plains = (_minus(_difference(a, claim), _difference(b, claim)) for a, b in pairwise(claim.gaps))
        return [Statement(plain, (plain,)) for plain in plains]
    if claim.compare:
        sign = 1 if claim.kind == "non-inferiority" else -1
        return [_compared(_difference(c, claim), sign, margin) for c in claim.comparisons]
    if claim.order:
        steps = [entry if isinstance(entry, list) else [entry] for entry in claim.order]
        pairs = [(a, b) for low, high in pairwise(steps) for a, b in product(low, high)]
        found = [_compared(_difference(Comparison(lower=a, higher=b), claim), 1, margin) for a, b in pairs]
        if margin and len(steps) > 2:
            ends = (Comparison(lower=a, higher=b) for a, b in product(steps[0], steps[-1]))
            found += [_compared(_difference(end, claim), 1, None) for end in ends]
        return found
    if claim.equal:
        return [_equal(a, b, claim) for a, b in claim.equal]
    if claim.level:
        return [held for name in claim.level.experiments for held in _held(_term(name, claim), claim.level)]
    return []


def terms_of(claim: Claim) -> list[Term]:
    """Every experiment that the statistic names, with the metric and split that are asked of it."""
    return [_term(side, claim) for _, side in claim.sides()]


def _held(term: Term, level: Level) -> list[Statement]:
    """The metric above or below a bound, or within two; a whole number is less than a half from its own, either way."""
    if level.equals is not None:
        plain, turned = Contrast(((1.0, term),), -level.equals), Contrast(((-1.0, term),), level.equals)
        return [Statement(plain, tuple(replace(one, offset=one.offset + 0.5) for one in (plain, turned)))]
    bounds = [(sign, bound) for sign, bound in ((1.0, level.at_least), (-1.0, level.at_most)) if bound is not None]
    plains = [Contrast(((sign, term),), -sign * bound) for sign, bound in bounds]
    return [Statement(plain, (plain,)) for plain in plains]


def _term(side: Side, claim: Claim) -> Term:
    given = side if isinstance(side, ConfiguredTerm) else ConfiguredTerm(experiment=side)
    return Term(given.experiment, (given.metric or claim.metric, given.split or claim.split))


def _difference(comparison: Comparison, claim: Claim) -> Contrast:
    return Contrast(((1.0, _term(comparison.higher, claim)), (-1.0, _term(comparison.lower, claim))))


def _minus(one: Contrast, other: Contrast) -> Contrast:
    return Contrast((*one.weights, *((-weight, term) for weight, term in other.weights)))


def _compared(plain: Contrast, sign: int, margin: Margin | None) -> Statement:
    """higher - lower with the margin on the claim's side (+1: still allowed) or against it (-1: at least so much)."""
    if margin is None:
        return Statement(plain, (plain,))
    return Statement(plain, (_with_margin(plain, sign, margin),), margin)


def _equal(one: Side, other: Side, claim: Claim) -> Statement:
    """Two one-sided tests: the difference is above minus the margin, and below it (Schuirmann 1987)."""
    plain = Contrast(((1.0, _term(other, claim)), (-1.0, _term(one, claim))))
    turned = Contrast(tuple((-weight, term) for weight, term in plain.weights))
    margin = claim.margin
    if margin.measure == "absolute":
        tests = tuple(replace(contrast, offset=margin.value) for contrast in (plain, turned))
    else:
        (_, reference), (_, compared) = plain.weights
        tests = (
            Contrast(((1.0 + margin.value, reference), (-1.0, compared))),
            Contrast(((margin.value - 1.0, reference), (1.0, compared))),
        )
    return Statement(plain, tests, margin)


def _with_margin(plain: Contrast, sign: int, margin: Margin) -> Contrast:
    if margin.measure == "absolute":
        return replace(plain, offset=sign * margin.value)
    (_, higher), lower = plain.weights
    return Contrast(((1.0 + sign * margin.value, higher), lower))
