"""Verdicts are numbers: the direction of a claim, the size of its effect, and the rules that give them.

Direction. A claim *agrees* where each of its comparisons is established by a one-sided test at 2.5 % (so that a
two-sided 95 % interval excludes the opposite), of an equivalence by two tests at 5 % each. All of them have to hold, so
that each is tested at the full level (intersection-union). It *disagrees* where the opposite of one comparison is
established in the same way, all of them tested together after Holm. Anything else is *open*. It is *void* where a model
that it compares did not learn its task, by the rule that the claim states, and nothing else refutes it.

A replica that diverged, or finished without the metric, has no number. What is left is no fair sample, so that such a
claim is at best open; a rank test, and a share of replicas, count it as what it was.

Size. Of a difference for which the paper gives numbers: *consistent* where the paper's lies in our 95 % interval, else
*smaller*, *larger*, or *opposite* where the interval excludes none as well.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

AGREES, DISAGREES, OPEN, VOID = "agrees", "disagrees", "open", "void"
NOT_RUN, NOT_AVAILABLE, NOT_TESTED = "not run", "data not available here", "not tested"
VERDICTS = (AGREES, DISAGREES, OPEN, VOID, NOT_RUN, NOT_AVAILABLE, NOT_TESTED)
JUDGED = frozenset({AGREES, DISAGREES, OPEN, VOID})

CONSISTENT, SMALLER, LARGER, OPPOSITE, MIXED = "consistent", "smaller", "larger", "opposite", "mixed"
SIZES = (CONSISTENT, SMALLER, LARGER, OPPOSITE)

TRAINED, COUNTED, EQUATION, ARITHMETIC = "trained", "counted", "equation", "arithmetic"
EVIDENCE = (TRAINED, COUNTED, EQUATION, ARITHMETIC)

TAIL = 0.025
EQUIVALENCE_TAIL = 0.05
LEVEL = 0.95


@dataclass(frozen=True)
class Part:
    """One comparison of a claim, ready to be judged.

    `toward`: how far the estimate lies on the claim's side, margin included. `p_for` and `p_against`: one-sided p
    values of the comparison's opposite, and of the comparison itself. `void`: one of its models did not learn.
    """

    toward: float
    p_for: float
    p_against: float
    void: bool = False


@dataclass(frozen=True)
class Decision:
    """What was found of a claim: its direction, the numbers of every comparison, and facts that belong beside them.

    `holds` says whether every comparison lies on the claim's side, whatever its error (None: nothing to compare).
    `replicas`: how many of each experiment would find the effect that the paper has; None where it gives none, or no
    deviation is known. `notes`: facts by name, which `words` turns into sentences.
    """

    verdict: str
    parts: list[dict[str, Any]] = field(default_factory=list)
    method: str | None = None
    holds: bool | None = None
    replicas: int | None = None
    notes: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def tail_of(kind: str) -> float:
    return EQUIVALENCE_TAIL if kind == "equivalence" else TAIL


def direction(parts: Sequence[Part], tail: float = TAIL, lost: bool = False) -> str:
    """The direction of a claim all of whose parts have to hold; `lost`: a comparison lost replicas.

    A void part establishes and refutes nothing. That all hold is as sure as the least sure part (Berger, Technometrics
    24, 1982); that one does not, is the first step of Holm (1979): the surest, at the level divided by their number.
    """
    sound = [part.p_against for part in parts if not part.void]
    if sound and len(sound) * min(sound) <= tail:
        return OPEN if lost else DISAGREES
    if len(sound) < len(parts):
        return VOID
    if max(part.p_for for part in parts) <= tail:
        return OPEN if lost else AGREES
    return OPEN


def size(interval: Sequence[float] | None, paper: float | None) -> str | None:
    """Our effect's size, by its 95 % interval, beside the paper's; None where either is missing, or the paper's 0."""
    if interval is None or not paper:
        return None
    low, high = interval if paper > 0 else (-interval[1], -interval[0])
    if low <= abs(paper) <= high:
        return CONSISTENT
    if high < 0:
        return OPPOSITE
    return SMALLER if high < abs(paper) else LARGER


def sizes(parts: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many parts have each size, of those that have one."""
    counts = Counter(part["size"] for part in parts if part.get("size"))
    return {name: counts[name] for name in SIZES if counts[name]}


def size_of(counts: Mapping[str, int]) -> str | None:
    """The size of a claim: that of all its parts, `MIXED` where they differ, None where none has one."""
    return (MIXED if len(counts) > 1 else next(iter(counts))) if counts else None


def ratio(estimate: float, interval: Sequence[float] | None, paper: float | None) -> dict[str, float | None] | None:
    """Our effect over the paper's, with the interval of ours; None where the paper gives none."""
    if not paper:
        return None
    low, high = sorted(bound / paper for bound in interval) if interval else (None, None)
    return {"value": estimate / paper, "low": low, "high": high}
