"""Estimate how long the missing replicas take."""

import argparse
from pathlib import Path

from reprise.cli.common import load_tier, make_console, make_table, select_experiments
from reprise.config.resolve import resolve_other_tiers
from reprise.estimate.estimates import estimate_times, format_duration, summarise_estimates


def estimate_command(options: argparse.Namespace) -> None:
    """Estimate how long the missing replicas will take, one core a job, by the records of finished ones.

    A replica is estimated by the finished replicas of its experiment, if possible on this kind of processor. A variant
    without any is estimated by its experiment. Without these, replicas of another tier count, by their time for an
    epoch or a step.
    """
    project, experiments = load_tier(options.tier)
    chosen = select_experiments(project, experiments, options.name)
    estimates = estimate_times(chosen, Path(), tier_experiments=experiments, other_tiers=resolve_other_tiers(project))
    rows = []
    for estimate in (e for e in estimates if e.missing):
        times = (
            "-" if seconds is None else format_duration(seconds)
            for seconds in (estimate.seconds, estimate.total_seconds)
        )
        rows.append((estimate.experiment.id, f"{estimate.missing} of {estimate.replicas}", *times, estimate.source))
    out = make_console()
    if rows:
        out.print(make_table(("experiment", "missing", "each", "all", "from"), rows))
    groups = {
        name: [e for e in estimates if e.experiment.paper == name] for name in dict.fromkeys(e.paper for e in chosen)
    }
    for title, group in {**groups, "all": estimates}.items():
        out.print(f"{title}: {summarise_estimates(group, options.cores)}", soft_wrap=True)
