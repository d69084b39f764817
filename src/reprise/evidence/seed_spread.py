"""The deviation that one or two replicas borrow: how much one replica of their family differs from the next.

From three replicas on an experiment has a variance of its own. One with a single replica takes over that of its family
(`family_of`), pooled over the family's members; so do then all of that family, of which the variance is taken to be
one. So does one with two, where the family knows more than they do: with the single degree of freedom of two in the
place of the family's many, a second replica would weaken a claim.

Variants of one reading are a family of their own. Another choice may change how far replicas differ (under the schedule
as chosen two of three m-RNNs blow up, under the toolkit's none does), so readings never share a deviation.

That a family has one variance is an assumption. Bartlett's test looks at it, and where its p value is below `DOUBT` the
words for the lender say so. The verdict stays as it is, but its reader knows that it rests on a mean of variances.

A perplexity's deviation is lent as a share of it. Replicas differ in their cross-entropy, of which the perplexity is
the exponential: it differs by so many per cent, be it 12 or 120.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.statistics import Spread, bartlett, mean, pooled, spread

FAMILY = "pooled over the family"
"""The lender of a deviation, in words."""

ENOUGH = 2
"""Degrees of freedom, of three replicas, from which on an experiment's own deviation is taken."""

DOUBT = 0.05
"""p value of Bartlett's test below which a family's one variance is called in question."""

Terms = Sequence[tuple[float, Quantity]]
"""An experiment's part of a contrast: the weighted sum of some of its metrics."""


@dataclass(frozen=True)
class Known:
    """How much one replica's part of a contrast differs from the next: `spread`, in units of `scale`; None: unknown.

    Those of one `source` share one estimate. `lender` says whose it is, "" where it is the experiment's own.
    """

    source: Hashable
    spread: Spread | None
    scale: float = 1.0
    lender: str = ""

    @property
    def variance(self) -> float:
        return self.scale**2 * self.spread.variance


def deviations(parts: Mapping[str, Terms], runs: Mapping[str, Runs], everyone: Collection[Runs]) -> dict[str, Known]:
    """What is known of the deviation of every experiment of a contrast, `parts` by experiment.

    `everyone` are the members of families.
    """
    # What is counted has no second replica that could differ.
    counted = {name for name, terms in parts.items() if runs[name].counted(quantity for _, quantity in terms)}
    own = {name: Known(name, spread(list(runs[name].combined(terms).values()))) for name, terms in parts.items()}
    own |= {name: Known(name, Spread(0.0, 1)) for name in counted}
    keys = {name: (runs[name].family, _shape(terms)) for name, terms in parts.items() if name not in counted}
    few = [name for name in keys if _freedom(own[name].spread) < ENOUGH]
    samples = {key: _family(everyone, *key) for key in {keys[name] for name in few}}
    families = {key: pooled(found) for key, found in samples.items()}
    borrows = {
        keys[name]
        for name in few
        if own[name].spread is None or _freedom(families[keys[name]]) > _freedom(own[name].spread)
    }
    lent = {
        name: Known(key, families[key], _unit(parts[name], runs[name]), _lender(samples[key]))
        for name, key in keys.items()
        if key in borrows
    }
    return own | lent


def _family(everyone: Collection[Runs], family: tuple[str, ...] | None, shape: tuple) -> list[list[float]]:
    """The numbers of every member of a family, in its `_unit`."""
    members = (runs for runs in everyone if family is not None and runs.family == family)
    samples = [list(member.combined(shape).values()) for member in members]
    if _in_proportion(shape):
        samples = [[value / mean(sample) for value in sample] for sample in samples]
    return samples


def _lender(samples: Sequence[Sequence[float]]) -> str:
    """The family in words, with the p value of its members' one variance where that is in question."""
    p = bartlett(samples)
    if p is None or p >= DOUBT:
        return FAMILY
    said = f"= {p:.2g}" if p >= 0.001 else "< 0.001"
    return f"{FAMILY}, whose members' own differ (Bartlett's test: p {said})"


def _shape(terms: Terms) -> tuple[tuple[float, Quantity], ...]:
    """Weights up to a common scale, so that one pooled variance serves all that differ by it alone."""
    return tuple((weight / terms[0][0], quantity) for weight, quantity in terms)


def _unit(terms: Terms, runs: Runs) -> float:
    """What a deviation is lent in multiples of: the mean of what is lent as a share of it, else the common scale."""
    return mean(runs.combined(terms).values()) if _in_proportion(terms) else terms[0][0]


def _in_proportion(terms: Terms) -> bool:
    """Whether a deviation is lent as a share of the number: of a perplexity by itself."""
    ((_, (metric, _)), *more) = terms
    return metric == "perplexity" and not more


def _freedom(known: Spread | None) -> float:
    return known.freedom if known else 0.0
