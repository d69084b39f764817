"""Draw the figures and write the tables of a tier, and the page and README's results of all tiers.

Without names and without --report everything is written. Names are those of the files:
<paper>-<figure or table>.
"""

from __future__ import annotations

import argparse
import sys

from reprise.cli.common import add_tier, project_and_experiments
from reprise.errors import UserError, report_packages

EXAMPLE = "reprise render rrntn-table-1 rrntn-figure-1 --tier paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", help="figures and tables, for example palindromes-figure-1")
    parser.add_argument(
        "--report", action="store_true", help="write results/report.html from the figures and tables that are there"
    )
    parser.add_argument("--readme", action="store_true", help="write README's results and its forest plot")
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    if given.readme and (given.name or given.report):
        raise UserError("--readme: writes README's results alone; put the names and --report into another call")
    project, experiments = project_and_experiments(given.tier)
    with report_packages("render"):
        from reprise.report.parts.context import every_tier, load_contexts
        from reprise.report.render import render
    if given.readme:
        from reprise.report.page.readme import write_results

        write_results(project, every_tier(project))
        return
    written = []
    if given.name or not given.report:
        written += render(project, load_contexts(project, experiments), given.name)
    if given.report or not given.name:
        with report_packages("render"):
            from reprise.report.page.page import write_page
        written.append(write_page(project, every_tier(project)))
    for path in written:
        print(path, file=sys.stdout)
