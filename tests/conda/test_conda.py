"""`snakemake --use-conda all`, with a stand-in for conda: each environment is made once, and is enough for its rules.

What a channel of packages would have to show (that the packages of a file can be had together) is not tested here.
"""

from pathlib import Path

import pytest
from project import PYTHON, Project, new_project, script

pytestmark = pytest.mark.conda

ACTIVATE = """\
[ -d "$1" ] || { echo "no environment $1" >&2; return 1; }
export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"
"""
ENVIRONMENTS = {"resolve": "data", "prepare": "data", "train": "train"}
"""Environment by command of Reprise; `report` is that of all others."""


@pytest.fixture(scope="session")
def first(tmp_path_factory, pipeline_variables):
    """A project whose pipeline has run with the stand-in, and that run. Not to be changed."""
    folder = tmp_path_factory.mktemp("c")
    stand_in = Path(__file__).resolve().with_name("stand_in.py")
    script(folder / "conda/bin/conda", f'exec "{PYTHON}" "{stand_in}" "$@"')
    (folder / "conda/bin/activate").write_text(ACTIVATE, encoding="utf-8")
    (folder / "conda/log").touch()
    variables = {**pipeline_variables, "CONDA_STAND_IN": str(folder / "conda")}
    project = new_project(folder / "clone", variables)
    project = Project(project.root, {**variables, "PATH": f"{folder}/conda/bin:{project.environment()['PATH']}"})
    for paper in ("digits", "words"):
        project.edit(f"config/papers/{paper}.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    return project, project.snakemake("--use-conda")


def test_every_rule_runs_in_its_environment(first):
    """And needs nothing else: what the environment's file does not bring is hidden."""
    project, run = first
    assert run.status == 0, run.log
    assert (project.root / "results/report.html").is_file()
    log = Path(project.variables["CONDA_STAND_IN"], "log").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("conda env create ") for line in log) == 3
    names = {path.read_bytes(): path.stem for path in (project.root / "envs").iterdir()}
    used = set()
    for line in (line for line in log if line.startswith("python ")):
        _, environment, *command = line.split()
        name = names[(project.root / ".snakemake/conda" / environment / "environment.yaml").read_bytes()]
        assert command[:3] == ["-P", "-m", "reprise"], line
        assert name == ENVIRONMENTS.get(command[3], "report"), line
        used.add(name)
    assert used == {"data", "train", "report"}


def test_a_package_that_a_file_does_not_bring_is_missed(first, tmp_path):
    """The stand-in can fail: with a line less in the file the rule fails, and names the package."""
    copy = first[0].copy(tmp_path / "clone")
    text = (copy.root / "envs/report.yaml").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "seaborn" in line]
    copy.edit("envs/report.yaml", f"{line}\n", "")
    figure = "results/quick/figures/digits-curves.svg"
    (copy.root / figure).unlink()
    run = copy.snakemake("--use-conda", targets=[figure])
    assert run.status != 0
    assert "seaborn" in run.log
    assert "`make env`" in run.log
    assert "Traceback" not in run.log
    assert not (copy.root / figure).exists()
