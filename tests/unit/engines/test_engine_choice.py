"""Compiling the C++ engines, and which engine a model gets."""

import copy
import ctypes
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from typing import get_args
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from compiler_helpers import COMPILERS, needs_compiler
from loglinear_helpers import model as loglinear_model

from reprise.config.schema import Engine
from reprise.engines import build, gated, gso, loglinear, palindromes, rntn
from reprise.engines.caches import DEFAULT, Caches, read_caches
from reprise.engines.rntn.subsequences import Subsequences
from reprise.errors import UserError
from reprise.models.elman import Elman
from reprise.models.gated import GRU
from reprise.models.gso import GSO
from reprise.models.rntn import RNTN, initialise

# The family's module, a model of it, and its fast engine.
FAMILIES = {
    "rntn": (rntn, lambda: RNTN(20, 4), "fused"),
    "gated": (gated, lambda: GRU(20, 3, 4), "grouped"),
    "gso": (gso, lambda: GSO(20, 4, 3, True, True, "tanh"), "fused"),
    "palindromes": (palindromes, lambda: Elman(1, 4, 10), "fused"),
    "loglinear": (loglinear, loglinear_model, "fused"),
}
EACH = pytest.mark.parametrize("name", FAMILIES)


@pytest.fixture
def use_compiler(fresh_build, monkeypatch):
    """Makes this shell script the compiler."""

    def use(script):
        compiler = fresh_build / "other-c++"
        compiler.write_text(f"#!/bin/sh\n{script}\n")
        compiler.chmod(0o755)
        monkeypatch.setenv("CXX", str(compiler))

    return use


def family_of(name):
    family, build_model, fast = FAMILIES[name]
    model = build_model()
    if name != "loglinear":
        zeros = torch.zeros(sum(p.numel() for p in model.parameters()))
        torch.nn.utils.vector_to_parameters(zeros, model.parameters())
    return family.choose_engine, model, fast


@EACH
def test_engines_are_chosen_by_name(name):
    choose_engine, model, fast = family_of(name)
    assert choose_engine("reference", model).name == "reference"
    if COMPILERS:
        assert choose_engine("auto", model).name == choose_engine(fast, model).name == fast


@EACH
def test_in_other_precisions_the_readable_model_trains(name):
    choose_engine, model, fast = family_of(name)
    double = model.double()
    assert choose_engine("auto", double).name == "reference"
    with pytest.raises(UserError, match="float32 on a CPU.*engine: reference"):
        choose_engine(fast, double)


@EACH
def test_without_a_compiler_the_readable_model_trains(name, fresh_build, monkeypatch, caplog):
    choose_engine, model, fast = family_of(name)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert choose_engine("auto", model).name == "reference"
    (record,) = caplog.records
    assert "no-such-compiler" in record.getMessage()
    with pytest.raises(UserError, match="no-such-compiler"):
        choose_engine(fast, model)


@EACH
def test_a_class_that_inherits_is_trained_by_autograd_alone(name):
    """It may have equations of its own, which the fast engines, written for its parent, would pass over."""
    choose_engine, model, fast = family_of(name)
    model.__class__ = type("Other", (type(model),), {})
    assert choose_engine("reference", model).name == choose_engine("auto", model).name == "reference"
    with pytest.raises(UserError, match=rf"engine: {fast} knows .*, not Other; choose engine: reference"):
        choose_engine(fast, model)


@needs_compiler
def test_a_compiler_without_native_makes_a_correct_library_for_the_plainest_cpu(fresh_build, use_compiler):
    use_compiler(f'case "$*" in *-march=native*) exit 1;; esac\nexec {COMPILERS[0]} "$@"')
    model = RNTN(2051, 100, 40)
    initialise(model, 0.05, torch.Generator().manual_seed(0))
    words = np.random.default_rng(0).integers(0, 2051, (2, 40), dtype=np.int32)
    data = Subsequences(*words, np.array([0, 20, 40]), np.array([True, False]))
    plain, reference = rntn.choose_engine("auto", model), rntn.choose_engine("reference", copy.deepcopy(model).double())
    assert plain.name == "fused"
    assert len(list((fresh_build / "built").glob("*.so"))) == 1
    for engine in (plain, reference):
        engine.train(data, rntn.SGDSettings(learning_rate=0.3, reduction="sum", dropout=0.5, key=7))
    start, ours = model.state_dict(), plain.export()
    for name, exact in reference.export().items():
        assert (ours[name] - exact).norm() < 1e-5 * (exact - start[name]).norm(), name


