"""Texts and tasks of the benchmarks, and that implementations make the readable model's update."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler

from benchmarks import BENCHES, gated, gpu, gso, loglinear, rntn, tasks, worker
from benchmarks.harness import compute_log_perplexity_error, find_disagreement
from reprise.data.corpus import Corpus, Split
from reprise.engines.loglinear.native import LazyRMSProp

WORDS = {"dataset": "none", "vocabulary": 50}
TINY = {
    "rntn": (
        rntn.Workload("s-rnn", **WORDS, hidden=8),
        rntn.Workload("r-rntn", **WORDS, hidden=8, matrices=5),
        rntn.Workload("sentences", **WORDS, hidden=8, matrices=5, sentences=True),
        rntn.Workload("rntn", **WORDS, hidden=8, matrices=50),
        rntn.Workload("m-rnn", **WORDS, hidden=8, factors=6),
    ),
    "gated": (
        gated.Workload("gru", "gru", **WORDS, hidden=6, embedding=7),
        gated.Workload("r-gru", "gru", **WORDS, hidden=6, matrices=4, embedding=7),
        gated.Workload("lstm", "lstm", **WORDS, hidden=6, embedding=7),
        gated.Workload("r-lstm", "lstm", **WORDS, hidden=6, matrices=4, embedding=7),
    ),
    "gso": (
        gso.Workload("full", "gso", 7, second_order=5, first_order=True, length=9, indexing=True),
        gso.Workload("none", "gso", 6, second_order=8),
        gso.Workload("first-order", "first-order", 6),
        gso.Workload("mi-rnn", "mi-rnn", 6),
        gso.Workload("bigrams", "gso", 24, second_order=30, vocabulary=gso.BIGRAMS, length=12),
    ),
    "loglinear": (
        loglinear.Workload("ll", batch=5, top=20, vocabulary=120, tags=9, size=12),
        loglinear.Workload("rnn", batch=4, top=0, vocabulary=60, tags=9, size=12),
    ),
}
TINY = {bench: {workload.name: workload for workload in some} for bench, some in TINY.items()}
# Of every family what its paper trains, what cuDNN has, and what log-linear models have in place of a softmax.
SHOWN_ON_GPU = {
    "gated": ("lstm", "r-gru"),
    "rntn": ("r-rntn",),
    "gso": ("full", "first-order"),
    "loglinear": ("ll", "rnn"),
}
TINY["gpu"] = {name: TINY[family][name] for family, names in SHOWN_ON_GPU.items() for name in names}
PIECES = {rntn: 2 * rntn.BLOCK, gated: 3, gso: 2, loglinear: 3}
# What a peer is not made for.
REFUSED = {
    ("gated", "library"): {"gru", "r-gru", "r-lstm"},
    ("gpu", "cudnn"): {"r-gru", "r-rntn", "full", "ll", "rnn"},
    ("gso", "library"): {"full", "none", "mi-rnn", "bigrams"},
    ("gso", "eager-indexing"): {"none", "first-order", "mi-rnn", "bigrams"},
    ("loglinear", "sparse"): {"rnn"},
    ("loglinear", "dense"): {"rnn"},
    ("loglinear", "softmax"): {"ll"},
}
JAX = [(bench, name) for bench in BENCHES for name in BENCHES[bench] if name.startswith("jax")]
NAMES = [(bench, name) for bench in BENCHES for name in BENCHES[bench] if (bench, name) not in JAX]
EACH = [(bench, name, workload) for bench, name in NAMES for workload in TINY[bench]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Without prepared corpora."""
    monkeypatch.chdir(tmp_path)
    # Compiled programs stand here as what they are compiled from.
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
    monkeypatch.setattr(worker, "WARM_SECONDS", 0.0)
    # What is for a GPU computes on the CPU here.
    monkeypatch.setattr(gpu, "find_device", lambda: "cpu")
    monkeypatch.setattr(gpu, "MAX_REPLICAS", 2)
    return tmp_path


def made(bench, workload, folder):
    family = tasks.find_family(workload)
    return family.make_task(workload, folder, PIECES[family])


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("bench", "name", "workload"), EACH)
def test_implementations_make_the_same_update(bench, name, workload, folder):
    task, facts = made(bench, TINY[bench][workload], folder)
    assert facts["text"].startswith("random ")
    if workload in REFUSED.get((bench, name), ()):
        with pytest.raises(NotImplementedError):
            worker.prepare_stream(bench, name, folder)
        return
    stream, facts = worker.prepare_stream(bench, name, folder)
    assert find_disagreement(tasks.compute_expected(task), facts) is None
    assert all(norm > 0 for norm in facts["update_norms"].values())
    assert stream.time_pieces(stream.implementation.block)["tokens"] > 0


