"""Judge every claim of the papers from the run records of a tier, and write results/<tier>/claims.json.

With --check nothing is written: the exit status is 1 unless the file that is there says what the records say.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from reprise.cli.common import add_tier, project_and_experiments
from reprise.errors import EXIT_FAILED, report_packages
from reprise.files import is_there, json_text, write_atomically

_NAMED = 5
"""So many claims that differ are called by name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="compare with the file that is there, and write nothing")
    add_tier(parser)


def run(given: argparse.Namespace) -> int:
    project, experiments = project_and_experiments(given.tier)
    with report_packages("verify"):
        from reprise.evidence.verdicts.claims import judge_claims
    path = project.root / "results" / project.config.tier / "claims.json"
    claims = judge_claims(project, experiments)
    text = json_text(claims)
    if not given.check:
        write_atomically(path, text)
        print(f"{path}: {_summary(claims)}")
        return 0
    if path.is_file() and path.read_bytes() == text.encode():
        print(f"{path}: says what the run records say: {_summary(claims)}")
        return 0
    why = "; ".join(_differences(path, claims)) or "other bytes"
    remedy = f"run `python -m reprise verify --tier {project.config.tier}`"
    print(f"reprise: {path}: does not say what the run records say ({why}); {remedy}", file=sys.stderr)
    return EXIT_FAILED


def _summary(claims: dict[str, Any]) -> str:
    counts = Counter(claim["verdict"] for paper in claims.values() for claim in paper.values())
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()) or "no claims"


def _differences(path: Path, claims: dict[str, Any]) -> list[str]:
    """What the file and the records say of the claims on which they differ, the first few of them."""
    if not path.is_file():
        return ["no plain file" if is_there(path) else "no such file"]
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        there = {(paper, key): {**claim} for paper, found in written.items() for key, claim in found.items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return ["not a file of claims"]
    ours = {(paper, key): claim for paper, found in claims.items() for key, claim in found.items()}
    differ = [name for name in {**ours, **there} if ours.get(name) != there.get(name)]
    lines = []
    for name in differ[:_NAMED]:
        says, should = ((c or {}).get("verdict", "nothing") for c in (there.get(name), ours.get(name)))
        lines.append(f"{'/'.join(name)}: {says}, records: {should}" if says != should else f"{'/'.join(name)}: numbers")
    return lines + ([f"{len(differ) - _NAMED} more"] if len(differ) > _NAMED else [])
