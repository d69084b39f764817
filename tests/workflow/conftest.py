"""One finished pipeline, made once, and copies of it to change."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project, Run, new_project


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of the tests: processes left behind end soon, and engines are compiled once."""
    folder = tmp_path_factory.mktemp("t")
    return {"TMPDIR": str(folder), "REPRISE_WARM_IDLE": "5", "REPRISE_BUILD": str(folder / "build")}


@pytest.fixture
def clone(tmp_path: Path, variables: dict[str, str]) -> Project:
    """A project in which nothing has run."""
    return new_project(tmp_path / "clone", variables)


@pytest.fixture(scope="session")
def first_run(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> tuple[Project, Run]:
    """A project whose pipeline has run once, and that run. Not to be changed: `finished` is a copy."""
    project = new_project(tmp_path_factory.mktemp("first") / "clone", variables)
    run = project.snakemake()
    assert run.status == 0, run.log
    return project, run


@pytest.fixture
def finished(first_run: tuple[Project, Run], tmp_path: Path) -> Project:
    """A copy of the finished project, modification times and Snakemake's notes included."""
    return first_run[0].copy(tmp_path / "finished")
