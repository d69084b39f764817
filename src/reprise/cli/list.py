"""List the papers of a tier, or the experiments and claims of some: what is trained, and what was found."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from reprise.cli.common import add_tier, project_and_experiments
from reprise.cli.found import answer, answers, console, trained
from reprise.config.project import Project
from reprise.errors import UserError, known
from reprise.records.resolved import Resolved

EXAMPLE = "reprise list rrntn --tier paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)
    parser.add_argument("paper", nargs="*", help="list the experiments and claims of these papers; default: all papers")
    parser.add_argument("--json", action="store_true", help="everything, of these papers or of all, as JSON")


def run(given: argparse.Namespace) -> None:
    project, experiments = project_and_experiments(given.tier)
    for name in given.paper:
        if name not in project.papers:
            raise UserError(f"no paper '{name}' in config/config.yaml; {known(name, project.papers)}")
    chosen = given.paper or list(project.papers)
    content = {
        "tier": project.config.tier,
        "papers": [_paper(project, name, [e for e in experiments if e.paper == name]) for name in chosen],
    }
    if given.json:
        print(json.dumps(content, indent=1, ensure_ascii=False))
    elif given.paper:
        _print_experiments(content)
    else:
        _print_papers(content)


def _paper(project: Project, name: str, experiments: Sequence[Resolved]) -> dict[str, Any]:
    paper, found = project.papers[name], answers(project.root, project.config.tier).get(name, {})
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
                "records": [str(path) for path in trained(e, project.root)],
            }
            for e in experiments
        ],
        "claims": [
            {"id": f"{name}/{key}", "text": claim.text, "answer": answer(found.get(key))}
            for key, claim in paper.claims.items()
        ],
    }


def _print_papers(content: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(title=f"tier {content['tier']}", title_justify="left", box=None, pad_edge=False)
    for column in ("paper", "document", "trained", "answers to its claims"):
        table.add_column(column, overflow="fold")
    for paper in content["papers"]:
        done = sum(len(e["records"]) >= e["replicas"] for e in paper["experiments"])
        counts = Counter(claim["answer"] for claim in paper["claims"])
        table.add_row(
            paper["paper"],
            f"{paper['document']} {paper['title']}",
            f"{done} of {len(paper['experiments'])}",
            ", ".join(f"{n} {name}" for name, n in counts.most_common()),
        )
    console().print(table)


def _print_experiments(content: dict[str, Any]) -> None:
    from rich.table import Table

    out = console()
    for paper in content["papers"]:
        experiments = Table(title=f"{paper['paper']}: {paper['title']}", title_justify="left", box=None, pad_edge=False)
        for column in ("experiment", "title", "trained"):
            experiments.add_column(column, overflow="fold")
        for e in paper["experiments"]:
            experiments.add_row(e["id"], e["title"], f"{len(e['records'])} of {e['replicas']}")
        claims = Table(box=None, pad_edge=False)
        for column in ("claim", "of the paper", "answer"):
            claims.add_column(column, overflow="fold")
        for claim in paper["claims"]:
            claims.add_row(claim["id"], claim["text"], claim["answer"])
        for table in (experiments, claims):
            if table.row_count:
                out.print(table)
                out.print()
