"""Two runs on a cluster, one of them disturbed on the way; the tests look at what came of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster import obstacle
from disturbed import Finished, disturbed_run
from shipped import Trained, run_as_shipped


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if obstacle():
        pytest.skip(obstacle())
    return tmp_path_factory.mktemp("s")


@pytest.fixture(scope="session")
def run(place: Path) -> Finished:
    return disturbed_run(place / "d")


@pytest.fixture(scope="session")
def trained(place: Path) -> Trained:
    return run_as_shipped(place / "s")
