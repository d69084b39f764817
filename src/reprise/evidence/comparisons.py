"""Claims about means: superiority, non-inferiority, equivalence, orderings, gaps and levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reprise.config.claims import Claim
from reprise.evidence.contrasts import Statement, statements
from reprise.evidence.measure import Compared, compare
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.sentences import diverged, label, lacking, level_of, said
from reprise.evidence.statistics import replicas_needed
from reprise.evidence.verdicts import (
    INCONCLUSIVE,
    NEGLIGIBLE,
    NOT,
    Covered,
    Decision,
    Part,
    established,
    everything,
    judge,
    refuted,
    sunk,
    tail_of,
    to_decide,
)
from reprise.evidence.wording import listed, number

_MOST = 1000
_METHODS = {
    "seeds": "independent replicas, degrees of freedom after Welch and Satterthwaite",
    "folds": "paired by fold, variance after Nadeau and Bengio with n_test / n_train = {ratio}",
    "exact": "counted, without chance",
}


def decide(
    claim: Claim,
    runs: Mapping[str, Runs],
    everyone: Mapping[str, Runs],
    covered: Covered = everything,
    tail: float | None = None,
) -> Decision | None:
    """The decision on a claim about means.

    `everyone` holds all of the tier by their own names, `runs` the same under an alternative, if any; `covered` says
    which comparisons are looked at. None where it is none. `tail`, where it is not the claim's kind that gives it, is
    what comparisons are counted as established by, and what replicas are asked for; the verdict is at the kind's.
    """
    tail = tail or tail_of(claim.kind)
    stated = [s for s in statements(claim) if covered({term.experiment for _, term in s.plain.weights})]
    if not stated:
        return None
    parts = [compare(statement, runs, everyone) for statement in stated]
    names = dict.fromkeys(term.experiment for s in stated for _, term in s.plain.weights)
    said_of_lost = diverged([runs[name] for name in names if runs[name].diverged], "without a number")
    if None in parts:
        why = " and all that finished lack the metric" if not said_of_lost else ""
        return Decision(INCONCLUSIVE, f"There is nothing to compare{why}.{said_of_lost}")
    said_of_lost += lacking(_lacking(stated, runs))
    lost = bool(said_of_lost)
    judged = [_judgeable(part, claim.kind) for part in parts]
    verdict = judge(claim.kind, judged, lost)
    left = [part for part, holds in zip(parts, established(judged, tail), strict=True) if not holds]
    failing, why = _failing(parts, judged, claim.kind) if verdict == NOT else (None, "")
    sentence, needed = _summary(parts, left, failing, runs, claim.kind) + why + said_of_lost, None
    if verdict != NOT and left:
        needed = _needed(parts, left, tail)
        sentence += f" {_would_do(left, needed, runs)}"
    sentence += _alone(parts, claim.kind, verdict, lost)
    rows = [_row(part, runs, claim.kind) for part in parts]
    method = _METHODS[parts[0].plain.method].format(ratio=number(round(parts[0].plain.ratio, 3)))
    return Decision(verdict, sentence, method, rows, needed)


def _lacking(stated: Sequence[Statement], runs: Mapping[str, Runs]) -> list[tuple[Runs, int]]:
    """The experiments of which finished replicas lack a metric that is asked for, and how many do."""
    asked: dict[str, set[Quantity]] = {}
    for _, term in (weighted for statement in stated for weighted in statement.plain.weights):
        asked.setdefault(term.experiment, set()).add(term.quantity)
    found = [(runs[name], sum(not q <= r.metrics.keys() for r in runs[name].finished)) for name, q in asked.items()]
    return [(of, count) for of, count in found if count]


def _judgeable(part: Compared, kind: str) -> Part:
    against = [test.estimate.p_below() for test in part.tests]
    interval, margin = part.plain.estimate.interval(), part.statement.margin
    bounded = kind in {"superiority", "ordering"} and not margin and (part.paper_here or 0.0) > 0 and interval
    return Part(
        toward=part.test.estimate.value,
        error=part.test.estimate.error,
        p_for=part.test.estimate.p_above(),
        p_against=min(1.0, len(against) * min(against)),
        p_direction=part.plain.estimate.p_above() if kind == "superiority" and margin else None,
        negligible=bool(bounded and interval[1] < NEGLIGIBLE * part.paper_here),
    )


def _failing(parts: Sequence[Compared], judged: Sequence[Part], kind: str) -> tuple[Compared, str]:
    """The part on which a claim fails, and why, where that is not for being refuted but for having next to nothing."""
    if any(refuted(kind, judged)):
        return min(zip(judged, parts, strict=True), key=lambda pair: pair[0].p_against)[1], ""
    negligible = next(part for gone, part in zip(sunk(kind, judged), parts, strict=True) if gone)
    return negligible, " At 95 % that is less than a tenth of the paper's difference."


def _needed(parts: Sequence[Compared], left: Sequence[Compared], tail: float) -> int | None:
    """Replicas of each experiment that would decide a claim, if the true values are those found: see `to_decide`."""
    if not all(part.test.variances for part in left):
        return None

    def needed(part: Compared, tail: float) -> int | None:
        test = part.test
        # The opposite of a statement that takes two tests is found by either of them: half of the tail is each one's.
        shared = tail if test.estimate.value > 0 else tail / len(part.tests)
        return replicas_needed(test.estimate.value, test.variances, test.ratio, shared, most=_MOST)

    return to_decide(left, lambda part: part.test.estimate.value > 0, needed, tail, len(parts))


def _alone(parts: Sequence[Compared], kind: str, verdict: str, lost: bool) -> str:
    """What three folds or more would say by their own deviation, where the family's, known better, says otherwise."""
    owns = [part.by_own_folds for part in parts]
    if None in owns or (other := judge(kind, [_judgeable(part, kind) for part in owns], lost)) == verdict:
        return ""
    return f" By the deviation of its own folds alone: {other}."


