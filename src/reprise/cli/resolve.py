"""Check config/ and write the resolved configuration of every experiment of a tier to results/<tier>/config/."""

from __future__ import annotations

import argparse

from reprise.cli.common import add_tier, project_and_experiments
from reprise.files import write_if_changed

EXAMPLE = "reprise resolve --tier quick"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    project, experiments = project_and_experiments(given.tier)
    for experiment in experiments:
        write_if_changed(project.root / experiment.config_path(), experiment.to_json())
    replicas = sum(e.replicas for e in experiments)
    print(f"tier {project.config.tier}: {len(experiments)} experiments, {replicas} run records; configuration is sound")
