"""What became of every claim, in one shape for page, README and forest plot: read from claims.json of both tiers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprise.evidence.verdicts import JUDGED, NOT_RUN, TRAINED, VERDICTS
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context

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
    afterwards: str = ""

    @property
    def link(self) -> str:
        return f"{self.paper}/{self.claim}"

    @property
    def kind(self) -> str:
        """How it is coloured: its direction, or "not-run" whatever the reason."""
        return self.direction if self.direction in JUDGED else "not-run"

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
            ran = ((t, c) for t, c in there if c.claims.get(key, {}).get("verdict") in JUDGED)
            tier, where = next(ran, there[0])
            found.append(_answer(where, key, tier))
    return found


def _answer(context: Context, key: str, tier: str) -> Answer:
    claim, found = context.paper.claims[key], context.claims.get(key, {})
    ratio = found.get("ratio") or {}
    part = found["parts"][ratio["part"]] if ratio else {}
    log = bool(part) and part["scale"] == "log"
    # Of perplexities the effects are logarithms of a ratio.
    effects = [100 * math.expm1(part[k]) if log else part[k] for k in _EFFECTS] if part else [None, None]
    return Answer(
        paper=context.paper_id,
        document=context.paper.document,
        claim=key,
        text=found.get("short") or claim.label,
        tier=tier,
        direction=found.get("verdict", NOT_RUN),
        size=found.get("size") or "",
        evidence=found.get("evidence", TRAINED),
        ratio=ratio.get("value"),
        low=ratio.get("low"),
        high=ratio.get("high"),
        ours=effects[0],
        paper_effect=effects[1],
        unit="%" if log else part.get("unit") or "",
        n=counted(found.get("n", {})),
        flips=any(under["flips"] for under in found.get("alternatives", {}).values()),
        afterwards=found.get("afterwards") or "",
    )


_EFFECTS = ("estimate", "paper_here")


def counted(n: Mapping[str, int]) -> str:
    """ "3", or "2–10": on how many seeds or folds the experiments of a claim rest."""
    counts = sorted(set(n.values()))
    return "" if not counts else str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def tally(found: Iterable[Answer]) -> dict[str, int]:
    """How many answers have each direction."""
    counts = dict.fromkeys(VERDICTS, 0)
    for answer in found:
        counts[answer.direction] += 1
    return counts


def of_paper(found: Sequence[Answer], paper: str) -> list[Answer]:
    return [answer for answer in found if answer.paper == paper]
