"""What benchmarks compare: the text, and peers that compute the readable model's update."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from bench_helpers import TINY
from compiler_helpers import needs_compiler

from reprise.bench import peers, rrntn
from reprise.bench.engines import Engine
from reprise.bench.process import ENVIRONMENT
from reprise.bench.task import BLOCK, LENGTH, read_task
from reprise.bench.texts import text_for
from reprise.data.corpus import Corpus, Split
from reprise.engines import build


def corpus(words, sentences):
    random = np.random.default_rng(0)
    lengths = random.integers(1, 50, sentences)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = random.integers(1, words, offsets[-1], dtype=np.int32)
    tokens[offsets[1:] - 1] = 0
    vocabulary = ["</s>", *(f"w{i}" for i in range(1, words))]
    return Corpus("toy", {"train": Split(tokens, offsets)}, vocabulary, np.ones(words, np.int64))


def test_a_prepared_corpus_of_the_right_size_is_read_and_named(tmp_path):
    corpus(30, 40).save(tmp_path / "none-a-few-words.npz")
    fitting = corpus(48, 40)
    fitting.save(tmp_path / "none-right.npz")
    tokens = fitting.splits["train"].tokens
    data, origin = text_for(TINY["r-rntn"], BLOCK, tmp_path)
    assert "none-right.npz" in origin
    assert np.array_equal(data.targets, tokens[1 : 1 + BLOCK * LENGTH])
    assert set(np.diff(data.offsets)) == {LENGTH}
    data, _ = text_for(TINY["sentences"], BLOCK, tmp_path)
    assert np.array_equal(data.targets, tokens[: data.tokens])
    assert data.reset.sum() > 1


def test_a_corpus_that_is_too_short_gives_whole_blocks(tmp_path):
    corpus(50, 60).save(tmp_path / "none-right.npz")
    data, _ = text_for(TINY["r-rntn"], 2000, tmp_path)
    assert 0 < len(data) < 2000
    assert len(data) % BLOCK == 0


def test_without_a_corpus_random_words_have_the_lengths_of_real_sentences(tmp_path):
    data, origin = text_for(TINY["sentences"], 4000, tmp_path)
    assert "random" in origin
    assert len(data) == 4000
    assert data.tokens / len(data) == pytest.approx(14.0, abs=0.5)  # that of the Penn Treebank
    assert np.bincount(data.targets)[0] < np.bincount(data.targets).max() * 2
    data, _ = text_for(TINY["r-rntn"], 100, tmp_path)
    assert data.tokens == 100 * LENGTH


# Compiled programs stand here as what they are compiled from.
IMPLEMENTATIONS = {
    "eager": peers.eager,
    "eager-sparse": peers.eager_sparse,
    "compile": peers.Compiled,
    "compile-rows": peers.CompiledRows,
}


def trained(implementation):
    total = implementation.train(0, BLOCK) + implementation.train(BLOCK, 2 * BLOCK)
    return total, implementation.parameters()


def assert_same_update(task, found, total):
    expected_total, expected = trained(Engine(task, "reference"))
    assert total == pytest.approx(expected_total, rel=1e-6)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        change = np.linalg.norm(value - task.weights[name])
        rounding = 1e-6 * np.linalg.norm(value)  # some updates are small beside what they are added to
        assert np.linalg.norm(found[name] - value) < 1e-4 * change + rounding, name


@pytest.mark.parametrize("workload", TINY)
@pytest.mark.parametrize("name", [pytest.param("fused", marks=needs_compiler), *IMPLEMENTATIONS])
def test_every_implementation_computes_the_readable_models_update(tmp_path, monkeypatch, name, workload):
    make = IMPLEMENTATIONS.get(name, lambda task: Engine(task, "fused"))
    if name == "fused":
        monkeypatch.setenv("REPRISE_BUILD", str(build.library("rntn").parent))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    task, facts = rrntn.make_task(TINY[workload], tmp_path, 2 * BLOCK)
    assert "random" in facts["text"]
    total, found = trained(make(read_task(tmp_path)))
    assert_same_update(task, found, total)


TRAIN_IN_JAX = """
import sys
from pathlib import Path
import numpy as np
from reprise.bench import jax_peer
from reprise.bench.task import BLOCK, read_task
for folder in map(Path, sys.argv[1:]):
    for make in (jax_peer.dense, jax_peer.rows):
        peer = make(read_task(folder))
        total = peer.train(0, BLOCK) + peer.train(BLOCK, 2 * BLOCK)
        np.savez(folder / f"{make.__name__}.npz", total=total, **peer.parameters())
assert "torch" not in sys.modules
"""


def test_jax_computes_the_readable_models_update_without_torch(tmp_path, monkeypatch):
    if find_spec("jax") is None:
        pytest.skip("JAX is not installed (pip install 'reprise[bench]')")
    monkeypatch.chdir(tmp_path)
    tasks = {}
    for name in ("s-rnn", "sentences", "m-rnn"):
        folder = tmp_path / name
        folder.mkdir()
        tasks[folder], _ = rrntn.make_task(TINY[name], folder, 2 * BLOCK)
    # One process for all, and not this one: JAX's threads would disturb tests that fork.
    subprocess.run([sys.executable, "-c", TRAIN_IN_JAX, *map(str, tasks)], env=os.environ | ENVIRONMENT, check=True)
    for folder, task in tasks.items():
        for name in ("dense", "rows"):
            with np.load(folder / f"{name}.npz") as arrays:
                found = dict(arrays)
            assert_same_update(task, found, float(found.pop("total")))
