"""How long the rest takes."""

import argparse
from pathlib import Path

from reprise.cli.common import console, not_in_tier, project_and_experiments, table
from reprise.config.resolve import other_tiers
from reprise.errors import UserError
from reprise.estimate.calibration import calibration
from reprise.estimate.estimates import estimates, hours, summary
from reprise.records.resolved import Resolved
from reprise.terminal import STDERR


def estimate_command(given: argparse.Namespace) -> None:
    """Say how long what is missing will take on this machine, one core a job.

    Experiments with finished replicas take as long as those did, and so do their variants, or as those of another tier
    did for each of their epochs or steps; the others are measured for a few seconds each, once (kept in
    build/estimates.json), as far as their corpora are prepared. Where they are not, what finished replicas took on
    another processor stands in, and is called so.
    """

    if given.cores < 1:
        raise UserError(f"--cores {given.cores}: give a number of cores above 0")
    project, experiments = project_and_experiments(given.tier)
    names = {e.id for e in experiments} | {e.paper for e in experiments}
    for name in given.name:
        if name not in names:
            raise not_in_tier(project.config.tier, "paper or experiment", name, names)
    chosen = [e for e in experiments if not given.name or {e.id, e.paper} & set(given.name)]
    with STDERR.status("") as status:

        def measured(experiment: Resolved, root: Path) -> tuple[float, float]:
            status.update(f"measuring {experiment.id}")
            return calibration(experiment, root)

        calibrate = None if given.no_calibration else measured
        found = estimates(chosen, Path(), calibrate, among=experiments, tiers=other_tiers(project))
    rows = []
    for one in (e for e in found if e.missing):
        times = ("-" if seconds is None else hours(seconds) for seconds in (one.seconds, one.total))
        rows.append((one.experiment.id, f"{one.missing} of {one.wanted}", *times, one.source))
    out = console()
    if rows:
        out.print(table(("experiment", "missing", "each", "all", "from"), rows))
    groups = {name: [e for e in found if e.experiment.paper == name] for name in dict.fromkeys(e.paper for e in chosen)}
    for title, some in {**groups, "all": found}.items():
        out.print(f"{title}: {summary(some, given.cores)}", soft_wrap=True)