def test_replicas_of_a_stack_count_each(folder):
    task, _ = made("gpu", TINY["gpu"]["lstm"], folder)
    for name, replicas in (("stacked-1", 1), ("stacked-8", 8), ("stacked-most", 2)):
        stream, facts = worker.prepare_stream("gpu", name, folder)
        assert (facts["replicas"], stream.time_pieces(1)["tokens"]) == (replicas, replicas * task.count_tokens(0, 1))


def test_a_compiled_step_is_marked_and_its_state_outlives_the_next(monkeypatch):
    """As in a CUDA graph: what a step gives back lies where the next one writes."""
    memory, marked = torch.zeros(2), []
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: marked.append(memory.clone()))
    step = gpu.compile_forward(lambda words, state: (words, (memory.copy_(state[0] + words),)))
    _, first = step(torch.ones(2), (torch.zeros(2),))
    _, second = step(torch.ones(2), first)
    assert (first[0].tolist(), second[0].tolist(), len(marked)) == ([1.0, 1.0], [2.0, 2.0], 2)


def test_on_a_gpu_one_task_of_each_family_comes_first():
    assert {tasks.find_family(w) for w in gpu.WORKLOADS[: len(gpu.FIRST)]} == {gated, rntn, gso, loglinear}
    assert len({w.name for w in gpu.WORKLOADS}) == 11


TRAIN_IN_JAX = """
import json, sys
from pathlib import Path
from benchmarks import worker
worker.WARM_SECONDS = 0.0
for place in map(Path, sys.argv[1:]):
    bench, name, _ = place.name.split("_")
    _, facts = worker.prepare_stream(bench, name, place)
    (place / "facts.json").write_text(json.dumps(facts))
assert "torch" not in sys.modules
"""


def test_jax_makes_the_same_update_without_torch(folder):
    if find_spec("jax") is None:
        pytest.skip("JAX is not installed (pip install '.[bench]')")
    expected = {}
    for bench, name in JAX:
        for key, tiny in TINY[bench].items():
            workload = replace(tiny, length=9) if bench == "gso" else tiny
            place = folder / f"{bench}_{name}_{key}"
            place.mkdir()
            expected[place] = tasks.compute_expected(made(bench, workload, place)[0])
    # One process for all, and not this one: JAX's threads would disturb tests that fork.
    environment = os.environ | worker.ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, worker.PATHS))}
    subprocess.run([sys.executable, "-c", TRAIN_IN_JAX, *map(str, expected)], env=environment, check=True)
    for place, facts in expected.items():
        assert find_disagreement(facts, json.loads((place / "facts.json").read_text())) is None


def test_the_families_import_no_torch():
    code = "import sys; from importlib import import_module\nfor m in sys.argv[1:]: import_module(m)\n"
    code += "assert 'torch' not in sys.modules"
    modules = ["benchmarks.worker", *(f"benchmarks.{name}" for name in BENCHES)]
    subprocess.run([sys.executable, "-c", code, *modules], check=True)


def test_a_wrong_gradient_is_found(folder):
    task, _ = made("gso", TINY["gso"]["none"], folder)
    expected = tasks.compute_expected(task)
    # twice the gradient of one matrix gives nearly twice its update, though Adam divides by the gradient's size
    implementation = gso.Engine(task, "reference")
    train = implementation.engine.train

    def doubled(batch, reduction):
        loss = train(batch, reduction)
        implementation.model.A.grad *= 2
        return loss

    implementation.engine.train = doubled
    measured = tasks.check_implementation(task, implementation)
    assert measured["update_norms"]["A"] == pytest.approx(2 * expected["update_norms"]["A"], rel=0.05)
    assert "update of A" in find_disagreement(expected, measured)


@needs_compiler
def test_a_timed_engine_that_is_off_in_its_log_perplexity_is_refused(folder, monkeypatch):
    task, _ = made("loglinear", TINY["loglinear"]["ll"], folder)
    expected = tasks.compute_expected(task)
    stream, facts = worker.prepare_stream("loglinear", "fused", folder)
    assert compute_log_perplexity_error(expected, facts) < 1e-6
    engine = type(stream.implementation.engine)
    original = engine.evaluate
    monkeypatch.setattr(engine, "evaluate", lambda self, x, y: original(self, x, y) + 0.01)
    wrong = worker.prepare_stream("loglinear", "fused", folder)[1]
    assert find_disagreement(expected, wrong).startswith("the log-perplexity is off by 0.002 nats")


