"""`snakemake --use-conda all`, with a stand-in for conda: which environment is made when, and is enough for its rules.

What a channel of packages would have to show (that the packages of a file can be had together) is not tested here.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from project import COMPILED, PYTHON, Project, Run, new_project
from stand_in import install

pytestmark = pytest.mark.conda

ENVIRONMENTS = {"prepare": "data", "train": "train"}
"""Environment by command of Reprise; `report` is that of all others."""


@dataclass(frozen=True)
class Conda:
    """A project whose commands find the stand-in, and the lines that it wrote."""

    project: Project

    def lines(self, start: str) -> list[str]:
        log = Path(self.project.variables["CONDA_STAND_IN"]) / "log"
        return [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith(start)]

    def made(self) -> list[str]:
        """The environments made so far, by the name of their folder."""
        return [Path(line.rpartition("--prefix ")[2]).name for line in self.lines("conda env create ")]

    def snakemake(self, *arguments: str) -> Run:
        command = (PYTHON, "-m", "snakemake", "--cores", "2", "--use-conda", "--config", "tier=quick")
        done = self.project.run(*command, *arguments)
        return Run(done.returncode, done.stdout, done.stderr)

    def copy(self, folder: Path) -> Conda:
        return Conda(self.project.copy(folder))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Conda, Run]:
    """A project whose pipeline has run with the stand-in, and that run. Not to be changed."""
    folder = tmp_path_factory.mktemp("c")
    install(folder / "conda", PYTHON)
    variables = {
        "TMPDIR": str(folder),
        "REPRISE_BUILD": str(COMPILED),
        "REPRISE_WARM_IDLE": "5",
        "CONDA_STAND_IN": str(folder / "conda"),
    }
    project = new_project(folder / "clone", variables)
    path = f"{folder}/conda/bin:{project.environment()['PATH']}"
    conda = Conda(Project(project.root, {**variables, "PATH": path}))
    project.edit("config/papers/digits.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    project.edit("config/papers/words.yaml", "quick: {replicas: 2}", "quick: {replicas: 1}")
    return conda, conda.snakemake("--", "all")


def test_every_rule_runs_in_its_environment(finished: tuple[Conda, Run]) -> None:
    """And needs nothing else: what the environment's file does not bring is hidden."""
    conda, run = finished
    assert run.status == 0, run.log
    assert (conda.project.root / "results/report.html").is_file()
    made = conda.made()
    assert len(made) == len(set(made)) == 3
    folder = conda.project.root / ".snakemake/conda"
    used = set()
    for line in conda.lines("python "):
        _, environment, *command = line.split()
        name = (folder / environment / "environment.yaml").read_bytes()
        name = next(path.stem for path in (conda.project.root / "envs").iterdir() if path.read_bytes() == name)
        assert command[:2] == ["-m", "reprise"], line
        assert name == ENVIRONMENTS.get(command[2], "report"), line
        used.add(name)
    assert used == {"data", "train", "report"}


def test_a_changed_file_makes_its_environment_anew(finished: tuple[Conda, Run], tmp_path: Path) -> None:
    conda = finished[0].copy(tmp_path / "clone")
    before = conda.made()
    assert conda.snakemake("--conda-create-envs-only", "--", "all").status == 0
    # Their names hold the folder of the clone, so that those of the original are not used.
    again = conda.made()[len(before) :]
    assert not set(again) & set(before)
    assert conda.snakemake("--conda-create-envs-only", "--", "all").status == 0
    assert conda.made() == before + again
    conda.project.edit("envs/report.yaml", "seaborn==", "seaborn==0.0.")
    shutil.rmtree(conda.project.root / "results/quick/figures")
    assert conda.snakemake("--conda-create-envs-only", "--", "all").status == 0
    assert len(conda.made()) == len(before + again) + 1


def test_a_package_that_a_file_does_not_bring_is_missed(finished: tuple[Conda, Run], tmp_path: Path) -> None:
    """The stand-in can fail: with a line less in the file the rule fails, and names the package and the file."""
    conda = finished[0].copy(tmp_path / "clone")
    text = (conda.project.root / "envs/report.yaml").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "seaborn" in line]
    conda.project.edit("envs/report.yaml", f"{line}\n", "")
    figure = "results/quick/figures/digits-curves.svg"
    (conda.project.root / figure).unlink()
    run = conda.snakemake("--", figure)
    assert run.status != 0
    assert "needs the package seaborn; install what envs/report.yaml lists" in run.log
    assert not (conda.project.root / figure).exists()
