"""Lists papers, or the experiments and claims of some."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reprise.cli.common import (
    describe_other_tiers,
    list_existing_records,
    load_tier,
    make_console,
    make_table,
    require_paper,
)
from reprise.config.project import Project
from reprise.evidence.decisions import read_claims
from reprise.records.resolved import FULL, Resolved

if TYPE_CHECKING:
    from reprise.report.parts.answers import Answer


def list_command(options: argparse.Namespace) -> None:
    """List the papers of a tier, or the experiments and claims of some: what is trained, and what was found."""
    project, experiments = load_tier(options.tier)
    for name in options.paper:
        require_paper(project, name)
    tier, chosen = project.config.tier, dict.fromkeys(options.paper or project.papers)
    answers = _find_answers(project, options.tier)
    papers = [
        _describe_paper(project, name, [e for e in experiments if e.paper == name], answers[name]) for name in chosen
    ]
    if options.json:
        print(json.dumps({"tier": tier, "papers": papers}, indent=1, ensure_ascii=False))
        return
    out = make_console()
    if not options.paper:
        columns = ("paper", "document", "experiments run", "agree / disagree / undecided", "no answer")
        rows = (_make_summary_row(paper, answers[paper["paper"]]) for paper in papers)
        where = f"at the tier {tier}" if options.tier else "at the fullest tier that judged them"
        out.print(make_table(columns, rows, f"claims about trained models, {where}"))
    for paper in papers if options.paper else ():
        experiment_rows = [
            (e["id"], e["title"], f"{len(e['records'])} of {e['replicas']}") for e in paper["experiments"]
        ]
        claims = [(claim["id"], claim["tested"], claim["answer"]) for claim in paper["claims"]]
        if experiment_rows:
            out.print(
                make_table(("experiment", "title", "trained"), experiment_rows, f"{paper['paper']}: {paper['name']}"),
                "",
            )
        if claims:
            out.print(make_table(("claim", "what we compare", "answer"), claims), "")
    hints = filter(None, (describe_other_tiers(project.root, tier, name) for name in options.paper or [""]))
    out.print(f"this is the tier {tier}", *dict.fromkeys(hints), sep="; ")


def _find_answers(project: Project, tier: str | None) -> dict[str, list[Answer]]:
    """Answer every claim by paper, at a tier, or at the fullest tier that judged it, as the page does.

    The tier "quick" counts only in a project that has no other, such as a new paper of one's own.
    """
    from reprise.report.parts.answers import select_answer

    tiers = [tier] if tier else [FULL, "reduced"]
    if not tier and not any((project.root / "results" / name / "claims.json").is_file() for name in tiers):
        tiers = ["quick"]
    decisions = {name: read_claims(project.root, name) for name in tiers}
    return {
        paper: [
            select_answer(
                paper, key, claim.label, {name: claims.get(paper, {}).get(key) for name, claims in decisions.items()}
            )
            for key, claim in content.claims.items()
        ]
        for paper, content in project.papers.items()
    }


def _describe_paper(
    project: Project, name: str, experiments: Sequence[Resolved], answers: Sequence[Answer]
) -> dict[str, Any]:
    paper = project.papers[name]
    return {
        "paper": name,
        "document": paper.document,
        "title": paper.title,
        "name": paper.name or paper.title,
        "experiments": [
            {
                "id": e.id,
                "title": e.title,
                "config_hash": e.config_hash,
                "replicas": e.replicas,
                "records": list_existing_records(e, project.root),
            }
            for e in experiments
        ],
        "claims": [
            {"id": answer.link, "tested": paper.claims[answer.claim].tested, "answer": _format_answer(answer)}
            for answer in answers
        ],
    }


def _format_answer(answer: Answer) -> str:
    cells = answer.cells
    return ", ".join(filter(None, (cells.answer, cells.size)))


def _make_summary_row(paper: dict[str, Any], answers: Sequence[Answer]) -> tuple[str, ...]:
    from reprise.report.parts.answers import DECIDED_ANSWERS, count_answers

    begun = sum(bool(e["records"]) for e in paper["experiments"])
    complete = sum(len(e["records"]) >= e["replicas"] for e in paper["experiments"])
    counts = count_answers(answer for answer in answers if answer.is_trained)
    return (
        paper["paper"],
        f"{paper['document']} {paper['name']}",
        f"{begun} of {len(paper['experiments'])}, {complete} complete",
        " / ".join(str(counts[name]) for name in DECIDED_ANSWERS),
        str(counts.total() - sum(counts[name] for name in DECIDED_ANSWERS)),
    )
