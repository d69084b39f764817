"""What became of every claim, in one shape for page, README and forest plot: read from claims.json of both tiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.records.resolved import FULL
from reprise.report.parts.context import Context

AGREES, DISAGREES, OPEN, VOID, NOT_RUN = "agrees", "disagrees", "open", "void", "not run"
TRAINED, COUNTED, EQUATION, ARITHMETIC = "trained", "counted", "equation", "arithmetic"
REDUCED = "reduced"
Tiers = Mapping[str, Mapping[str, Context]]
"""Contexts by tier and paper."""


@dataclass(frozen=True)
class Answer:
    """A claim's answer at the best tier that has one: the full protocol, else the reduced one.

    `ratio` is our effect over the paper's, with its 95 % interval; `ours`, `paper` the effects themselves.
    """

    paper: str
    document: str
    claim: str
    text: str
    tier: str
    direction: str
    size: str
    evidence: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    ours: float | None = None
    paper_effect: float | None = None
    unit: str = ""
    n: str = ""
    flips: bool = False

    @property
    def link(self) -> str:
        return f"{self.paper}/{self.claim}"

    @property
    def full(self) -> bool:
        return self.tier == FULL


def answers(tiers: Tiers) -> list[Answer]:
    """Every claim once, in the order of the papers' files; `tiers` from the fullest on."""
    found = []
    first = next(iter(tiers.values()))
    for name, context in first.items():
        for key in context.paper.claims:
            there = [(tier, contexts[name]) for tier, contexts in tiers.items() if name in contexts]
            ran = ((t, c) for t, c in there if c.claims.get(key, {}).get("verdict", NOT_RUN) != NOT_RUN)
            tier, where = next(ran, there[0])
            found.append(_answer(where, key, tier))
    return found


_DIRECTIONS = {
    "reproduced": AGREES,
    "not reproduced": DISAGREES,
    "contradicted by the paper itself": DISAGREES,
    "not run": NOT_RUN,
}


def _answer(context: Context, key: str, tier: str) -> Answer:
    claim, found = context.paper.claims[key], context.claims.get(key, {})
    direction = _DIRECTIONS.get(found.get("verdict", NOT_RUN), OPEN)
    common = {
        "paper": context.paper_id,
        "document": context.paper.document,
        "claim": key,
        "text": claim.text.strip(),
        "tier": tier,
        "direction": direction,
        "size": "",
        "evidence": EQUATION if found.get("kind") == "identity" else TRAINED,
        "n": counted(found.get("n", {})),
        "flips": any(under["flips"] for under in found.get("alternatives", {}).values()),
    }
    part = weakest(found)
    if direction == NOT_RUN or part is None:
        return Answer(**common)
    scale = abs(part["paper_here"])
    low, high = part["interval"]
    return Answer(
        **common,
        ratio=part["estimate"] / scale,
        low=low / scale,
        high=high / scale,
        ours=part["estimate"],
        paper_effect=part["paper_here"],
        unit=part.get("unit") or "",
    )


def weakest(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The comparison that has an effect in the paper and ours the least of it."""
    there = [p for p in found.get("parts", ()) if p.get("paper_here") and p.get("interval") and len(p["terms"]) > 1]
    return min(there, key=lambda part: part["estimate"] / abs(part["paper_here"]), default=None)


def counted(n: Mapping[str, int]) -> str:
    """ "3", or "2–10": on how many seeds or folds the experiments of a claim rest."""
    counts = sorted(set(n.values()))
    return "" if not counts else str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def tally(found: Iterable[Answer]) -> dict[str, int]:
    """How many answers have each direction."""
    counts = dict.fromkeys((AGREES, DISAGREES, OPEN, VOID, NOT_RUN), 0)
    for answer in found:
        counts[answer.direction] += 1
    return counts


def of_paper(found: Sequence[Answer], paper: str) -> list[Answer]:
    return [answer for answer in found if answer.paper == paper]
