"""DVC's stages and Snakemake's rules depend on the packages that their outputs come from."""

import ast
import re
from pathlib import Path

import pytest
from config_helpers import ROOT, project

from reprise.config.schema import Paper
from reprise.config.strict_yaml import load_yaml
from reprise.outputs import JUDGING

SOURCE = ROOT / "src"
COMMANDS = {"collect": "collect", "claims": "verify", "figure": "render", "table": "render"}
"""The command of Reprise that each stage runs."""
OTHERWISE = {
    "cli": "passes on what was asked",
    "counters": "draws the numbers of trainings and of generated texts, which no stage makes",
    "environment": "names folders of data and builds, which decide no number",
    "errors": "the line that a command ends with when it writes nothing",
    "processes": "asks other programs for facts of the machine, which decide no number",
    "terminal": "prints",
    "options": "refuses a mistake in config/, or passes it on",
    "training": "reads run records, which the stages depend on",
    "models": "the page alone quotes their docstrings",
}
"""Packages and modules that commands import and no stage depends on, and why."""


IN_CHECKS = {"claims": {"report"}}
"""What a command imports only where `--check` holds committed tables against the records."""


STAGES = {name: stage.get("do", stage) for name, stage in load_yaml(ROOT / "dvc.yaml")["stages"].items()}


def imported(path: Path, function: str = "") -> set[str]:
    """The modules of Reprise that a file imports, in functions too; with a name in no other function than that."""
    names, tree = set(), ast.parse(path.read_text(encoding="utf-8"))
    others = {f for f in tree.body if isinstance(f, ast.FunctionDef) and function not in ("", f.name)}
    for node in (inner for top in tree.body if top not in others for inner in ast.walk(top)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "reprise":
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def reached(stage: str) -> set[str]:
    """The packages, and modules of none, that a stage's command imports; all that draws, for one that draws."""
    own = SOURCE / f"reprise/cli/{COMMANDS[stage]}.py"
    waiting = imported(own) if own.is_file() else imported(SOURCE / "reprise/cli/steps.py", COMMANDS[stage])
    if COMMANDS[stage] == "render":
        waiting |= set().union(*map(imported, (SOURCE / "reprise/report").rglob("*.py")))
    modules: set[str] = set()
    while waiting:
        module = waiting.pop()
        path = SOURCE / module.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if module not in modules and path.is_file():
            modules.add(module)
            waiting |= imported(path)
    return {module.split(".")[1] for module in modules if module != "reprise"}


@pytest.mark.parametrize("stage", COMMANDS)
def test_a_stage_depends_on_every_package_that_its_command_imports(stage: str) -> None:
    deps = [dep for dep in STAGES[stage]["deps"] if dep.startswith("src/reprise/")]
    assert all((ROOT / dep).exists() for dep in deps if "${" not in dep)
    named = {Path(dep).relative_to("src/reprise").parts[0].removesuffix(".py") for dep in deps}
    unnamed = reached(stage) - named - OTHERWISE.keys() - IN_CHECKS.get(stage, set())
    assert unnamed == set(), "name it in dvc.yaml, or in OTHERWISE with the reason"
    assert named & OTHERWISE.keys() == set()


def test_snakemakes_rules_name_the_same_packages() -> None:
    deps = [Path(dep) for dep in STAGES["claims"]["deps"] if dep.startswith("src/reprise/")]
    assert set(JUDGING) == {dep.name for dep in deps}


def has_records(name: str, paper: Paper, figure: str) -> bool:
    """Whether an experiment of a figure has a record of the tier "paper": without one nothing is drawn."""
    runs = ROOT / "results/paper/runs" / name
    return any(figure in entry.cited_by and any(runs.glob(f"{key}/*")) for key, entry in paper.experiments.items())


def test_every_figure_and_table_is_a_stage() -> None:
    stages = load_yaml(ROOT / "dvc.yaml")["stages"]
    for stage, kind in (("figure", "figures"), ("table", "tables")):
        shown = {
            f"{name}-{key}": name
            for name, paper in project().papers.items()
            for key in getattr(paper, kind)
            if kind == "tables" or has_records(name, paper, key)
        }
        assert {key: item["paper"] for key, item in stages[stage]["foreach"].items()} == shown


def test_a_display_depends_on_its_code_and_on_the_papers_that_it_cites() -> None:
    """A paper cites another's experiments by "<paper>/<experiment>"."""
    stages = load_yaml(ROOT / "dvc.yaml")["stages"]
    papers = project().papers
    items = {**stages["figure"]["foreach"], **stages["table"]["foreach"]}
    for key, item in items.items():
        paper, name = papers[item["paper"]], key.removeprefix(f"{item['paper']}-")
        code = {**paper.figures, **paper.tables}[name].function.partition(".")[0]
        assert code in {item["code"], "shared"}, key
    for name in papers:
        text = (ROOT / f"config/papers/{name}.yaml").read_text(encoding="utf-8")
        cited = {other for other in papers if other != name and re.search(rf"\b{other}/[a-z]", text)}
        assert {item["cites"] for item in items.values() if item["paper"] == name} - {name} == cited


def test_a_display_reads_the_code_of_no_other_paper() -> None:
    folder = SOURCE / "reprise/report/papers"
    for path in folder.rglob("*.py"):
        own = {path.relative_to(folder).parts[0], "shared"}
        modules = {name for name in imported(path) if name.startswith("reprise.report.papers.")}
        assert {name.split(".")[3] for name in modules} <= own, path
