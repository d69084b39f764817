"""The rules for the answer to a claim and for the size of its effect.

Answer. A claim *agrees* if each of its comparisons is significant in a one-sided test at 2.5 %. An equivalence takes
two tests at 5 %. Since all have to hold, each is tested at the full level (intersection-union). A claim *disagrees* if
the opposite of one comparison is significant, with Holm's correction for their number. Otherwise it is *undecided*. The
claim's rule may say that the model that should be better did not learn its task. The claim is then *not judged*, unless
something refutes it. If the other model did not learn, that is the effect. A comparison within one model that did not
learn is left out.

A replica that diverged, or that lacks the metric, has no number. The other replicas are then a biased sample, so the
claim is at best undecided. Rank tests and shares of replicas count diverged replicas.

Size. An effect with numbers in the paper is *consistent* if our 95 % interval overlaps the range that rounds to the
paper's number. It is *opposite* if the interval lies on the other side of 0, else *smaller* or *larger*.
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
"""The level of a one-sided test."""
EQUIVALENCE_TAIL = 0.05
"""The level of each of the two one-sided tests of an equivalence."""
LEVEL = 0.95
"""The level of two-sided intervals."""


@dataclass(frozen=True)
class Part:
    """The test of one comparison.

    Attributes:
        signed_estimate: The estimate, margin included, positive on the side of the claim.
        p_value: The one-sided p value of the claim's side: small if the comparison holds.
        p_opposite: The one-sided p value of the opposite: small if the comparison fails.
        learned: Whether the model that should be better learned its task.
    """

    signed_estimate: float
    p_value: float
    p_opposite: float
    learned: bool = True


def choose_tail(kind: str) -> float:
    """Return the one-sided level of the tests that decide a kind of claim."""
    return EQUIVALENCE_TAIL if kind == "equivalence" else TAIL


def choose_answer(parts: Sequence[Part], tail: float = TAIL, lost: bool = False) -> str:
    """Return the answer to a claim whose comparisons all have to hold; `lost`: a comparison lost replicas.

    All hold if the largest p is below the level (Berger, Technometrics 24, 1982). One fails if the smallest p of the
    opposites is below the level divided by their number (Holm 1979, first step). No comparison: not judged.
    """
    if parts and len(parts) * min(part.p_opposite for part in parts) <= tail:
        return UNDECIDED if lost else DISAGREES
    if not parts or not all(part.learned for part in parts):
        return NOT_JUDGED
    if max(part.p_value for part in parts) <= tail:
        return UNDECIDED if lost else AGREES
    return UNDECIDED


Range = tuple[float, float]


def choose_size(interval: Range | None, paper: float | None, band: Range | None = None) -> str | None:
    """Return the size of our effect, by its 95 % interval; None where either is missing, or the paper's is 0.

    `band`: the range of the paper's effect by its rounding.
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


def compute_ratio(
    estimate: float, interval: Range | None, paper: float | None, band: Range | None = None
) -> Ratio | None:
    """Return our effect divided by the paper's, with the interval of ours; None where the paper gives none, or 0.

    `band` as of `choose_size`; where it includes 0, the rounding sets the ratio no bounds.
    """
    if not paper:
        return None
    low, high = sorted(bound / paper for bound in interval) if interval else (None, None)
    rounding = None if band is None or band[0] <= 0 <= band[1] else tuple(sorted(estimate / end for end in band))
    return Ratio(value=estimate / paper, low=low, high=high, rounding=rounding)