def test_flops_are_those_of_the_dense_products():
    assert rntn.WORKLOADS[0].flops_a_token == 6 * (100 * 10_000 + 100 * 100)
    assert TINY["rntn"]["m-rnn"].flops_a_token == 6 * (8 * 50 + 2 * 8 * 6)


def test_flops_of_gated_networks_leave_out_what_dropout_zeroes(tmp_path):
    task, _ = made("gated", TINY["gated"]["lstm"], tmp_path)
    assert task.flops_a_token == 6 * ((4 * 6 * 7 + 300) / 2 + 4 * 36)


def test_flops_of_document_000_leave_out_the_first_step_of_a_line(tmp_path):
    task, _ = made("gso", TINY["gso"]["full"], tmp_path)  # lines of nine predictions
    assert task.flops_a_token == pytest.approx(6 * (119 * 8 / 9 + 7 * 27))


@needs_compiler
@pytest.mark.parametrize("workload", TINY["loglinear"])
def test_flops_of_a_log_linear_network_are_those_of_the_products_that_update_it(workload, folder, monkeypatch):
    """Each row of an update's product stands for two products more, forward and back."""
    task, _ = made("loglinear", TINY["loglinear"][workload], folder)
    engine, counted = loglinear.fused(task), []
    update = LazyRMSProp.update_by_product

    def count(self, name, d, h, dh=None):
        counted.append(len(h) * self.parameters[name].numel())
        update(self, name, d, h, dh)

    monkeypatch.setattr(LazyRMSProp, "update_by_product", count)
    engine.train(0, len(task))
    assert len(counted) == 5 * len(task)  # W and U of two layers, and the output
    assert task.flops_a_token == pytest.approx(6 * sum(counted) / task.count_tokens(0, len(task)))


@pytest.mark.parametrize(
    ("family", "name", "weights", "traffic"),
    [
        # W_o three times for 20 words, the matrix of a word twice
        ("rntn", "r-rntn", 8 * 50 + 5 * 64, 3 * 400 / 20 + 2 * 64),
        ("rntn", "s-rnn", 8 * 50 + 64, 3 * (400 + 64) / 20),
        # three windows of 35 steps of 20 words: 7 passes a window over weights of input and output; 2 a step over U,
        # and 5 a window
        ("gated", "lstm", 4 * 6 * (7 + 6) + 300, (7 * (4 * 6 * 7 + 300) + 5 * 4 * 36) / 700 + 2 * 4 * 36 / 20),
        # two batches of nine steps of 64 characters; the gradients of 512 rows are summed in four blocks
        ("gso", "full", 119 + 189, (2 * 119 * (8 + 4) + 14 * (119 + 189)) / (64 * 9)),
        # batches of five windows of eight words; the output layer is read once for dh and update
        ("loglinear", "ll", 2304 + 360, (14 * 1152 + 2 * (1152 + 360) + 4 * (2304 + 360) - 360) / 5),
    ],
)
def test_bytes_are_those_of_the_passes_over_the_weights(family, name, weights, traffic, tmp_path):
    task, _ = made(family, TINY[family][name], tmp_path)
    assert task.workload.weight_bytes == 4 * weights
    assert task.bytes_a_token == pytest.approx(4 * traffic)
    parts = task.traffic
    assert [sum(numbers) for numbers in zip(*parts, strict=True)] == pytest.approx([4 * traffic, 4 * weights])


def test_words_of_a_step_that_share_a_matrix_share_its_traffic(tmp_path):
    task, _ = made("gated", TINY["gated"]["r-gru"], tmp_path)
    repeated = replace(task, x=np.zeros_like(task.x))
    assert task.bytes_a_token > repeated.bytes_a_token
    own = 36 * (2 * 35 + 5) / 700  # one matrix in every step and window
    shared = (7 * (3 * 6 * 7 + 300) + 5 * 2 * 36) / 700 + 2 * 2 * 36 / 20
    assert repeated.bytes_a_token == pytest.approx(4 * (shared + own))


