"""Claims and settings judged from the run records, and what is committed held against them."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reprise.cli.common import load_tier, make_console, make_table, require_paper
from reprise.errors import Failed, UserError
from reprise.files import compute_sha256, entry_exists, write_atomically

if TYPE_CHECKING:
    from reprise.evidence.decisions import Decision
    from reprise.evidence.runs import Replica, Runs

_MAX_NAMES = 5
"""So many claims or files that differ are called by name."""
_RECORDS = ("runs", "evaluations")
"""Folders of a tier from which all its other files are made."""
_COLLECTED = ("metrics.csv", "metrics.json", "curves.csv.gz", "samples.jsonl")
_DRAWN = ("tables/*", "figures/*.svg")
_README_FILES = ("README.md", "results/forest.svg")
"""What `render --readme` writes."""


def verify_command(options: argparse.Namespace) -> None:
    """Judge every claim of the papers from the run records of a tier, and write results/<tier>/claims.json.

    With --check nothing is written. Everything that follows from the records is made again elsewhere: metrics, curves,
    samples, claims, tables, figures and README's results. The exit status is 1 unless the existing files are the same
    to the byte.
    """
    project, experiments = load_tier(options.tier)
    from reprise.evidence.decisions import dump_claims
    from reprise.evidence.load import load_runs
    from reprise.evidence.verdicts import JUDGED
    from reprise.evidence.verdicts.claims import judge_claims

    tier = project.config.tier
    folder = project.root / "results" / tier
    path = folder / "claims.json"
    runs = load_runs(project, experiments)
    claims = judge_claims(project, runs)
    text = dump_claims(claims)
    if not options.check:
        write_atomically(path, text)
        columns = ("claim", "evidence", "answer", "size", "ours / paper", "settings that hold", "")
        rows = [
            _make_row(f"{p}/{key}", one)
            for p, decisions in claims.items()
            for key, one in decisions.items()
            if one.comparisons or one.answer in JUDGED
        ]
        make_console().print(make_table(columns, rows))
        print(f"{path}: {summarise_answers(claims)}")
        replicas = [replica for members in runs.values() for one in members.values() for replica in one.replicas]
        print(f"run records: {describe_code(replicas, project.root)}")
        print(*_list_warnings(claims, runs), sep="\n")
        return
    if not path.is_file() or path.read_bytes() != text.encode():
        differences = "; ".join(_list_differences(path, project.root, claims, text)) or "other bytes"
        remedy = f"run `python -m reprise verify --tier {tier}`"
        raise Failed(f"{path}: does not say what the run records say ({differences}); {remedy}")
    if changed_files := list(_list_changed_files(folder, project.root, tier)):
        remedy = f"run collect, verify and render --tier {tier}"
        raise Failed(f"{folder}: not what the run records give: {', '.join(_shorten_names(changed_files))}; {remedy}")
    print(f"{folder}: everything follows from the run records; {summarise_answers(claims)}")


def _list_warnings(
    claims: Mapping[str, Mapping[str, Decision]], runs: Mapping[str, Mapping[str, Runs]]
) -> Iterator[str]:
    """Yield how far the answers hang on how they are tested, and which training runs went wrong."""
    from reprise.evidence.sensitivity import examine_sensitivity
    from reprise.evidence.stability import RISE, count_unstable

    decisions = {f"{paper}/{key}": one for paper, members in claims.items() for key, one in members.items()}
    tests = examine_sensitivity(decisions)
    late = ", ".join(f"{len(names)} that {answer.removesuffix('s')}" for answer, names in tests.afterwards.items())
    yield f"claims with a criterion that was set when the numbers were known: {late}"
    yield (
        f"corrected over all {len(tests.tested)} tested claims, {len(tests.benjamini_hochberg)} of {len(tests.agree)} "
        f"agreements remain by Benjamini-Hochberg and {len(tests.holm)} by Holm"
    )
    other_answers = ", ".join(f"{name} {answer}" for name, answer in tests.own_sds.items())
    yield f"other answers without the SDs that families lend: {other_answers or 'none'}"
    counts = count_unstable(one for members in runs.values() for one in members.values())
    diverged, unstable = (sum(getattr(one, attribute) for one in counts) for attribute in ("diverged", "unstable"))
    yield (
        f"training runs: {diverged} diverged; {unstable} finished but became unstable "
        f"(validation loss more than {RISE} nats above its lowest so far)"
    )


def describe_code(replicas: Iterable[Replica], root: Path) -> str:
    """Say how many records were made by other code than today's, and how many do not say by which.

    The code is Reprise's, and that of a user's own model in the project folder `root`.
    """
    from reprise.training.provenance import digest_packages

    records = [replica.made for replica in replicas]
    made = [one for one in records if one.code is not None]
    paths = {name: root / name for one in made for name in one.sources}
    digests = {name: compute_sha256(path) for name, path in paths.items() if path.is_file()}
    other_count = sum(
        digest_packages(tuple(one.code["packages"])) != one.code["sha256"]
        or any(digests.get(name) != digest for name, digest in one.sources.items())
        for one in made
    )
    unknown = f"{len(records) - len(made)} do not record the code that made them"
    return f"{len(records)}; {other_count} were made by other code than today's, {unknown}"


def _shorten_names(names: list[str]) -> list[str]:
    return names[:_MAX_NAMES] + ([f"{len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else [])


def _make_row(name: str, decision: Decision) -> tuple[str, ...]:
    """Return claim, evidence, answer, size, our effect over the paper's, settings under which it holds, its text."""
    from reprise.report.parts.rows import has_effect_size

    rated, settings = decision.rated if has_effect_size(decision) else None, decision.settings
    effect = "" if rated is None else f"{rated.ratio.value:.2f}"
    effect += f" [{rated.ratio.low:.2f}, {rated.ratio.high:.2f}]" if rated and rated.ratio.low is not None else ""
    under = f"{settings.holds} of {settings.of}" if settings else ""
    mark = f" (set afterwards: {decision.afterwards})" if decision.afterwards else ""
    size = decision.size or "" if rated else ""
    return name, decision.evidence, _format_answer(decision), size, effect, under, decision.text + mark


