"""Reprise as an installed package: a paper of one's own in a folder outside of any clone."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from project import PYTHON, ROOT, Project

from reprise.config.strict_yaml import load_yaml

pytestmark = [pytest.mark.pipeline, pytest.mark.timeout(1800)]

GATE = Path(__file__).with_name("gate.py")


def call(*command):
    """Run a command for which no package of the tests' own is installed."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=clean)


def build_wheel(folder):
    """Build the wheel from a copy of its sources, so that nothing is written into the clone."""
    source = folder / "source"
    for name in ("src", "workflow", "envs"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", source)
    process = call(
        PYTHON, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation", source, "-w", folder, "-q"
    )
    assert process.returncode == 0, process.stderr
    (wheel,) = folder.glob("reprise-*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory, pipeline_variables):
    """An empty folder and the programs of a new virtual environment, which has the wheel and the locked packages alone.

    Nobody activates it. Skipped where the packages cannot be had; that the wheel itself installs beside them is part
    of the test.
    """
    folder = tmp_path_factory.mktemp("wheel")
    wheel, home = build_wheel(folder), folder / "venv"
    assert call(sys.executable, "-m", "venv", home).returncode == 0
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    torch = re.search(r"^torch==.*", lock, re.MULTILINE)[0]
    (folder / "others.txt").write_text(lock.replace(torch, ""), encoding="utf-8")
    pip = (home / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps")
    quick = (PYTHON, "-m", "uv", "pip", "install", "--quiet", "--system-certs", "--no-deps", "--python", home)
    others = ("--requirement", folder / "others.txt")
    if call(*quick, *others).returncode and (process := call(*pip, *others)).returncode:
        pytest.skip(f"the locked packages cannot be installed: {process.stderr.strip().splitlines()[-1]}")
    # torch asks for setuptools, which `pip freeze` leaves out of the lock.
    if (process := call(*pip, torch, "setuptools>=77.0.3")).returncode:
        pytest.skip(f"torch cannot be installed: {process.stderr.strip().splitlines()[-1]}")
    # Without an index it installs only where the locked packages are all that it requires.
    process = call(home / "bin/python", "-m", "pip", "install", "--no-index", "--quiet", f"{wheel}[pipeline,data]")
    assert process.returncode == 0, process.stderr
    yield Project(folder, {**pipeline_variables, "PATH": os.defpath}), home / "bin"
    shutil.rmtree(folder)


def test_a_new_folder_runs_to_its_page_from_the_wheel(installed):
    folder, programs = installed
    reprise, snakemake = str(programs / "reprise"), str(programs / "snakemake")
    assert folder.run(reprise, "new", "mypaper").returncode == 0
    project = Project(folder.root / "mypaper", folder.variables)
    workflow = Path(project.run(reprise, "snakefile").stdout.strip())
    assert workflow.is_relative_to(programs.parent)

    plan = project.run(snakemake, "--cores", "2", "--dry-run")
    assert plan.returncode == 0, plan.stderr
    trainings = set(re.findall(r"training (\S+), replica (\d+)", plan.stdout))
    names = {"srn", "scrn", "srn@learning-rate=larger", "scrn@learning-rate=larger"}
    assert trainings == {(f"mypaper/{name}", str(replica)) for name in names for replica in range(3)}

    process = project.run(snakemake, "--cores", "2")
    assert process.returncode == 0, process.stderr
    page = (project.root / "results/report.html").read_text(encoding="utf-8")
    claim = load_yaml(project.root / "config/papers/mypaper.yaml")["claims"]["C1"]
    assert claim["tested"] in page
    assert len(project.records()) == 12

    # The same jobs by the other way to the workflow: all of them are done.
    second = folder.run(snakemake, "--cores", "1", "--snakefile", str(workflow), "--directory", "mypaper")
    assert second.returncode == 0, second.stderr
    assert "Nothing to be done" in second.stderr


@pytest.mark.slow
def test_the_commands_need_no_extra(tmp_path):
    """From `new` to the page with the packages that pyproject.toml names as dependencies, and those that these need."""
    names = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    file = tmp_path / "base.yaml"
    file.write_text("".join(f"  - {re.split('[>=]', name)[0]}==0\n" for name in names), encoding="utf-8")
    (tmp_path / "gate").mkdir()
    shutil.copy(GATE, tmp_path / "gate/sitecustomize.py")
    variables = {"REPRISE_TEST_ENVIRONMENT": str(file), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path / 'gate'}"}
    project = Project(tmp_path / "few", variables)
    assert Project(tmp_path, variables).run(PYTHON, "-m", "reprise", "new", "few").returncode == 0
    paper = project.root / "config/papers/few.yaml"
    text = paper.read_text(encoding="utf-8")
    for long, short in (
        ("max_epochs: {value: 8", "max_epochs: {value: 1"),
        ("replicas: 3", "replicas: 2"),
        ("training_sentences: {value: 500", "training_sentences: {value: 60"),
    ):
        assert long in text
        text = text.replace(long, short)
    paper.write_text(text, encoding="utf-8")
    commands = ("resolve", "prepare few/scrn", "list", "train few/scrn --replica 0", "run --tier quick", "collect")
    for command in (*commands, "verify", "render", "render --report", "show few/C1"):
        process = project.run(PYTHON, "-m", "reprise", *command.split())
        assert process.returncode == 0, f"{command}: {process.stderr}"
    hidden = project.run(PYTHON, "-c", "import snakemake")
    assert "ModuleNotFoundError" in hidden.stderr
