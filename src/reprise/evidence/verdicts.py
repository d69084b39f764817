"""Verdicts: what the parts of a claim say together. The rules, all of them.

A claim is *reproduced* where every part is established: its one-sided test, at 2.5 % (so that a two-sided 95 % interval
excludes the opposite), at 5 % for each of the two tests of an equivalence. Several parts are tested together after
Holm. It is *not reproduced* where the opposite of a part is established in the same way, or where of a difference that
is not established what is left is, at 95 %, less than a tenth of the paper's, read in the unit that it states. A
superiority with a margin whose difference is there but may be smaller is *direction only*; so is a superiority,
ordering or threshold all of whose parts lie on the claimed side by more than a standard error (by anything, where no
deviation is known). The rest is *inconclusive*.

A replica that diverged, or finished without the metric, has no number: comparisons rest on the others, and are then at
best *direction only* (of an equivalence or a non-inferiority, *inconclusive*), since what is left is no fair sample. In
a share it counts by what it reached before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reprise.evidence.statistics import holm

REPRODUCED = "reproduced"
DIRECTION = "direction only"
NOT = "not reproduced"
INCONCLUSIVE = "inconclusive"
CONTRADICTED = "contradicted by the paper itself"
NOT_RUN = "not run"
NOT_TESTED = "not tested"
VERDICTS = (REPRODUCED, DIRECTION, NOT, INCONCLUSIVE, CONTRADICTED, NOT_RUN, NOT_TESTED)

TAIL = 0.025
EQUIVALENCE_TAIL = 0.05
NEGLIGIBLE = 0.1
"""The share of the paper's difference below which a difference counts as none."""
_DIRECTED = {"superiority", "ordering", "threshold"}


@dataclass(frozen=True)
class Part:
    """One part of a claim, ready to be judged.

    `toward`: how far the estimate lies on the claim's side, margin included; `error`: its standard error, None where
    no deviation is known. `p_for` and `p_against`: one-sided p values of the part's opposite, and of the part itself.
    `p_direction`: of a superiority with a margin, the p value of its opposite without the margin.
    """

    toward: float
    error: float | None
    p_for: float
    p_against: float
    p_direction: float | None = None
    negligible: bool = False


@dataclass(frozen=True)
class Decision:
    """A verdict and the sentence that says why; `parts` hold the numbers of every comparison.

    `replicas`: how many of each experiment would decide what is not decided; None where none is known to.
    """

    verdict: str
    sentence: str
    method: str | None = None
    parts: list[dict[str, Any]] = field(default_factory=list)
    replicas: int | None = None


Covered = Callable[[set[str]], bool]
"""Whether the part of a claim that is about these experiments is looked at: under an alternative not all may be."""


def everything(names: set[str]) -> bool:
    return True


def tail_of(kind: str) -> float:
    return EQUIVALENCE_TAIL if kind == "equivalence" else TAIL


def established(parts: Sequence[Part], tail: float) -> list[bool]:
    """Which parts hold, all of them tested together after Holm."""
    return [p <= tail for p in holm([part.p_for for part in parts])]


def refuted(kind: str, parts: Sequence[Part]) -> list[bool]:
    """Of which parts the opposite holds, tested in the same way."""
    return [p <= tail_of(kind) for p in holm([part.p_against for part in parts])]


def sunk(kind: str, parts: Sequence[Part]) -> list[bool]:
    """Of which parts next to nothing is left: a difference that is established is there, however small."""
    return [part.negligible and not held for part, held in zip(parts, established(parts, tail_of(kind)), strict=True)]


def to_decide(
    left: Sequence[Any],
    toward: Callable[[Any], bool],
    needed: Callable[[Any, float], int | None],
    tail: float,
    parts: int,
) -> int | None:
    """Replicas that would decide a claim whose `left` of so many `parts` are not established; None where none would do.

    One part that lies against the claim and is established so refutes it: the one that needs fewest. Where all lie on
    its side, all have to be established. `needed` gives replicas of a part at a one-sided tail, which Holm divides.
    """
    if against := [part for part in left if not toward(part)]:
        return min((n for part in against if (n := needed(part, tail / parts)) is not None), default=None)
    found = [needed(part, tail / len(left)) for part in left]
    return None if None in found else max(found)


def judge(kind: str, parts: Sequence[Part], diverged: bool = False) -> str:
    """The verdict of a claim of this kind from all of its parts; `diverged` says that a comparison lost replicas."""
    tail, directed = tail_of(kind), kind in _DIRECTED
    if all(established(parts, tail)):
        if not diverged:
            return REPRODUCED
        return DIRECTION if directed else INCONCLUSIVE
    directions = [part.p_direction for part in parts if part.p_direction is not None]
    if len(directions) == len(parts) and all(p <= tail for p in holm(directions)):
        return DIRECTION
    if any(sunk(kind, parts)) or any(refuted(kind, parts)):
        return NOT if not diverged else INCONCLUSIVE
    if directed and all(part.toward > (part.error or 0.0) for part in parts):
        return DIRECTION
    return INCONCLUSIVE