def _format_answer(decision: Decision) -> str:
    from reprise.evidence.verdicts import NOT_RUN
    from reprise.report.parts.rows import BUDGETS

    if decision.answer == NOT_RUN and all(note.kind == "not-at-tier" for note in decision.notes):
        return "not in this tier"
    budget = BUDGETS[decision.budget]
    return f"{decision.answer} ({budget})" if budget else decision.answer


def summarise_answers(claims: Mapping[str, Mapping[str, Decision]]) -> str:
    """Count the answers of each kind of evidence, which are never added up: "trained: 27 agrees; counted: …"."""
    kinds: dict[str, Counter[str]] = {}
    for decision in (decision for decisions in claims.values() for decision in decisions.values()):
        kinds.setdefault(decision.evidence, Counter())[_format_answer(decision)] += 1
    counts = [f"{kind}: {', '.join(f'{n} {a}' for a, n in kinds[kind].most_common())}" for kind in sorted(kinds)]
    return "; ".join(counts) or "no claims"


def _list_files(folder: Path) -> set[str]:
    names = {name for name in _COLLECTED if (folder / name).is_file()}
    return names | {str(path.relative_to(folder)) for pattern in _DRAWN for path in folder.glob(pattern)}


def _link_inputs(root: Path, clone: Path, tier: str) -> Path:
    """Link all of the project into a clone but the tier's results, of these the records alone; return their folder."""
    new_folder = clone / "results" / tier
    new_folder.mkdir(parents=True)
    for source, left_out in ((root, "results"), (root / "results", tier)):
        for path in source.iterdir():
            if path.name != left_out:
                (clone / path.relative_to(root)).symlink_to(path.resolve())
    for name in _RECORDS:
        if (records := root / "results" / tier / name).is_dir():
            (new_folder / name).symlink_to(records.resolve())
    return new_folder


