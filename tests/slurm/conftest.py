"""Two runs on a cluster, one of them disturbed on the way; the tests look at what came of them."""

from __future__ import annotations

import pytest
from cluster import obstacle
from disturbed import Finished, disturbed_run
from shipped import Trained, run_as_shipped


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    reason = obstacle()
    if reason:
        pytest.skip(reason)
    return disturbed_run(tmp_path_factory.mktemp("s"))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    reason = obstacle()
    if reason:
        pytest.skip(reason)
    return run_as_shipped(tmp_path_factory.mktemp("p"))
