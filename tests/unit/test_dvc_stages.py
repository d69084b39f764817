"""DVC's stages: each depends on the code that its outputs come from, so that `dvc status` tells when they are old."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from project import ROOT

from reprise.config.strict_yaml import load_yaml

SOURCE = ROOT / "src"
COMMANDS = {"collect": "collect", "claims": "verify", "figure": "render", "table": "render"}
"""The command of Reprise that each stage runs."""
READERS = "reads config/, which the stages depend on; what an experiment is stands in the hash that names its records"
CORPORA = "makes or reads corpora, whose options stand in that hash and whose counts stand in the records"
ENTERS_OTHERWISE = {
    "reprise.cli.common": "passes on what was asked",
    "reprise.config.claims": READERS,
    "reprise.config.displays": READERS,
    "reprise.options": READERS,
    "reprise.config.project": READERS,
    "reprise.records.resolved": READERS,
    "reprise.config.schema": READERS,
    "reprise.config.tiers": "names the tiers; what it changes is said in other tiers than the stages'",
    "reprise.data.corpus": CORPORA,
    "reprise.data.text.ldc_wsj": CORPORA,
    "reprise.data.synthetic.markov": CORPORA,
    "reprise.data.options": CORPORA,
    "reprise.data.pairs.mteval": "cuts translations into words to be counted, in training; the records hold the counts",
    "reprise.errors": "the line that a command ends with when it writes nothing",
    "reprise.registered": "finds the function that draws, or ends the command with a line",
    "reprise.records.record": "reads a run record, or refuses it",
}
"""Modules that no stage depends on although its command imports them, and why; what they import is theirs."""


def stages() -> dict[str, dict]:
    """Every stage as it is written, those of `foreach` by their name alone."""
    found = load_yaml(ROOT / "dvc.yaml")["stages"]
    return {name: stage.get("do", stage) for name, stage in found.items()}


def file_of(module: str) -> Path | None:
    path = SOURCE / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def imported(path: Path) -> set[str]:
    """The modules of Reprise that a file imports, in functions and for annotations too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in inner if name.startswith("reprise.") and file_of(name)}
            names |= modules if modules == inner else {node.module, *modules}
    return {name for name in names if name.partition(".")[0] == "reprise" and name != "reprise"}


def reached(stage: str) -> dict[Path, str]:
    """The name of each module by its file: what the command imports and what that imports, but not `ENTERS_OTHERWISE`.

    Figures and tables are looked up by name: all of them count.
    """
    waiting = imported(SOURCE / "reprise/cli" / f"{COMMANDS[stage]}.py")
    if COMMANDS[stage] == "render":
        files = (SOURCE / "reprise/report").rglob("*.py")
        waiting |= {".".join(p.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for p in files}
    found: dict[Path, str] = {}
    while waiting:
        module = waiting.pop()
        path = file_of(module)
        assert path, f"no module {module}"
        if module not in ENTERS_OTHERWISE and path not in found:
            found[path] = module
            waiting |= imported(path)
    return found


@pytest.mark.parametrize("stage", COMMANDS)
def test_a_stage_depends_on_the_code_that_its_outputs_come_from(stage: str) -> None:
    deps = [ROOT / dep for dep in stages()[stage]["deps"] if "$" not in dep]
    assert all(dep.exists() for dep in deps)
    modules = reached(stage)
    assert "reprise.evidence.numbers" in modules.values()
    missing = {module for path, module in modules.items() if not {path, *path.parents} & set(deps)}
    assert not missing, "name them under deps in dvc.yaml, or here with the reason why a change needs no new outputs"


def test_evidence_is_what_stages_reach() -> None:
    """They depend on the whole folder, so that whatever else lay there would make everything old."""
    found = {path for stage in COMMANDS for path in reached(stage)}
    folder = SOURCE / "reprise/evidence"
    assert set(folder.rglob("*.py")) - found == {folder / "__init__.py"}


def test_what_is_left_out_is_imported_and_no_dependency() -> None:
    """A reason that no stage needs any more, or that a dependency contradicts, goes."""
    every = set().union(*(imported(path) for stage in COMMANDS for path in reached(stage)))
    every |= set().union(*(imported(SOURCE / "reprise/cli" / f"{name}.py") for name in COMMANDS.values()))
    assert ENTERS_OTHERWISE.keys() - every == set()
    deps = {ROOT / dep for stage in stages().values() for dep in stage["deps"]}
    files = {file_of(module) for module in ENTERS_OTHERWISE}
    assert not {path for path in files if {path, *path.parents} & deps}


def test_figures_and_metrics_are_what_dvc_shows() -> None:
    """SVG alone: it is in git, so that there is something to show before anything was drawn or pulled."""
    content = load_yaml(ROOT / "dvc.yaml")
    assert "plots" not in content
    assert content["metrics"] == ["results/paper/metrics.json"]
    assert stages()["figure"]["plots"] == [{"results/paper/figures/${key}.svg": {"cache": False}}]
