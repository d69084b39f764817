"""Gather the run records of a tier into metrics.csv, curves.csv.gz, samples.jsonl and metrics.json."""

from __future__ import annotations

import argparse
from functools import partial

from reprise.cli.common import add_tier, project_and_experiments

EXAMPLE = "reprise collect --tier paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    from reprise.evidence.collect import collect
    from reprise.evidence.counted import counted_by

    project, experiments = project_and_experiments(given.tier)
    folder = project.root / "results" / project.config.tier
    preparations = {name: dataset.prepare for name, dataset in project.config.datasets.items()}
    found, wanted = collect(experiments, project.root, folder, partial(counted_by, preparations=preparations))
    print(f"{folder}: {found} of {wanted} run records collected")
