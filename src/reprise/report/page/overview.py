"""What the page opens with: claims by verdict, and every claim and experiment as rows that can be searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from reprise.evidence.verdicts import VERDICTS
from reprise.report.page import criteria
from reprise.report.parts import verdicts
from reprise.report.parts.context import Context

KINDS = {
    "reproduced": "good",
    "direction only": "wait",
    "not reproduced": "bad",
    "inconclusive": "wait",
    "contradicted by the paper itself": "bad",
    "not tested": "soft",
    "not run": "soft",
}
"""How a verdict is coloured; its words say it all the same."""


def verdict_counts(contexts: Iterable[Context]) -> dict[str, Any]:
    """A row a paper: how many of its claims got each verdict, in one order, and the sums."""
    contexts = list(contexts)
    counts = {c.paper_id: Counter(claim["verdict"] for claim in c.claims.values()) for c in contexts}
    shown = [verdict for verdict in VERDICTS if any(count[verdict] for count in counts.values())]
    rows = [
        {"id": c.paper_id, "title": c.paper.title, "document": c.paper.document,
         "counts": [counts[c.paper_id][verdict] for verdict in shown], "claims": sum(counts[c.paper_id].values())}
        for c in contexts
    ]  # fmt: skip
    sums = [sum(row["counts"][i] for row in rows) for i in range(len(shown))]
    return {"verdicts": shown, "rows": rows, "sums": sums, "total": sum(sums)}


def claim_rows(contexts: Iterable[Context]) -> list[dict[str, Any]]:
    """Every claim with its verdict, the sentence behind it, how it is decided, and where that would change."""
    rows = []
    for context in contexts:
        for key, claim in context.paper.claims.items():
            found = context.claims.get(key)
            rows.append(
                {
                    "paper": context.paper_id,
                    "claim": key,
                    "anchor": f"{context.paper_id}-claim-{key}",
                    "text": claim.text.strip(),
                    "place": claim.place,
                    "verdict": found["verdict"] if found else "not run",
                    "sentence": (found["sentence"] if found else "") + verdicts.in_full_sentence(context, key),
                    "flips": verdicts.flips(found["alternatives"]) if found else [],
                    "alternatives": verdicts.how_many_run(found["alternatives"]) if found else "",
                    "experiments": list(found["experiments"]) if found else [],
                    "decided": criteria.decided_by(claim, found or {}),
                }
            )
    return rows


def experiment_rows(papers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every card of the page as a row: where it stands, how far it is, and its first number beside the paper's."""
    rows = []
    for paper in papers:
        for card in paper["experiments"]:
            status = card["status"]
            first = min(card["metrics"], key=_rank, default=None)
            state = "diverged" if status.only_diverged else "complete" if not status.missing else ""
            rows.append(
                {
                    "paper": paper["id"],
                    "id": card["id"],
                    "anchor": f"{paper['id']}-{card['id']}",
                    "title": card["title"],
                    "variant": card["variant"] or "",
                    "state": state or f"{'partly' if status.run else 'not'} {'trained' if status.trains else 'run'}",
                    "run": f"{status.run} of {status.wanted}",
                    "metric": first["metric"] if first else "",
                    "theirs": first["paper_unit"] if first else "",
                    "ours": first["ours_unit"] if first else "",
                    "theirs_value": first["paper_value"] if first else None,
                    "ours_value": first["ours_value"] if first else None,
                }
            )
    return rows


def _rank(metric: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    """Before others stand metrics with a number of the paper's, then those of tests, then those of validation."""
    return not metric["paper"], not metric["split"].startswith("test"), metric["split"] != "valid"
