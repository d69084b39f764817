"""Two runs on a cluster, one of them disturbed on the way; the tests look at what came of them."""

from pathlib import Path

import pytest
from cluster import obstacle
from runs import Finished, disturbed_run, run_as_shipped


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if obstacle():
        pytest.skip(obstacle())
    return tmp_path_factory.mktemp("s")


@pytest.fixture(scope="session")
def run(place: Path) -> Finished:
    return disturbed_run(place / "d")


@pytest.fixture(scope="session")
def shipped(place: Path) -> Finished:
    return run_as_shipped(place / "s")
