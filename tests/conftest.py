"""Fixtures that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

# One thread a process, as in the pipeline: threads that wait for a busy core make small models many times slower.
os.environ["OMP_NUM_THREADS"] = "1"
# Processes that tests start find the package as the tests do, installed or not.
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real raw files that REPRISE_MIRROR names; without it the test is skipped."""
    folder = os.environ.get("REPRISE_MIRROR")
    if not folder:
        pytest.skip("REPRISE_MIRROR does not name a folder of raw files")
    if not Path(folder).is_dir():
        pytest.skip(f"REPRISE_MIRROR names {folder}, which is no folder")
    return Path(folder)
