"""Files that are made from run records, and what they depend on: data of a tier, figures, tables and the page."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reprise.config.project import Project
from reprise.records.resolved import FULL, TIERS

JUDGING = ("catalogue", "config", "data", "evaluation", "evidence", "files.py", "records", "sums.py", "units.py")
"""Packages and modules that decide what is collected and judged (as in dvc.yaml). Training is none of them."""
_CODE_SUFFIXES = {".py", ".j2", ".css", ".js", ".mplstyle"}


class Outputs:
    """The files that follow from the run records of a tier.

    Args:
        project: The checked configuration; its folder is the current one.
        unavailable: Ids of experiments that have no record and will have none.
    """

    def __init__(self, project: Project, unavailable: Iterable[str] = ()) -> None:
        self.project, self.folder, self.unavailable = project, f"results/{project.config.tier}", {*unavailable}
        names = ("metrics.csv", "curves.csv.gz", "samples.jsonl", "metrics.json")
        self.collected = [f"{self.folder}/{name}" for name in names]
        self.claims = f"{self.folder}/claims.json"
        # Titles, captions and reported numbers; the titles of datasets stand in config/config.yaml.
        self.wording = ["config/config.yaml", *(f"config/papers/{name}.yaml" for name in project.papers)]
        self.reference = sorted(map(str, Path("config/reference").glob("*.csv")))
        # Other tiers say which of the committed verdicts of the tier paper are not theirs.
        self.full_claims = self._list_existing(["claims.json"], [FULL])
        # The page shows the results of every tier.
        self.other_results = self._list_existing(["claims.json", "metrics.csv", "figures/*.svg"], TIERS)
        self.judging = list_code_files(JUDGING)
        self.drawing = [*self.judging, *list_code_files(["report"])]
        # The page quotes the equations of the models' docstrings besides.
        self.paging = [*self.drawing, *list_code_files(["models"])]

    def _list_existing(self, patterns: Iterable[str], tiers: Iterable[str]) -> list[str]:
        """Return the existing files of other tiers that match; no job of this tier makes them."""
        folders = [Path("results", tier) for tier in tiers if tier != self.project.config.tier]
        return sorted(str(path) for folder in folders for pattern in patterns for path in folder.glob(pattern))

    def list_displays(self, paper: str, kind: str, suffixes: Iterable[str]) -> list[str]:
        """Return the files of a paper's displays.

        Args:
            paper: The paper's name.
            kind: "figures" or "tables".
            suffixes: The formats, for example "svg".
        """
        keys = self.list_drawn_figures(paper) if kind == "figures" else self.project.papers[paper].tables
        return [f"{self.folder}/{kind}/{paper}-{key}.{suffix}" for key in keys for suffix in suffixes]

    def list_drawn_figures(self, paper: str) -> list[str]:
        """Return the names of a paper's figures of which the tier has an experiment; the others stay undrawn."""
        entry, tier = self.project.papers[paper], self.project.config.tier
        experiments = entry.experiments.items()
        drawn = [e for name, e in experiments if tier in e.tiers and f"{paper}/{name}" not in self.unavailable]
        cited = {key for e in drawn for key in e.cited_by}
        return [key for key in entry.figures if key in cited]

    def list_figures(self) -> list[str]:
        """Return the files of all figures."""
        return [
            path
            for paper in self.project.papers
            for path in self.list_displays(paper, "figures", ("svg", "png", "pdf"))
        ]

    def list_tables(self) -> list[str]:
        """Return the files of all tables."""
        return [
            path for name in self.project.papers for path in self.list_displays(name, "tables", ("csv", "md", "html"))
        ]

    def list_all(self) -> list[str]:
        """Return every file of the tier, and the page of all tiers."""
        return [*self.collected, self.claims, *self.list_figures(), *self.list_tables(), "results/report.html"]

    def label_displays(self, paper: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the figures (SVG) and tables (HTML) of a paper, and how Snakemake's own report lists each.

        Args:
            paper: The paper's name.
        """
        entry = self.project.papers[paper]
        figures = {key: entry.figures[key] for key in self.list_drawn_figures(paper)}
        for kind, suffix, displays in (("figure", "svg", figures), ("table", "html", entry.tables)):
            for key, display in displays.items():
                # Snakemake makes the category the name of a link, which a colon would end.
                yield (
                    f"{self.folder}/{kind}s/{paper}-{key}.{suffix}",
                    {
                        "category": f"{entry.document} {entry.title}",
                        "subcategory": f"{kind.capitalize()}s",
                        "labels": {kind: display.title, "place": display.place},
                    },
                )


def list_code_files(names: Iterable[str]) -> list[str]:
    """Return the files of packages and modules: in a clone as they lie there, else where reprise is installed."""
    package = Path(__file__).resolve().parent
    files: list[Path] = []
    for path in (package / name for name in names):
        files += [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in _CODE_SUFFIXES)
    return [str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path) for path in files]
