"""Say which reading of a paper is nearest to its printed numbers: descriptive, and found afterwards."""

from __future__ import annotations

import argparse

from reprise.cli.common import add_tier, project_and_experiments
from reprise.errors import UserError, known, report_packages

EXAMPLE = "reprise readings rrntn --tier paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", help="for example rrntn")
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    project, experiments = project_and_experiments(given.tier)
    if given.paper not in project.papers:
        raise UserError(f"no paper '{given.paper}'; {known(given.paper, project.papers)}")
    with report_packages("readings"):
        from reprise.evidence.readings import distances, sentence
        from reprise.evidence.runs import load_runs
    paper = project.papers[given.paper]
    found = distances(paper, load_runs(project, experiments)[given.paper])
    if not found:
        print(f"{given.paper}: no printed number has a trained one beside it at the tier {project.config.tier}")
        return
    print(
        f"{'reading':44} {'rows':>4} {'seeds':>5} {'level %':>8} {'as chosen':>9} {'effect %':>8} {'log-lik':>8} factor"
    )
    for one in found:
        numbers = [f"{_shown(value):>8}" for value in (one.effect, one.likelihood)]
        print(
            f"{one.reading:44} {one.rows:4} {one.seeds:5} {_shown(one.level):>8} {_shown(one.chosen):>9} "
            f"{' '.join(numbers)} {one.factor:.3f}"
        )
    print(sentence(paper, found))


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value < 1000 else "> 1000"