def test_a_prepared_corpus_of_the_right_size_is_read_and_named(tmp_path):
    random = np.random.default_rng(0)
    offsets = np.cumsum([0, *random.integers(1, 50, 40)])
    tokens = random.integers(1, 30, offsets[-1], dtype=np.int32)
    tokens[offsets[1:] - 1] = 0
    for name, size in (("none-a-few-words.npz", 30), ("none-right.npz", 48)):
        vocabulary = ["</s>", *(f"w{i}" for i in range(1, size))]
        corpus = Corpus("toy", {"train": Split(tokens, offsets)}, vocabulary, np.ones(size, np.int64))
        corpus.save(tmp_path / name)
    data, origin = rntn.find_text(TINY["rntn"]["r-rntn"], rntn.BLOCK, tmp_path)
    assert "none-right.npz" in origin
    assert np.array_equal(data.targets, tokens[1 : 1 + rntn.BLOCK * rntn.LENGTH])
    assert set(np.diff(data.offsets)) == {rntn.LENGTH}
    data, _ = rntn.find_text(TINY["rntn"]["sentences"], rntn.BLOCK, tmp_path)
    assert np.array_equal(data.targets, tokens[: data.token_count])
    assert data.reset.sum() > 1
    data, _ = rntn.find_text(TINY["rntn"]["r-rntn"], 2000, tmp_path)
    assert (len(data) % rntn.BLOCK, 0 < len(data) < 2000) == (0, True), "too short a corpus gives whole blocks"


def test_without_a_corpus_random_words_and_lines_are_like_the_real_ones(tmp_path):
    data, origin = rntn.find_text(TINY["rntn"]["sentences"], 4000, tmp_path)
    assert ("random" in origin, len(data)) == (True, 4000)
    assert data.token_count / len(data) == pytest.approx(14.0, abs=0.5)  # that of the Penn Treebank
    assert np.bincount(data.targets)[0] < np.bincount(data.targets).max() * 2
    corpus, _ = gso.make_lines(TINY["gso"]["none"], 60, tmp_path)
    lengths = np.diff(corpus.splits["lines"].offsets)
    assert (np.mean(lengths), np.median(lengths)) == pytest.approx((114.7, 109), rel=0.03)
    batches = lengths[: 60 * gso.BATCH].reshape(60, gso.BATCH) - 1
    assert batches.sum() / (batches.max(1) * gso.BATCH).sum() == pytest.approx(0.412, abs=0.03)
    part = corpus.extra["part"][0]
    assert [(part == number).sum() for number in range(3)] == [60 * gso.BATCH, 60 * gso.BATCH // 9, 1]
    # A stream goes on in the next window with its last target.
    task, _ = gated.make_task(TINY["gated"]["r-gru"], tmp_path, PIECES[gated])
    assert np.array_equal(task.x[1:, 0], task.y[:-1, -1])


def test_lines_of_the_prepared_corpus_are_read_and_named(tmp_path):
    full_corpus, _ = gso.make_lines(TINY["gso"]["none"], 1, tmp_path)
    for name, symbols in (("wsj-characters-b.npz", 27), ("wsj-characters-a.npz", 26)):
        vocabulary, counts = [f"s{i}" for i in range(symbols)], np.zeros(symbols, np.int64)
        full_corpus.splits["lines"].tokens[:] %= 26
        Corpus("wsj-characters", full_corpus.splits, vocabulary, counts).save(tmp_path / name)
    selection, origin = gso.make_lines(TINY["gso"]["none"], 2, tmp_path)
    assert "wsj-characters-b.npz" in origin
    splits = [corpus.splits["lines"] for corpus in (selection, full_corpus)]
    texts = [{tuple(s.tokens[a:b]) for a, b in zip(s.offsets[:-1], s.offsets[1:], strict=True)} for s in splits]
    assert texts[0] == texts[1]
    cut, _ = gso.make_lines(TINY["gso"]["full"], 1, tmp_path)
    assert set(np.diff(cut.splits["lines"].offsets)) == {10}


def test_a_prepared_treebank_of_the_right_size_is_read_and_named(tmp_path):
    tokens = np.arange(120, dtype=np.int32)
    indptr, counts = np.arange(121), np.arange(121, 1, -1)
    extra = {"corpus_counts": counts, "tag_indptr": indptr, "tag_indices": (np.arange(120) % 9).astype(np.int32)}
    splits, tags = {"train": Split(tokens, np.array([0, 120]))}, {"tags": [f"t{i}" for i in range(9)]}
    Corpus("c", splits, [f"w{i}" for i in range(120)], counts, tags, extra=extra).save(tmp_path / "ud-french-gsd-x.npz")
    task, facts = loglinear.make_task(TINY["loglinear"]["ll"], tmp_path, 3, tmp_path)
    assert facts["text"].endswith("ud-french-gsd-x.npz")
    assert np.array_equal(task.x[:, -1] + 1, task.y)
    assert np.array_equal(task.counts, counts)
    assert facts["parameters"] == 30 * 12 + 2 * 4 * 12 * 25 + 30 * 13
