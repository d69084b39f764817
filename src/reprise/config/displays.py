"""The figures and tables of the papers, each held to what is registered of the function that draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.catalogue.displays import KINDS, Draws, functions
from reprise.config.project import PAPERS
from reprise.config.schema import Display, Experiment, Paper
from reprise.errors import UserError, known
from reprise.options import check_options


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
        return f"{self.paper}-{self.id}"

    def options(self) -> dict[str, Any]:
        """What its function is told: the options of the file over the registered ones.

        Errors: `UserError` where no such function is registered, or one of the options is not or has another type.
        """
        function, there = self.display.function, functions()[self.kind]
        if function not in there:
            folder = f"src/reprise/report/papers/*/{self.kind}.py"
            raise UserError(f"{self.where}.function: no function '{function}' in {folder}; {known(function, there)}")
        defaults = there[function].options
        kinds = {name: type(value) for name, value in defaults.items()}
        return check_options({**defaults, **self.display.options}, kinds, f"{self.where}.options", function)


def entries(papers: Mapping[str, Paper], root: Path = Path()) -> dict[str, Entry]:
    """Every figure and table by name, in the order of the files. Two of one name are a `UserError`."""
    found: dict[str, Entry] = {}
    for paper_id, paper in papers.items():
        for kind in KINDS:
            for display_id, display in getattr(paper, kind).items():
                where = f"{root / PAPERS / paper_id}.yaml: key {kind}.{display_id}"
                entry = Entry(kind, paper_id, display_id, display, where)
                if entry.name in found:
                    raise UserError(f"{where}: '{entry.name}' is taken; choose another name")
                found[entry.name] = entry
    return found


def check_displays(papers: Mapping[str, Paper], root: Path) -> None:
    """Raises `UserError` at the first figure or table that could not be made, before anything is trained for it.

    Its name is taken, its function or an option of it is not there, no experiment stands in it, or one that the
    function does not draw.
    """
    for entry in entries(papers, root).values():
        entry.options()
        experiments = papers[entry.paper].experiments
        cited = {name: e for name, e in experiments.items() if entry.id in e.cited_by}
        if functions()[entry.kind][entry.display.function].of_experiments:
            if not cited:
                raise UserError(f"{entry.where}: no experiment has it under cited_by; add it to one")
            _check_drawn(entry, cited)


def _check_drawn(entry: Entry, cited: Mapping[str, Experiment]) -> None:
    function = entry.display.function
    draws = functions()[entry.kind][function]
    for name, experiment in cited.items():
        asked, is_there = _mismatch(draws, experiment)
        if asked:
            raise UserError(
                f"{entry.where}.function: {function} draws {asked}, '{name}' {is_there}; name another, or take "
                f"{entry.id} out of the cited_by of '{name}'"
            )
    if draws.alone and len(cited) > 1:
        raise UserError(f"{entry.where}.function: {function} draws one experiment, not {', '.join(cited)}; keep one")


def _mismatch(draws: Draws, experiment: Experiment) -> tuple[str, str]:
    """What would be drawn and what the experiment is in place of that; "" where it is drawn."""
    protocol = experiment.training.protocol if experiment.training else None
    is_there = f"is {protocol}" if protocol else "is a check"
    if draws.checks:
        return ("checks" if protocol else "", is_there)
    if protocol is None or (draws.protocols and protocol not in draws.protocols):
        return " or ".join(draws.protocols) or "what is trained", is_there
    for setting in draws.settings:
        section, _, option = setting.partition(".")
        if option not in getattr(experiment, section).settings:
            return f"what has {setting}", "has not"
    return "", ""
