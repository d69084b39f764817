"""What became of every claim, in one shape for page, README and forest plot: read from claims.json of both tiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.evidence.verdicts import JUDGED, NOT_RUN, TRAINED, VERDICTS
from reprise.evidence.words import effect, size_words, unit_words
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import interval

REDUCED = "reduced"
Tiers = Mapping[str, Mapping[str, Context]]
"""Contexts by tier and paper."""


@dataclass(frozen=True)
class Answer:
    """A claim's answer at the best tier that has one: the full protocol, else the reduced one.

    `ratio` is our effect over the paper's, with its 95 % interval; `ours`, `theirs` the effects themselves in words.
    `n` says on how many seeds or folds it rests, `beside` what stands in place of a ratio that decides nothing.
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
    ours: str = ""
    theirs: str = ""
    n: str = ""
    beside: str = ""
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
    unit = unit_words(part["unit"]) if part and part["scale"] != "log" else ""
    ours, theirs = (f"{effect(part[key], None, part)}{unit}" if part else "" for key in ("estimate", "paper_here"))
    size = size_words(found) if found else ""
    ranked = any(one["form"] == "ranks" for one in found.get("parts", ()))
    return Answer(
        paper=context.paper_id,
        document=context.paper.document,
        claim=key,
        text=found.get("short") or claim.label,
        tier=tier,
        direction=found.get("verdict", NOT_RUN),
        size=size,
        evidence=found.get("evidence", TRAINED),
        ratio=ratio.get("value"),
        low=ratio.get("low"),
        high=ratio.get("high"),
        ours=ours,
        theirs=theirs,
        n=counted(found),
        beside="decided by rank test" if ranked else size.partition(";")[0] if "margin" in size else "",
        flips=any(under["flips"] for under in found.get("alternatives", {}).values()),
        afterwards=found.get("afterwards") or "",
    )


def counted(found: Mapping[str, Any]) -> str:
    """ "3 seeds", "2–10 folds": on how many the experiments of a claim rest; "" of what is counted or worked out."""
    counts = sorted(set(found.get("n", {}).values()))
    if found.get("evidence") != TRAINED or not counts or not counts[-1]:
        return ""
    noun = "fold" if any(part.get("method") == "folds" for part in found["parts"]) else "seed"
    return f"{interval(counts[0], counts[-1])} {noun}{'' if counts[-1] == 1 else 's'}"


def tally(found: Iterable[Answer]) -> dict[str, int]:
    """How many answers have each direction."""
    counts = dict.fromkeys(VERDICTS, 0)
    for answer in found:
        counts[answer.direction] += 1
    return counts


def of_paper(found: Sequence[Answer], paper: str) -> list[Answer]:
    return [answer for answer in found if answer.paper == paper]
