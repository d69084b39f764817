"""Draw the figures, write the tables and the page of a tier from what `reprise collect` gathered.

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
        "--report", action="store_true", help="write report.html from the figures and tables that are there"
    )
    parser.add_argument("--readme", action="store_true", help="write README's section of results, of this tier")
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    if given.readme and (given.name or given.report):
        raise UserError("--readme: writes README's section alone; leave the names and --report to another call")
    project, experiments = project_and_experiments(given.tier)
    with report_packages("render"):
        from reprise.report.context import load_contexts
        from reprise.report.render import render
    contexts = load_contexts(project, experiments)
    if given.readme:
        from reprise.report.readme import write_section

        write_section(project.root / "README.md", contexts)
        return
    written = []
    if given.name or not given.report:
        written += render(project, contexts, given.name)
    if given.report or not given.name:
        with report_packages("render"):
            from reprise.report.page import write_page
        written.append(write_page(project, contexts))
    for path in written:
        print(path, file=sys.stdout)
