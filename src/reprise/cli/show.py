"""Show one experiment or claim: equation, settings with origins, records, the paper's number, ours, the command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reprise.cli.common import add_tier, not_in_tier, project_and_experiments
from reprise.cli.found import answer, answers, command, console, numbers, records, shown, spread
from reprise.config.project import Project
from reprise.errors import report_packages
from reprise.records.resolved import Resolved

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = "reprise show rrntn/s-rnn-100 --tier paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="<paper>/<experiment> or <paper>/<claim>, as `reprise list <paper>` prints them")
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    project, experiments = project_and_experiments(given.tier)
    by_id = {e.id: e for e in experiments}
    paper, _, key = given.name.partition("/")
    out = console()
    if given.name in by_id:
        _experiment(out, project, by_id[given.name])
    elif paper in project.papers and key in project.papers[paper].claims:
        _claim(out, project, paper, key)
    else:
        claims = [f"{name}/{claim}" for name, content in project.papers.items() for claim in content.claims]
        raise not_in_tier(project.config.tier, "experiment or claim", given.name, [*by_id, *claims])


def _experiment(out: Console, project: Project, experiment: Resolved) -> None:
    with report_packages("show"):
        from reprise.report.page.cards import equation

    entry = project.papers[experiment.paper].experiments[experiment.base]
    out.print(f"{experiment.id}: {experiment.title} (tier {experiment.tier})", style="bold")
    if experiment.assumption:
        out.print(f"variant: {experiment.assumption} = {experiment.alternative}")
    if entry.note:
        out.print(" ".join(entry.note.split()))
    if entry.model and (lines := equation(entry.model.name)):
        _heading(out, "equation")
        out.print(lines)
    _heading(out, f"settings (configuration {experiment.config_hash})")
    _table(out, ("setting", "value", "from"), _settings(experiment))
    found = records(experiment, project.root)
    _heading(out, f"numbers ({len(found)} of {experiment.replicas} replicas trained)")
    _table(out, ("metric", "split", "paper", "ours", "SD", "n", "unit"), _numbers(project, experiment, found))
    for record in found:
        run, path = record["run"], experiment.record_path(record["replica"])
        how = f"{run['engine']}, {run['device']}, {run['wall_seconds']:.0f} s"
        out.print(f"{path}: {record['status']}, {how}", soft_wrap=True)
    _heading(out, "train it again" if found else "train it")
    out.print(command(experiment, found), soft_wrap=True)
    if found:
        out.print(f"python -m reprise diff again.json {experiment.record_path(found[0]['replica'])}", soft_wrap=True)


def _claim(out: Console, project: Project, paper: str, key: str) -> None:
    claim, tier = project.papers[paper].claims[key], project.config.tier
    entry = answers(project.root, tier).get(paper, {}).get(key, {})
    out.print(f"{paper}/{key}: {claim.text}", style="bold")
    out.print(f"stands in: {claim.place}")
    if claim.criterion:
        out.print(f"criterion: {' '.join(claim.criterion.split())}")
    _heading(out, f"answer at the tier {tier}")
    out.print(f"{answer(entry)}. {entry.get('sentence', '')}".strip())
    for name, other in entry.get("alternatives", {}).items():
        out.print(f"under {name}: {answer(other)}. {other.get('sentence', '')}".strip())
    names = entry.get("experiments") or list(dict.fromkeys(side.experiment for _, side in claim.sides()))
    if names:
        _heading(out, "experiments (reprise show <experiment>)")
        counts = entry.get("n") or {}
        for name in names:
            n = counts.get(name) if isinstance(counts, dict) else None
            out.print(f"{paper}/{name}{'' if n is None else f': {n} replicas'}")
    _heading(out, "judge it again from the records")
    out.print(f"python -m reprise verify --tier {tier} --check")


def _heading(out: Console, text: str) -> None:
    out.print()
    out.print(text, style="bold cyan")


def _table(out: Console, columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    if table.row_count:
        out.print(table)


def _settings(experiment: Resolved) -> Iterator[tuple[str, str, str]]:
    config = experiment.config
    if experiment.is_check:
        yield "check", config["check"], ""
        yield "tolerance", f"{config['tolerance']:g}", ""
        return
    for section, key in (("model", "name"), ("data", "dataset"), ("training", "protocol")):
        yield section, config[section][key], ""
        for option, value in sorted(config[section]["options"].items()):
            yield f"{section}.{option}", str(value), experiment.origins.get(f"{section}.{option}", "")
    yield "precision", config["precision"], experiment.origins.get("precision", "")


def _numbers(project: Project, experiment: Resolved, found: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """One row a metric and split: those that the paper prints first."""
    entry = project.papers[experiment.paper].experiments[experiment.base]
    # Nobody compares perplexities of two texts.
    other = entry.data is not None and entry.data.dataset != experiment.config.get("data", {}).get("dataset")
    stated = {(r.metric, r.split): r for r in entry.reported}
    measured: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for record in found:
        for key, number in numbers(record).items():
            measured.setdefault(key, []).append(number)
    for key in dict.fromkeys([*stated, *measured]):
        paper, ours = stated.get(key), measured.get(key, [])
        center, deviation = spread([value for value, _ in ours]) if ours else (None, None)
        printed = "" if paper is None or paper.value is None else shown(paper.value)
        if paper is not None and paper.unit:
            printed += f" {paper.unit}"
        if printed and other:
            printed += " (another text)"
        yield (
            *key,
            printed,
            "" if center is None else shown(center),
            "" if deviation is None else shown(deviation),
            str(len(ours)),
            ours[0][1] if ours and ours[0][1] != "1" else "",
        )
