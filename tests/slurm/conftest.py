"""One run of the pipeline on a cluster, disturbed on the way; the tests look at what came of it."""

from __future__ import annotations

import pytest
from cluster import obstacle
from disturbed import Finished, disturbed_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    reason = obstacle()
    if reason:
        pytest.skip(reason)
    return disturbed_run(tmp_path_factory.mktemp("s"))
