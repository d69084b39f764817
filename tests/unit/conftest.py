"""Fixtures that the unit tests share, and helpers whose assertions tell what they compared."""

import os

import pytest
import torch
from project import COMPILED
from verify_helpers import new_clone

from reprise.engines import build
from reprise.training.devices import prepare_environment

pytest.register_assert_rewrite("compiler_helpers", "protocol_helpers")

# Engines are compiled once, also where a test's folder, which is removed after it, is the current one.
os.environ["REPRISE_BUILD"] = str(COMPILED)
# As the commands do: on a GPU torch would warn of products that differ from run to run.
prepare_environment()
# Some versions of torch warn unless they are told whether sparse tensors are checked that do not ask for it.
torch.sparse.check_sparse_tensor_invariants.disable()


@pytest.fixture
def fresh_build(monkeypatch, tmp_path):
    """A machine on which nothing is compiled yet; what is then, lies in its folder `built`."""
    monkeypatch.setenv("REPRISE_BUILD", str(tmp_path / "built"))
    caches = build.build_library, build.load_functions
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    for cache in caches:
        cache.cache_clear()


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """The toy project with records, in the current folder."""
    monkeypatch.chdir(tmp_path)
    new_clone(tmp_path)
    return tmp_path