def _would_do(left: Sequence[Compared], needed: int | None, runs: Mapping[str, Runs]) -> str:
    folds = left[0].plain.method == "folds"
    if unknown := [part for part in left if not part.test.variances]:
        if folds:
            return "A second fold would show how far folds differ."
        counts = {name: count for part in unknown for name, count in part.plain.counts.items()}
        # One replica of an experiment whose family knows how far its replicas differ is no reason for another.
        lone = dict.fromkeys(name for part in unknown for name in part.test.unknown)
        which = "each" if len(lone) == len(counts) else listed([runs[name].title for name in lone])
        # Of one family, any that has a second lends what that shows to the others.
        if len(lone) > 1 and len(families := {runs[name].family for name in lone}) == 1 and None not in families:
            which = "either" if len(lone) == 2 else "any of them"
        return f"A second replica of {which} would show how far replicas differ."
    if needed is not None:
        found = "folds" if folds else "replicas of each"
        return f"About {needed} {found} would decide it if the true difference is the one found."
    return "More folds would not decide it." if folds else f"More than {_MOST:,} replicas of each would be needed."


def _summary(
    parts: Sequence[Compared],
    left: Sequence[Compared],
    failing: Compared | None,
    runs: Mapping[str, Runs],
    kind: str,
) -> str:
    """The part that says most, in words: the one on which the claim fails, if it does, or the least sure."""
    if len(parts) == 1:
        return said(parts[0], runs, kind)
    least = max(parts, key=lambda part: (part.test.estimate.p_above(), -part.test.estimate.value))
    word = "it fails on" if failing else "the least sure"
    against = sum(part.test.estimate.value < 0 and part.statement.margin is None for part in parts)
    head = f"{len(parts) - len(left)} of {len(parts)} comparisons are established"
    head += f", {against} {'lies' if against == 1 else 'lie'} on the other side" if against else ""
    head += f"; {word}: "
    return head + said(failing or least, runs, kind)


def _row(part: Compared, runs: Mapping[str, Runs], kind: str) -> dict[str, Any]:
    """A part in numbers. `estimate` is the plain difference, in the direction of the claim; `p` that of the test.

    `paper` is as printed, in `paper_unit`; `paper_here` the same in ours, None where it cannot be turned into that.
    """
    terms = part.statement.plain.weights
    return {
        "terms": [
            {"experiment": runs[term.experiment].name, "label": label(term, runs), "weight": weight, "mean": mean}
            for (weight, term), mean in zip(terms, part.means, strict=True)
        ],
        "estimate": part.plain.estimate.value,
        "error": part.plain.estimate.error,
        "interval": part.plain.estimate.interval(level_of(kind)),
        "level": level_of(kind),
        "p": part.test.estimate.p_above(),
        "n": {runs[name].name: count for name, count in part.plain.counts.items()},
        "borrowed": [runs[name].name for name in part.plain.borrowed],
        "unit": _unit(runs[term.experiment].unit(term.quantity) for _, term in terms),
        "paper": part.paper,
        "paper_unit": _unit(runs[term.experiment].reported_unit(term.quantity) for _, term in terms),
        "paper_here": part.paper_here,
    }


def _unit(units: Iterable[str | None]) -> str | None:
    """The unit that all terms have; of the paper's None is: that of ours."""
    found = set(units)
    return found.pop() if len(found) == 1 else None
