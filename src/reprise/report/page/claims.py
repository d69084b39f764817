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
    rows = [_claim(answer, tiers) for answer in found]
    return sorted(rows, key=lambda row: not row["judged"])


def _claim(answer: Answer, tiers: Mapping[str, Context]) -> dict[str, Any]:
    context = next(iter(tiers.values()))
    claim = context.paper.claims[answer.claim]
    judged = []
    for tier, there in tiers.items():
        found = there.claims.get(answer.claim)
        if found and found["verdict"] in JUDGED:
            judged.append(
                {
                    "tier": tier,
                    "protocol": PROTOCOLS[tier],
                    "sentence": found["sentence"],
                    "verdict": found["answer"],
                    "beside": [under(name, other) for name, other in found["co_primary"].items()],
                    "parts": [compared(part) for part in found["parts"]],
                    "readings": (found["readings"] or {}).get("line", ""),
                    "experiments": found["experiments"],
                }
            )
    first = next((there.claims[answer.claim] for there in tiers.values() if answer.claim in there.claims), {})
    return {
        "key": answer.claim,
        "text": answer.text,
        "quote": claim.text.strip(),
        "short": cut(answer.text, _SUMMARY),
        "place": claim.place,
        "direction": answer.direction,
        "kind": answer.kind,
        "size": answer.size,
        "full": answer.full,
        "evidence": answer.evidence,
        "ratio": answer.ratio,
        "n": answer.n,
        "decided": criteria.decided_by(claim, first),
        "judged": judged,
    }