@pytest.mark.slow
@needs_compiler
@pytest.mark.skipif(platform.machine() != "x86_64", reason="AVX-512 is of x86-64")
@pytest.mark.parametrize("name", FAMILIES)
def test_engines_compile_for_avx_512_also_where_the_processor_lacks_it(name, fresh_build, monkeypatch):
    """Where it has AVX-512, the tests of the native build run it."""
    monkeypatch.setenv("REPRISE_MARCH", "x86-64-v4")
    assert build.build_library.__wrapped__(name).is_file()


@needs_compiler
def test_engines_are_compiled_for_the_named_instruction_set(fresh_build, monkeypatch):
    plain = build.build_library.__wrapped__("core_limits")
    monkeypatch.setenv("REPRISE_MARCH", "no-such-processor")
    with pytest.raises(UserError, match=r"REPRISE_MARCH: .*-march=no-such-processor \(.*error.*\); name another"):
        build.build_library.__wrapped__("core_limits")
    if platform.machine() == "x86_64":
        monkeypatch.setenv("REPRISE_MARCH", "x86-64")
        baseline = build.build_library.__wrapped__("core_limits")
        assert baseline.name != plain.name
        function = ctypes.CDLL(str(baseline)).reprise_flops_a_round
        function.restype = ctypes.c_double
        assert function() == 2 * 12 * 4  # twelve chains of vectors of four numbers


@pytest.mark.parametrize(
    ("indices", "caches"),
    [
        (
            {0: ("1", "Data", "32K"), 1: ("1", "Instruction", "64K"), 2: ("2", "Unified", "2M")},
            (32 << 10, 2 << 20, DEFAULT.l3),
        ),
        ({0: ("2", "Unified", "512K"), 3: ("3", "Unified", "32768K")}, (DEFAULT.l1d, 512 << 10, 32 << 20)),
        ({0: ("1", "Data", "none"), 2: ("2", "Unified", "0K")}, DEFAULT),
        ({}, DEFAULT),
    ],
)
def test_cache_sizes_are_those_that_the_system_reports(indices, caches, tmp_path):
    for index, values in indices.items():
        (tmp_path / f"index{index}").mkdir()
        for name, value in zip(("level", "type", "size"), values, strict=True):
            (tmp_path / f"index{index}" / name).write_text(f"{value}\n")
    (tmp_path / "index9").mkdir()  # without files
    assert read_caches(tmp_path) == caches


def test_other_caches_are_another_library(fresh_build, use_compiler, monkeypatch):
    log = fresh_build / "log"
    use_compiler(f'[ "$1" = --version ] && exit\necho "$*" >> {log}\nfor last; do :; done\necho made > "$last"')
    names = set()
    for caches in (Caches(32 << 10, 1 << 20), Caches(48 << 10, 1 << 20)):
        monkeypatch.setattr(build, "read_caches", lambda caches=caches: caches)
        names.add(build.build_library.__wrapped__("rntn").name)
        assert f"-DL1D_BYTES={caches.l1d} -DL2_BYTES={caches.l2}" in log.read_text().splitlines()[-1]
    assert len(names) == 2


@pytest.mark.slow
@needs_compiler
def test_a_library_that_cannot_be_loaded_is_none(fresh_build, caplog):
    model = RNTN(20, 4)
    build.build_library("rntn").write_bytes(b"")
    with pytest.raises(UserError, match=r"engine: fused: .*rntn-\w+.so.*; remove .*REPRISE_BUILD; install a C"):
        rntn.choose_engine("fused", model)
    assert rntn.choose_engine("auto", model).name == "reference"
    assert "readable model" in caplog.text


