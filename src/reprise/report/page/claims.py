"""Every claim in full: what the paper says, how it is decided, and at each tier the comparisons and other readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.evidence.verdicts import JUDGED
from reprise.report.page import criteria
from reprise.report.page.answers import Answer
from reprise.report.parts.context import Context
from reprise.report.parts.verdicts import compared, under
from reprise.report.parts.words import PROTOCOLS, cut

_SUMMARY = 110


def claims(found: Sequence[Answer], tiers: Mapping[str, Context]) -> list[dict[str, Any]]:
    """A claim each, those that were run first."""
    return sorted((_claim(answer, tiers) for answer in found), key=lambda row: not row["judged"])


def _claim(answer: Answer, tiers: Mapping[str, Context]) -> dict[str, Any]:
    claim = next(iter(tiers.values())).paper.claims[answer.claim]
    there = {tier: context.claims[answer.claim] for tier, context in tiers.items() if answer.claim in context.claims}
    judged = [
        {
            "tier": tier,
            "protocol": PROTOCOLS[tier],
            "sentence": found["sentence"],
            "beside": [under(name, other) for name, other in found["co_primary"].items()],
            "parts": [compared(part) for part in found["parts"]],
            "readings": (found["readings"] or {}).get("line", ""),
            "experiments": found["experiments"],
        }
        for tier, found in there.items()
        if found["verdict"] in JUDGED
    ]
    return {
        "answer": answer,
        "short": cut(answer.text, _SUMMARY),
        "quote": claim.text.strip(),
        "place": claim.place,
        "decided": criteria.decided_by(claim, next(iter(there.values()), {})),
        "judged": judged,
    }
