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
    _check_displays(project)
    for experiment in experiments:
        write_if_changed(project.root / experiment.config_path(), experiment.to_json())
    replicas = sum(e.replicas for e in experiments)
    print(f"tier {project.config.tier}: {len(experiments)} experiments, {replicas} run records; configuration is sound")


def _check_displays(project: Project) -> None:
    """Raises `UserError` for a figure or table that could not be made, before anything is trained for it.

    Its function is not there, or no experiment stands in it.
    """
    try:
        from pandas import DataFrame

        from reprise.report.context import Context
        from reprise.report.render import entries, function_of
    except ModuleNotFoundError:
        return  # what draws is not installed here
    nothing = DataFrame()
    for entry in entries(project.papers, project.root).values():
        file, paper = f"{project.root / PAPERS / entry.paper}.yaml", project.papers[entry.paper]
        function_of(entry, file)
        context = Context(project.config.tier, entry.paper, paper, [], nothing, nothing, project.root, file)
        if context.of_experiments(entry.id):
            context.cited_by(entry.id)