COUNTED = '[ "$1" = --version ] && exit\necho >> {log}\nfor last; do :; done\necho made > "$last"'


@pytest.mark.parametrize("umask", [0o022, 0o002])
@pytest.mark.parametrize(
    "tamper",
    [
        lambda path: path.write_bytes(b"another"),
        lambda path: path.write_bytes(path.read_bytes()[:2]),
        lambda path: path.chmod(0o666),
        lambda path: path.parent.chmod(0o777),
        lambda path: path.parent.chmod(0o770),
        lambda path: path.with_suffix(".sha256").unlink(),
        lambda path: path.with_suffix(".sha256").write_bytes(b"\xff"),
        lambda path: path.with_suffix(".sha256").chmod(0o662),
    ],
)
def test_a_library_that_is_not_as_it_was_compiled_is_compiled_anew(fresh_build, use_compiler, tamper, umask):
    log = fresh_build / "log"
    use_compiler(COUNTED.format(log=log))
    before = os.umask(umask)
    try:
        path = build.build_library.__wrapped__("rntn")
        assert build.build_library.__wrapped__("rntn") == path
        assert len(log.read_text()) == 1
        tamper(path)
        for _ in range(2):
            assert build.build_library.__wrapped__("rntn").read_text() == "made\n"
    finally:
        os.umask(before)
    assert len(log.read_text()) == 2
    assert not any(place.stat().st_mode & 0o022 for place in (path.parent, *path.parent.iterdir()))


def test_a_folder_that_others_may_write_to_is_not_used(fresh_build, use_compiler, monkeypatch):
    use_compiler(COUNTED.format(log=fresh_build / "log"))
    folder = fresh_build / "built"
    folder.mkdir()
    monkeypatch.setattr(build, "_list_trusted_users", lambda: {folder.stat().st_uid + 1})
    with pytest.raises(build.NoCompiler, match="built: other users may write to it; .*REPRISE_BUILD"):
        build.build_library("rntn")
    assert not list(folder.glob("*.so"))


KILLED = 'case "$*" in *native*) kill -9 $$;; *--version*) ;; *) for last; do :; done; echo made > "$last";; esac'


@pytest.mark.parametrize(
    ("script", "message"), [('echo "x.cpp:1: error: no" >&2\nexit 1', "error: no"), (KILLED, "status -9")]
)
def test_a_compiler_that_fails_is_reported_and_leaves_no_library(fresh_build, use_compiler, script, message):
    """Of one that is killed a slow library would be taken for the fast one from then on."""
    use_compiler(script)
    with pytest.raises(build.NoCompiler, match=message):
        build.build_library("rntn")
    assert list((fresh_build / "built").iterdir()) == []


@pytest.mark.parametrize("locks", [True, False])
def test_processes_that_begin_together_compile_once(fresh_build, use_compiler, monkeypatch, locks):
    """Where files cannot be locked each of them compiles, and all find a whole library."""
    log = fresh_build / "log"
    script = f'[ "$1" = --version ] && exit\necho "$*" >> {log}\nsleep 0.3\nfor last; do :; done\necho made > "$last"'
    use_compiler(script)
    if not locks:
        monkeypatch.setattr(build.fcntl, "flock", Mock(side_effect=OSError("no locks here")))
    with ThreadPoolExecutor(3) as pool:
        paths = list(pool.map(lambda _: build.build_library.__wrapped__("rntn"), range(3)))
    assert {path.read_text() for path in paths} == {"made\n"}
    assert sorted(os.listdir(fresh_build / "built")) == sorted([paths[0].name, f"{paths[0].stem}.sha256"])
    assert len(log.read_text().splitlines()) == (1 if locks else 3)


def test_the_configuration_knows_the_engines_that_there_are():
    names = {name for family, *_ in FAMILIES.values() for name in family.choose_engine.names}
    assert set(get_args(Engine)) == {"auto", "stacked", *names}
