"""Gather the run records of a tier into metrics.csv, curves.csv.gz, samples.jsonl and metrics.json."""

from __future__ import annotations

import argparse

from reprise.cli.common import add_tier, project_and_experiments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    from reprise.evidence.collect import collect

    project, experiments = project_and_experiments(given.tier)
    folder = project.root / "results" / project.config.tier
    found, wanted = collect(experiments, project.root, folder)
    print(f"{folder}: {found} of {wanted} run records collected")
