"""The figures and tables of the papers, each held to what the catalogue says of the function that draws it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.catalogue.displays import FUNCTIONS, KINDS, DisplayScope
from reprise.catalogue.options.displays import find_display_options
from reprise.catalogue.options.own import make_own_options
from reprise.catalogue.own import is_own, load_own, suggest_target
from reprise.config.claim_checks import check_measured
from reprise.config.mistakes import complete_options
from reprise.config.project import PAPERS
from reprise.config.schema import Display, Experiment, Paper
from reprise.errors import UserError, locate_errors, require_known


@dataclass(frozen=True)
class Entry:
    """One figure or table of one paper; `name` is what its files are called: <paper>-<figure or table>.

    `where` begins the line on a mistake in it: "file: key figures.figure-1".
    """

    kind: str
    paper: str
    id: str
    display: Display
    where: str

    @property
    def name(self) -> str:
        """Return the name of its files, without suffix."""
        return f"{self.paper}-{self.id}"

    def complete_options(self) -> dict[str, Any]:
        """Return the arguments of its function: the options of the file, and the defaults of the others.

        Raises:
            UserError: where there is no such function or option, or where the option has another type.
        """
        function = self.display.function
        if is_own(function):
            with locate_errors(f"{self.where}.function"):
                kind = make_own_options(function, load_own(function), "context", "id")
        else:
            require_known(function, FUNCTIONS[self.kind], f"{self.where}.function", "function", suggest_target)
            kind = find_display_options(self.kind, function)
        options, _ = complete_options(
            kind, function, self.display.options, lambda option: f"{self.where}.options.{option}"
        )
        return options


def list_entries(papers: Mapping[str, Paper], root: Path = Path()) -> dict[str, Entry]:
    """Return every figure and table by name, in the order of the files. Two of one name are a `UserError`."""
    by_name: dict[str, Entry] = {}
    for paper_id, paper in papers.items():
        for kind in KINDS:
            for display_id, display in getattr(paper, kind).items():
                where = f"{root / PAPERS / paper_id}.yaml: key {kind}.{display_id}"
                entry = Entry(kind, paper_id, display_id, display, where)
                if entry.name in by_name:
                    raise UserError(f"{where}: '{entry.name}' is taken; choose another name")
                by_name[entry.name] = entry
    return by_name


def check_displays(papers: Mapping[str, Paper], root: Path) -> None:
    """Refuse the first figure or table that could not be made, before anything is trained for it."""
    for entry in list_entries(papers, root).values():
        options = entry.complete_options()
        function, experiments = entry.display.function, papers[entry.paper].experiments
        cited = {name: e for name, e in experiments.items() if entry.id in e.cited_by}
        scope = FUNCTIONS[entry.kind].get(function, DisplayScope())
        if not scope.has_experiments:
            continue
        if not cited:
            raise UserError(f"{entry.where}: no experiment has it under cited_by; add it to one")
        for name, experiment in cited.items():
            if requirement := _find_unmet_requirement(scope, experiment):
                raise UserError(
                    f"{entry.where}.function: {function} draws {requirement}, which '{name}' is not; name another "
                    f"function, or take {entry.id} out of the cited_by of '{name}'"
                )
            if options.keys() >= {"metric", "split"}:
                check_measured(experiment, options["metric"], options["split"], f"{entry.where}.options")
        if scope.alone and len(cited) > 1:
            raise UserError(f"{entry.where}.function: {function} draws one experiment, not {', '.join(cited)}")


def _find_unmet_requirement(scope: DisplayScope, experiment: Experiment) -> str:
    """Return the kind of experiment that the function draws, where this is not one; "" where it is."""
    protocol = experiment.training.protocol if experiment.training else None
    if scope.checks:
        return "checks" if protocol else ""
    if protocol is None or (scope.protocols and protocol not in scope.protocols):
        return " or ".join(scope.protocols) or "a trained experiment"
    for setting in scope.settings:
        section, _, option = setting.partition(".")
        if option not in getattr(experiment, section).settings:
            return f"an experiment with {setting}"
    return ""
