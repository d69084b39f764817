"""What there is: papers, or the experiments and claims of some."""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reprise.cli.common import (
    console,
    project_and_experiments,
    require_paper,
    runs_elsewhere,
    table,
    trained,
)
from reprise.config.project import Project
from reprise.evidence.decisions import Decision, read_claims
from reprise.evidence.verdicts import NOT_RUN
from reprise.evidence.words.sentences import answer_words
from reprise.records.resolved import Resolved


def list_command(given: argparse.Namespace) -> None:
    """List the papers of a tier, or the experiments and claims of some: what is trained, and what was found."""
    project, experiments = project_and_experiments(given.tier)
    for name in given.paper:
        require_paper(project, name)
    tier, chosen = project.config.tier, given.paper or list(project.papers)
    decisions = read_claims(project.root, tier)
    papers = [
        _paper(project, name, [e for e in experiments if e.paper == name], decisions.get(name, {})) for name in chosen
    ]
    if given.json:
        print(json.dumps({"tier": tier, "papers": papers}, indent=1, ensure_ascii=False))
        return
    out = console()
    if not given.paper:
        columns = ("paper", "document", "trained", "answers to its claims")
        out.print(table(columns, map(_summary, papers), f"tier {tier}"))
    for paper in papers if given.paper else ():
        of = [(e["id"], e["title"], f"{len(e['records'])} of {e['replicas']}") for e in paper["experiments"]]
        claims = [(claim["id"], claim["tested"], claim["answer"]) for claim in paper["claims"]]
        if of:
            out.print(table(("experiment", "title", "trained"), of, f"{paper['paper']}: {paper['title']}"), "")
        if claims:
            out.print(table(("claim", "what we compare", "answer"), claims), "")
    hints = filter(None, (runs_elsewhere(project.root, tier, name) for name in given.paper or [""]))
    out.print(f"this is the tier {tier}", *dict.fromkeys(hints), sep="; ")


def _paper(
    project: Project, name: str, experiments: Sequence[Resolved], decisions: Mapping[str, Decision]
) -> dict[str, Any]:
    paper = project.papers[name]
    return {
        "paper": name,
        "document": paper.document,
        "title": paper.title,
        "experiments": [
            {
                "id": e.id,
                "title": e.title,
                "config_hash": e.config_hash,
                "replicas": e.replicas,
                "records": trained(e, project.root),
            }
            for e in experiments
        ],
        "claims": [
            {
                "id": f"{name}/{key}",
                "tested": claim.tested,
                "answer": answer_words(decisions[key]) if key in decisions else NOT_RUN,
            }
            for key, claim in paper.claims.items()
        ],
    }


def _summary(paper: dict[str, Any]) -> tuple[str, ...]:
    done = sum(len(e["records"]) >= e["replicas"] for e in paper["experiments"])
    counts = Counter(claim["answer"].partition(",")[0] for claim in paper["claims"])
    return (
        paper["paper"],
        f"{paper['document']} {paper['title']}",
        f"{done} of {len(paper['experiments'])}",
        ", ".join(f"{n} {name}" for name, n in counts.most_common()),
    )
