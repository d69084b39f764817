"""Say how long what is missing will take on this machine, one core a job.

Experiments with finished replicas take as long as those did, and so do their variants, or as those of another tier did
for each of their epochs or steps; the others are measured for a few seconds each, once (kept in build/estimates.json),
as far as their corpora are prepared. Where they are not, what finished replicas took on another processor stands in,
and is called so. What a GPU would take is modelled, not measured.
"""

from __future__ import annotations

import argparse
import os

from reprise.cli.common import add_tier, not_in_tier, project_and_experiments
from reprise.config.resolve import other_tiers
from reprise.errors import UserError
from reprise.estimate.calibration import calibration
from reprise.estimate.estimates import MODEL, Estimate, estimates, hours, summary
from reprise.estimate.gpu_model import GPUS
from reprise.records.resolved import Resolved

EXAMPLE = "reprise estimate rrntn --tier paper --cores 8"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)
    parser.add_argument("name", nargs="*", help="<paper> or <paper>/<experiment>; default: all of the tier")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="default: those of this machine")
    parser.add_argument("--gpu", choices=GPUS, help="where stacks train, by a model of their work")
    parser.add_argument("--no-calibration", action="store_true", help="use what is known and measure nothing")


def run(given: argparse.Namespace) -> None:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    if given.cores < 1:
        raise UserError(f"--cores {given.cores}: give a number of cores above 0")
    project, experiments = project_and_experiments(given.tier)
    names = {e.id for e in experiments} | {e.paper for e in experiments}
    for name in given.name:
        if name not in names:
            raise not_in_tier(project.config.tier, "paper or experiment", name, names)
    chosen = [e for e in experiments if not given.name or {e.id, e.paper} & set(given.name)]
    gpu = GPUS[given.gpu] if given.gpu else None
    with Console(stderr=True).status("") as status:

        def measured(experiment: Resolved, root: Path) -> tuple[float, float]:
            status.update(f"measuring {experiment.id}")
            return calibration(experiment, root)

        calibrate = None if given.no_calibration else measured
        found = estimates(chosen, Path(), calibrate, gpu, among=experiments, tiers=other_tiers(project))
    table = Table()
    for title in ("experiment", "missing"):
        table.add_column(title, no_wrap=True)
    for title in ("each", "all"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("from")
    for one in found:
        if one.missing:
            table.add_row(*_row(one))
    console = Console()
    if table.row_count:
        Console(width=max(console.width, 130)).print(table)
    groups = {name: [e for e in found if e.experiment.paper == name] for name in dict.fromkeys(e.paper for e in chosen)}
    for title, some in {**groups, "all": found}.items():
        on_gpu = [e for e in some if e.source == MODEL]
        line = f"{title}: {summary([e for e in some if e not in on_gpu], given.cores)}"
        if on_gpu:
            jobs, seconds = sum(e.missing for e in on_gpu), sum(e.total for e in on_gpu)
            line += f"; {jobs} more in stacks on one {gpu.title}: {hours(seconds)}, by a model, not measured"
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _row(one: Estimate) -> tuple[str, ...]:
    each = "-" if one.seconds is None else hours(one.seconds)
    return (
        one.experiment.id,
        f"{one.missing} of {one.wanted}",
        each,
        "-" if one.total is None else hours(one.total),
        one.source,
    )
