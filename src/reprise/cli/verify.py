"""Judge every claim of the papers from the run records of a tier, and write results/<tier>/claims.json.

With --check nothing is written: everything that follows from the records (metrics, curves, samples, claims, tables and
figures) is made again elsewhere, and the exit status is 1 unless the files that are there are the same to the byte.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reprise.cli.common import add_tier, project_and_experiments
from reprise.errors import EXIT_FAILED, UserError, report_packages
from reprise.files import is_there, json_text, write_atomically

_NAMED = 5
"""So many claims or files that differ are called by name."""
_COLLECTED = ("metrics.csv", "metrics.json", "curves.csv.gz", "samples.jsonl")
_DRAWN = ("tables/*", "figures/*.svg")

EXAMPLE = "reprise verify --tier paper --check"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="compare with the files that are there, and write nothing")
    add_tier(parser)


def run(given: argparse.Namespace) -> int:
    project, experiments = project_and_experiments(given.tier)
    with report_packages("verify"):
        from reprise.evidence.verdicts.claims import judge_claims
    folder = project.root / "results" / project.config.tier
    path = folder / "claims.json"
    claims = judge_claims(project, experiments)
    text = json_text(claims)
    if not given.check:
        write_atomically(path, text)
        print(f"{table(claims)}\n{path}: {summary(claims)}")
        return 0
    remedy = f"run `python -m reprise verify --tier {project.config.tier}`"
    if not path.is_file() or path.read_bytes() != text.encode():
        why = "; ".join(_differences(path, claims)) or "other bytes"
        print(f"reprise: {path}: does not say what the run records say ({why}); {remedy}", file=sys.stderr)
        return EXIT_FAILED
    if differ := list(_changed(folder, project.root, project.config.tier)):
        more = f" and {len(differ) - _NAMED} more" if len(differ) > _NAMED else ""
        named = f"{', '.join(differ[:_NAMED])}{more}"
        remedy = f"run collect, verify and render --tier {project.config.tier}"
        print(f"reprise: {folder}: not what the run records give: {named}; {remedy}", file=sys.stderr)
        return EXIT_FAILED
    print(f"{folder}: everything follows from the run records; {summary(claims)}")
    return 0


def table(claims: dict[str, Any]) -> str:
    """A line a claim that was judged: evidence, direction, size, our effect over the paper's, readings, the claim."""
    head = ("claim", "evidence", "direction", "size", "ours / paper", "readings", "")
    rows = [head, *(_row(paper, key, c) for paper, found in claims.items() for key, c in found.items() if c["parts"])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    return "\n".join("  ".join([*(c.ljust(w) for c, w in zip(r, widths, strict=False)), r[-1]]).rstrip() for r in rows)


def _row(paper: str, key: str, claim: dict[str, Any]) -> tuple[str, ...]:
    ratio, readings = claim["ratio"], claim["readings"]
    shown = "" if ratio is None else f"{ratio['value']:.2f}"
    shown += f" [{ratio['low']:.2f}, {ratio['high']:.2f}]" if ratio and ratio["low"] is not None else ""
    under = f"{readings['holds']} of {readings['of']}" if readings else ""
    mark = f" (set afterwards: {claim['afterwards']})" if claim["afterwards"] else ""
    name = f"{paper}/{key}"
    return name, claim["evidence"], claim["answer"], claim["size"] or "", shown, under, claim["short"] + mark


def summary(claims: dict[str, Any]) -> str:
    """ "trained: 27 agrees, 8 open; counted: 6 agrees; …": kinds of evidence are never added up."""
    kinds: dict[str, Counter[str]] = {}
    for claim in (claim for found in claims.values() for claim in found.values()):
        kinds.setdefault(claim["evidence"], Counter())[claim["answer"]] += 1
    said = [f"{kind}: {', '.join(f'{n} {a}' for a, n in kinds[kind].most_common())}" for kind in sorted(kinds)]
    return "; ".join(said) or "no claims"


def _changed(folder: Path, root: Path, tier: str) -> Iterator[str]:
    """The files of a tier that are not what its records give: those made of records, and tables and figures if any.

    Errors: `UserError` where they cannot be made again.
    """
    there = {name for name in _COLLECTED if (folder / name).is_file()}
    there |= {str(path.relative_to(folder)) for pattern in _DRAWN for path in folder.glob(pattern)}
    if not there:
        return
    with TemporaryDirectory() as clone:
        again = Path(clone) / "results" / tier
        again.mkdir(parents=True)
        for path in root.iterdir():
            if path.name != "results":
                (Path(clone) / path.name).symlink_to(path.resolve())
        for path in (root / "results").iterdir():
            if path.name != tier:
                (Path(clone) / "results" / path.name).symlink_to(path.resolve())
        if (folder / "runs").is_dir():
            (again / "runs").symlink_to((folder / "runs").resolve())
        drawn = any("/" in name for name in there)
        for command in ("collect", "verify", "render")[: 3 if drawn else 1]:
            arguments = [sys.executable, "-m", "reprise", command, "--tier", tier]
            paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
            done = subprocess.run(arguments, cwd=clone, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise UserError(f"{folder}: `reprise {command}` fails: {done.stderr.strip().splitlines()[-1]}")
        made = {name for name in _COLLECTED if (again / name).is_file()}
        if drawn:
            made |= {str(path.relative_to(again)) for pattern in _DRAWN for path in again.glob(pattern)}
        for name in sorted(there | made):
            old, new = folder / name, again / name
            if not (old.is_file() and new.is_file() and old.read_bytes() == new.read_bytes()):
                yield name


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
