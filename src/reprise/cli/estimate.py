"""How long the rest takes."""

import argparse
from pathlib import Path

from reprise.cli.common import console, named_experiments, project_and_experiments, table
from reprise.config.resolve import resolve_other_tiers
from reprise.estimate.estimates import estimates, hours, summary


def estimate_command(options: argparse.Namespace) -> None:
    """Say how long what is missing will take, one core a job, by the records of finished replicas.

    A replica is estimated by the finished replicas of its experiment, if possible on this kind of processor. A variant
    without any is estimated by its experiment. Without these, replicas of another tier count, by their time for an
    epoch or a step.
    """
    project, experiments = project_and_experiments(options.tier)
    chosen = named_experiments(project, experiments, options.name)
    estimated = estimates(chosen, Path(), among=experiments, tiers=resolve_other_tiers(project))
    rows = []
    for one in (e for e in estimated if e.missing):
        times = ("-" if seconds is None else hours(seconds) for seconds in (one.seconds, one.total))
        rows.append((one.experiment.id, f"{one.missing} of {one.wanted}", *times, one.source))
    out = console()
    if rows:
        out.print(table(("experiment", "missing", "each", "all", "from"), rows))
    groups = {
        name: [e for e in estimated if e.experiment.paper == name] for name in dict.fromkeys(e.paper for e in chosen)
    }
    for title, some in {**groups, "all": estimated}.items():
        out.print(f"{title}: {summary(some, options.cores)}", soft_wrap=True)
