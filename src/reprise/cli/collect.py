"""Gather the run records of a tier into metrics.csv, curves.csv.gz, samples.jsonl and metrics.json."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from reprise.cli.common import add_tier, project_and_experiments
from reprise.config.tiers import TIERS
from reprise.errors import EXIT_FAILED
from reprise.training.run_archive import take_in

EXAMPLE = "reprise collect --tier paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)
    parser.add_argument(
        "--from",
        dest="archive",
        type=Path,
        metavar="FILE.tgz",
        help="take in the records that `run --archive FILE.tgz` wrote elsewhere; those of other configurations are "
        "refused, and those that are here already stay as they are",
    )


def run(given: argparse.Namespace) -> int:
    from reprise.evidence.collect import collect
    from reprise.evidence.counted import counted_by

    project, experiments = project_and_experiments(given.tier)
    refused: list[str] = []
    if given.archive is not None:
        new, there, refused = take_in(given.archive, experiments, project.root)
        print(f"{given.archive}: {new} new run records, {there} that are here already")
        for name in refused:
            print(f"{given.archive}: {name}: refused, {_why(name, project.config.tier)}", file=sys.stderr)
    folder = project.root / "results" / project.config.tier
    preparations = {name: dataset.prepare for name, dataset in project.config.datasets.items()}
    found, wanted = collect(experiments, project.root, folder, partial(counted_by, preparations=preparations))
    print(f"{folder}: {found} of {wanted} run records collected")
    return EXIT_FAILED if refused else 0


def _why(record: str, tier: str) -> str:
    """Why a record of an archive is of no experiment that `collect` looks at: "results/<tier>/runs/…"."""
    its = next((of for of in TIERS if record.startswith(f"results/{of}/") and of != tier), None)
    if its:
        return f"of the tier {its}, not of {tier}; take it in with `--tier {its}`"
    return "of no experiment of this configuration"
