"""The rules that give a claim its answer, and its effect a size.

Answer. A claim *agrees* where each of its comparisons is established by a one-sided test at 2.5 % (so that a
two-sided 95 % interval excludes the opposite), of an equivalence by two tests at 5 % each. All of them have to hold, so
that each is tested at the full level (intersection-union). It *disagrees* where the opposite of one comparison is
established in the same way, Holm-corrected for their number. Anything else is *undecided*. It is *not judged*
where the side that ought to be better did not learn its task, by the rule that the claim states, and nothing refutes
it. Where the other side did not learn, that is the effect. A comparison within one model that did not learn says
nothing; the others of its claim are judged without it.

A replica that diverged, or finished without the metric, has no number. What is left is no fair sample, so that such a
claim is at best undecided; a rank test, and a share of replicas, count it as what it was.

Size. Of a difference for which the paper gives numbers: *consistent* where our 95 % interval has a number that may have
been rounded to the paper's, else *smaller*, *larger*, or *opposite* where the interval excludes none as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from reprise.evidence.decisions import AnswerName, Evidence, Ratio, SizeName

ANSWERS = get_args(AnswerName)
AGREES, DISAGREES, UNDECIDED, NOT_JUDGED, NOT_RUN, NO_DATA, NOT_TESTED = ANSWERS
JUDGED = frozenset({AGREES, DISAGREES, UNDECIDED, NOT_JUDGED})

CONSISTENT, SMALLER, LARGER, OPPOSITE = get_args(SizeName)

TRAINED, COUNTED, EQUATION, ARITHMETIC = get_args(Evidence)

TAIL = 0.025
EQUIVALENCE_TAIL = 0.05
LEVEL = 0.95


@dataclass(frozen=True)
class Part:
    """One comparison of a claim, ready to be judged.

    `toward`: how far the estimate lies on the claim's side, margin included. `p_for` and `p_against`: one-sided p
    values of the comparison's opposite, and of the comparison itself. `learned`: whether the side that ought to be
    better did.
    """

    toward: float
    p_for: float
    p_against: float
    learned: bool = True


def tail_of(kind: str) -> float:
    """Return the one-sided level of the tests that decide a kind of claim."""
    return EQUIVALENCE_TAIL if kind == "equivalence" else TAIL


def direction(parts: Sequence[Part], tail: float = TAIL, lost: bool = False) -> str:
    """Return the direction of a claim all of whose parts have to hold; `lost`: a comparison lost replicas.

    That all hold is as sure as the weakest part (Berger, Technometrics 24, 1982); that one does not, is the first
    step of Holm (1979): the surest, at the level divided by their number. Without any part there is nothing to judge.
    """
    if parts and len(parts) * min(part.p_against for part in parts) <= tail:
        return UNDECIDED if lost else DISAGREES
    if not parts or not all(part.learned for part in parts):
        return NOT_JUDGED
    if max(part.p_for for part in parts) <= tail:
        return UNDECIDED if lost else AGREES
    return UNDECIDED


Range = tuple[float, float]


def size(interval: Range | None, paper: float | None, band: Range | None = None) -> str | None:
    """Our effect's size, by its 95 % interval, beside the paper's; None where either is missing, or the paper's 0.

    `band`: what the paper's may be, by its rounding.
    """
    if interval is None or not paper:
        return None
    (low, high), (least, most) = interval, band or (paper, paper)
    if paper < 0:
        low, high, least, most = -high, -low, -most, -least
    if low <= most and least <= high:
        return CONSISTENT
    if high < 0:
        return OPPOSITE
    return SMALLER if high < least else LARGER


def ratio(estimate: float, interval: Range | None, paper: float | None, band: Range | None = None) -> Ratio | None:
    """Our effect over the paper's, with the interval of ours; None where the paper gives none.

    `band` as of `size`; where it has 0 in it, the ratio may be anything.
    """
    if not paper:
        return None
    low, high = sorted(bound / paper for bound in interval) if interval else (None, None)
    rounding = None if band is None or band[0] <= 0 <= band[1] else tuple(sorted(estimate / end for end in band))
    return Ratio(value=estimate / paper, low=low, high=high, rounding=rounding)
