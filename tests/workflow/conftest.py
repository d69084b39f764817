"""What the tests of the workflow start from; see also tests/conftest.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project, new_project


@pytest.fixture
def clone(tmp_path: Path, pipeline_variables: dict[str, str]) -> Project:
    """A project in which nothing has run."""
    return new_project(tmp_path / "clone", pipeline_variables)
