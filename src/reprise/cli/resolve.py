"""Check config/ and write the resolved configuration of every experiment of a tier to results/<tier>/config/."""

from __future__ import annotations

import argparse

from reprise.cli.common import add_tier, project_and_experiments
from reprise.config.project import PAPERS, Project
from reprise.files import write_if_changed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    project, experiments = project_and_experiments(given.tier)
    _check_functions(project)
    for experiment in experiments:
        write_if_changed(project.root / experiment.config_path(), experiment.to_json())
    replicas = sum(e.replicas for e in experiments)
    print(f"tier {project.config.tier}: {len(experiments)} experiments, {replicas} run records; configuration is sound")


def _check_functions(project: Project) -> None:
    """Raises `UserError` for a figure or table whose function is not there, before anything is trained for it."""
    try:
        from reprise.report.render import entries, function_of
    except ModuleNotFoundError:
        return  # what draws is not installed here
    for entry in entries(project.papers, project.root).values():
        function_of(entry, f"{project.root / PAPERS / entry.paper}.yaml")