def _list_changed_files(folder: Path, root: Path, tier: str) -> Iterator[str]:
    """Yield the files of a tier that are not what its records give: those made of records, tables and figures.

    Raises:
        UserError: They cannot be made again.
    """
    if not (old_names := _list_files(folder)):
        return
    with TemporaryDirectory() as clone:
        new_folder = _link_inputs(root, Path(clone), tier)
        has_displays = any("/" in name for name in old_names)
        paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        commands = [
            (command, "--tier", tier) for command in (("collect", "verify", "render") if has_displays else ("collect",))
        ]
        # README and its plot are of all tiers: those of the others are taken as they are.
        has_readme = has_displays and all((root / name).is_file() for name in _README_FILES)
        if has_readme:
            commands.append(("render", "--readme"))
        for command in commands:
            arguments = [sys.executable, "-P", "-m", "reprise", *command]
            process = subprocess.run(arguments, cwd=clone, env=environment, capture_output=True, text=True, check=False)
            if process.returncode:
                lines = process.stderr.strip().splitlines()
                reason = lines[-1] if lines else f"status {process.returncode}"  # killed, it says nothing
                raise UserError(f"{folder}: `reprise {' '.join(command)}` fails: {reason}")
        from reprise.evidence.collect import UNCOMMITTED

        new_names = {name for name in _list_files(new_folder) if has_displays or name in _COLLECTED}
        for name in sorted(old_names | new_names):
            old, new = folder / name, new_folder / name
            if name not in old_names and (name in UNCOMMITTED or name.endswith(".html")):
                continue  # Git leaves it out
            if not (old.is_file() and new.is_file() and old.read_bytes() == new.read_bytes()):
                yield name
        for name in _README_FILES if has_readme else ():
            if (root / name).read_bytes() != (Path(clone) / name).read_bytes():
                yield name


def _list_differences(path: Path, root: Path, claims: Mapping[str, Mapping[str, Decision]], text: str) -> list[str]:
    """List what the file and the records say of the first few claims on which they differ."""
    from reprise.evidence.decisions import read_claims

    if not path.is_file():
        return ["not a regular file" if entry_exists(path) else "no such file"]
    try:
        written = read_claims(root, path.parent.name)
    except UserError:
        return ["not a file of claims"]
    contents = json.loads(text)
    lines = []
    for paper, key in dict.fromkeys(
        (p, key) for claims_by_paper in (claims, written) for p, keys in claims_by_paper.items() for key in keys
    ):
        old, new = written.get(paper, {}).get(key), claims.get(paper, {}).get(key)
        if new is None or old is None or old != type(old).model_validate(contents[paper][key]):
            old_answer, new_answer = (one.answer if one else "nothing" for one in (old, new))
            change = "the same answer, other numbers or texts"
            change = f"{old_answer}, records: {new_answer}" if old_answer != new_answer else change
            lines.append(f"{paper}/{key}: {change}")
    return _shorten_names(lines)


def readings_command(options: argparse.Namespace) -> None:
    """List settings that the paper leaves open by the distance of our numbers from the printed ones.

    A setting is one choice of what the paper does not state. This list was made when the numbers were known, so it
    describes and proves nothing. Below the list stands what its columns mean.
    """
    project, experiments = load_tier(options.tier)
    require_paper(project, options.paper)
    from reprise.evidence.load import load_runs
    from reprise.evidence.readings import rank_readings
    from reprise.report.parts.readings import READING_HEADERS, READING_NOTES, make_reading_rows

    paper = project.papers[options.paper]
    runs = load_runs(project, experiments)[options.paper]
    ranked = rank_readings(paper, runs)
    if not ranked:
        print(f"{options.paper}: no number of a trained model to compare at the tier {project.config.tier}")
        return
    make_console().print(make_table(READING_HEADERS, make_reading_rows(ranked)))
    print("\n".join(READING_NOTES))
