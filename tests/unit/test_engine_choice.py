"""Compiling the C++ engine, and which engine a model gets."""

from __future__ import annotations

import copy
import errno
import mmap
import os
import pkgutil
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import get_args
from unittest.mock import Mock

import pytest
import torch
from compiler_helpers import chosen_without_compiler, needs_compiler, use_compiler, use_compiler_without_native
from subsequence_helpers import MODELS, pair, small, text, trained, worst_error

from reprise import engines
from reprise.config.schema import Engine
from reprise.config.sections import PRECISIONS
from reprise.engines import build
from reprise.engines.books import layerwise
from reprise.engines.gated import choose as gated
from reprise.engines.gso import choose as packed
from reprise.engines.lecture import window
from reprise.engines.palindromes import native as sequence
from reprise.engines.rntn import choose_engine
from reprise.engines.rntn import native as fused
from reprise.errors import UserError
from reprise.models.deep_lstm import StackedLSTM
from reprise.models.elman import Elman
from reprise.models.gated import GRU
from reprise.models.gso import GSO
from reprise.models.rntn import RNTN
from reprise.models.window import WindowModel
from reprise.training.protocol import dtype_of


def test_without_a_compiler_auto_is_the_readable_model(fresh_build, monkeypatch, capsys):
    model = small(RNTN(20, 4))
    chosen = chosen_without_compiler(lambda name: choose_engine(name, model), monkeypatch, capsys)
    assert chosen.name == "reference"


@needs_compiler
def test_a_compiler_without_native_makes_a_correct_library_for_the_plainest_cpu(fresh_build, monkeypatch):
    use_compiler_without_native(fresh_build, monkeypatch)
    model = small(MODELS["several groups"]())
    data = text(model.vocabulary)
    plain, reference = pair(lambda m: choose_engine("auto", m), model)
    assert plain.name == "fused"
    assert len(list((fresh_build / "built").iterdir())) == 1
    for e in (plain, reference):
        trained(e, data)
    assert worst_error(plain, reference, model.state_dict()) < 1e-5


def test_a_source_that_does_not_compile_is_reported(fresh_build, monkeypatch):
    use_compiler('echo "x.cpp:1: error: no" >&2\nexit 1', fresh_build, monkeypatch)
    with pytest.raises(build.NoCompiler, match="error: no"):
        build.library("rntn")
    assert list((fresh_build / "built").iterdir()) == []


@needs_compiler
def test_a_library_that_cannot_be_loaded_is_none(fresh_build, capsys):
    model = small(MODELS["several groups"]())
    build.library("rntn").write_bytes(b"")
    with pytest.raises(UserError, match=r"engine: fused: .*rntn-\w+.so.*; remove .*REPRISE_BUILD; install a C"):
        choose_engine("fused", model)
    assert choose_engine("auto", model).name == "reference"
    assert "training with torch" in capsys.readouterr().err


def test_a_compiler_that_is_killed_leaves_no_slow_library(fresh_build, monkeypatch):
    """It would be taken for the fast one from then on."""
    script = (
        'case "$*" in *-march=native*) kill -9 $$;; *--version*) ;; *) for last; do :; done; echo made > "$last";; esac'
    )
    use_compiler(script, fresh_build, monkeypatch)
    with pytest.raises(build.NoCompiler, match="status -9"):
        build.library("rntn")
    assert list((fresh_build / "built").iterdir()) == []


@needs_compiler
def test_a_system_without_huge_pages_trains(fresh_build, monkeypatch):
    class Small(mmap.mmap):
        def madvise(self, *_):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(fused.mmap, "mmap", Small)
    assert choose_engine("auto", small(MODELS["several groups"]())).name == "fused"


@pytest.mark.parametrize("locks", [True, False])
def test_processes_that_begin_together_compile_once(fresh_build, monkeypatch, locks):
    """Where files cannot be locked each of them compiles, and all find a whole library."""
    log = fresh_build / "log"
    script = f'[ "$1" = --version ] && exit\necho "$*" >> {log}\nsleep 0.3\nfor last; do :; done\necho made > "$last"'
    use_compiler(script, fresh_build, monkeypatch)
    if not locks:
        monkeypatch.setattr(build.fcntl, "flock", Mock(side_effect=OSError("no locks here")))
    with ThreadPoolExecutor(3) as pool:
        paths = list(pool.map(lambda _: build.library.__wrapped__("rntn"), range(3)))
    assert {path.read_text() for path in paths} == {"made\n"}
    assert os.listdir(fresh_build / "built") == [paths[0].name]
    assert len(log.read_text().splitlines()) == (1 if locks else 3)


@needs_compiler
def test_engine_names():
    model = small(RNTN(20, 4))
    assert [choose_engine(n, model).name for n in ("auto", "fused", "reference")] == ["fused", "fused", "reference"]
    with pytest.raises(UserError, match="cuda"):
        choose_engine("cuda", model)
    double = copy.deepcopy(model).double()
    assert choose_engine("auto", double).export()["W_o"].dtype == torch.float64
    with pytest.raises(UserError, match="float32"):
        choose_engine("fused", double)


FAMILIES = {
    "rntn": (choose_engine, lambda: RNTN(20, 4), {"fused"}),
    "gated": (gated.choose_gated_engine, lambda: GRU(20, 3, 4), {"grouped"}),
    "sequence": (sequence.choose_engine, lambda: Elman(1, 4, 10), {"fused"}),
    "symbols": (packed.choose_packed_engine, lambda: GSO(20, 4, 3, True, True, "tanh"), {"fused"}),
    "windows": (window.choose_window_model_engine, lambda: WindowModel(20, 3, 4, 2, True), {"hand"}),
    "characters": (layerwise.choose_window_engine, lambda: StackedLSTM(20, 4, 2, "tanh", 1.0), {"layerwise"}),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_class_that_inherits_is_trained_by_autograd_alone(family):
    """It may have equations of its own, which the fast engines, written for its parent, would pass over."""
    choose, build_model, fast = FAMILIES[family]
    model = build_model()
    torch.nn.utils.vector_to_parameters(torch.zeros(sum(p.numel() for p in model.parameters())), model.parameters())
    other = copy.deepcopy(model)
    other.__class__ = type("Other", (type(model),), {})
    assert choose("reference", other).name == choose("auto", other).name == "reference"
    for name in fast:
        with pytest.raises(UserError, match=rf"engine: {name} knows .*, not Other; choose engine: reference"):
            choose(name, other)
    with pytest.raises(UserError, match="engine: quick is none of auto, .*; name one of these with --engine"):
        choose("quick", other)


def test_the_configuration_knows_the_engines_that_there_are():
    modules = [import_module(m.name) for m in pkgutil.walk_packages(engines.__path__, "reprise.engines.")]
    there = {name for module in modules for name in getattr(module, "ENGINES", ())}
    assert set(get_args(Engine)) == {"auto", "stacked", *there}


def test_the_configuration_knows_the_precisions_that_engines_compute_in():
    for precision in PRECISIONS:
        dtype_of({"precision": precision})
    with pytest.raises(UserError, match="'tf32' is not known; write one of float32, float64"):
        dtype_of({"precision": "tf32"})
