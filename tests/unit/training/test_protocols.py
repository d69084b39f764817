"""What every protocol promises: it goes on to the same bits, alone and in a stack, and refuses in one line."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from experiment_helpers import jobs_of
from protocol_helpers import assert_resumes, checkpoints, curves, finish, lines_of, saved, states_of, values

from reprise.catalogue.protocols import PROTOCOLS
from reprise.engines.stack import Stack
from reprise.errors import Interrupted, UserError
from reprise.training.checkpoint import decode, encode
from reprise.training.jobs import run_jobs
from reprise.training.protocol import Diverged, build_training, derive_generator

CPU = torch.device("cpu")
# The options that are changed, the fast engine, and how calls are made short, so that some end inside a part.
LEARN: dict[str, tuple[dict[str, Any], str, tuple[str, int]]] = {
    "final-digit": ({"model": "elman"}, "fused", ("piece_size", 1)),
    "final-digit, lstm": ({"model": "lstm"}, "fused", ("piece_size", 1)),
    "character-windows": ({}, "reference", ("piece_size", 7)),
    "character-windows, carried": ({"window_state": "carried"}, "reference", ("piece_size", 7)),
    "subsequence-sgd": ({"matrices": 5}, "fused", ("piece_size", 37)),
    "subsequence-sgd, rnnlm": ({"schedule": "rnnlm", "halving_ratio": 9.0, "patience": 3}, "fused", ("piece_size", 37)),
    "batched-sgd": ({"dropout": 0.5}, "grouped", ("windows", 3)),
    "batched-sgd, lstm": ({"model": "lstm-lm"}, "grouped", ("windows", 3)),
    "line-epochs": ({}, "fused", ("tokens_per_piece", 1)),
    "windows": ({}, "fused", ("piece_size", 3)),
    "windows, features": (
        {"output": "log-linear", "input": "features", "word_identity": True},
        "fused",
        ("piece_size", 3),
    ),
    "windows, streams": ({"scheme": "streams"}, "fused", ("piece_size", 3)),
    "window-sgd": ({"direct": True}, "reference", ("piece_size", 100)),
    "tagging": ({}, "reference", ("piece_size", 1)),
    "sentence-labels": ({"pooling": "mean"}, "reference", ("piece_size", 1)),
    "translation": ({"untied": True, "context": True}, "reference", ("piece_size", 1)),
    "recall": ({"model": "notes-lstm"}, "reference", ("piece_size", 5)),
}
RECURRENT = {"hidden_size": 24, "embedding_size": 12, "dropout": 0.2, "batch_size": 10, "training_sentences": 200}
RECURRENT |= {"max_epochs": 6, "steps": 10, "weight_range": 0.05, "patience": 2}
WINDOWS = {"hidden_size": 10, "embedding_size": 12, "window": 3, "batch_size": 10, "learning_rate": 0.3}
WINDOWS |= {"clip_norm": 5.0, "max_epochs": 10, "training_sentences": 250, "patience": 2}
LOGLINEAR = {"batch_size": 32, "hidden_size": 16, "embedding_size": 16, "learning_rate": 0.01, "max_epochs": 5}
PLAIN = {"input": "one-hot", "output": "softmax"}
FEATURES = {"input": "features", "output": "log-linear", "word_identity": True, "top_types": 15}
BOOKS = {"batch_size": 16, "length": 30, "learning_rate": 0.01, "mean_square_start": "zero", "steps": 301}
BOOKS |= {"hidden_size": 32, "sample_every": 300, "table_every": 300, "log_every": 10, "clip_norm": 5.0}
COUNT = ("ngram", "word-ngram", "word-order", "random-jacobians", "error-surface", "corpus-facts")
ENGINES = [
    pytest.param(case, engine, marks=needs_compiler if engine == "fused" else ())
    for case, (_, fast, _) in LEARN.items()
    for engine in dict.fromkeys((fast, "reference"))
] + [(protocol, "auto") for protocol in COUNT]
REPLICAS = 2


def changes_of(case):
    return LEARN[case][0] if case in LEARN else {}


@pytest.fixture
def make(small, monkeypatch):
    """A small training of a case, with short calls."""

    def made(case, seed=0, engine="auto", **changes):
        protocol = case.partition(",")[0]
        if case in LEARN:
            module, _, name = PROTOCOLS[protocol].target.partition(":")
            monkeypatch.setattr(f"{module}.{name}.{LEARN[case][2][0]}", LEARN[case][2][1])
        return small(protocol, seed, engine, **changes_of(case) | changes)

    return made


def test_every_protocol_is_here():
    learn = {name for name, entry in PROTOCOLS.items() if entry.gpu and not entry.any_module}
    assert {case.partition(",")[0] for case in LEARN} == learn
    # A protocol for modules of one's own is tested in test_language_model.py.
    tested = {*COUNT, *(case.partition(",")[0] for case in LEARN)}
    assert tested == {name for name, entry in PROTOCOLS.items() if not entry.any_module}


def test_random_streams_are_apart():
    numbers = {tuple(torch.rand(3, generator=derive_generator(s, n)).tolist()) for s in (0, 1) for n in ("a", "b")}
    assert len(numbers) == 4


@pytest.mark.parametrize(("case", "engine"), ENGINES)
def test_it_goes_on_from_its_state_to_the_same_bits(make, case, engine):
    """From the first and last states of a part, and some between them."""
    original = make(case, 1, engine)
    assert engine in ("auto", original.engine_name)
    states = states_of(original, "part" if hasattr(original, "part") else None)
    borders = [i for i, (one, other) in enumerate(pairwise(states)) if one[0] != other[0]]
    chosen = sorted({0, 1, len(states) // 2, len(states) - 1, *borders[:3], *borders[-3:]})
    for i in (i for i in chosen if i < len(states)):
        resumed = make(case, 1, engine)
        assert_resumes(resumed, states[i][1], original)
        assert (resumed.done, resumed.parameter_count) == (original.done, original.parameter_count)


STOPPED = [(case, "auto", 2) for case in (*LEARN, *COUNT)] + [("final-digit", "stacked", rounds) for rounds in (1, 5)]


@pytest.mark.parametrize(("case", "engine", "rounds"), STOPPED)
def test_a_stopped_job_leaves_the_records_of_one_that_was_not(small, make, case, engine, rounds, tmp_path):
    make(case)  # shortens the calls
    replicas = REPLICAS if engine == "stacked" else 1
    resolved = replace(small.resolved(case.partition(",")[0], **changes_of(case)), replicas=replicas)
    originals = run_jobs(jobs_of([resolved], tmp_path / "whole", engine))
    assert [(record["status"], record["seed"]) for record in originals] == [("finished", r) for r in range(replicas)]
    assert all(record["metrics"] for record in originals)
    calls = count(1)

    def watch():
        return "the test" if next(calls) == rounds else ""

    stopped = case not in COUNT[-3:]  # these have no more than two pieces
    with pytest.raises(Interrupted, match="stopped by the test") if stopped else nullcontext():
        run_jobs([replace(job, watch=watch) for job in jobs_of([resolved], tmp_path, engine)])
    assert len(checkpoints(tmp_path)) == stopped
    resumed = run_jobs(jobs_of([resolved], tmp_path, engine))
    assert [record["result_sha256"] for record in resumed] == [record["result_sha256"] for record in originals]
    assert {record["run"]["resumed"] for record in resumed} == {int(stopped)}
    assert checkpoints(tmp_path) == []


@pytest.mark.parametrize("case", [*LEARN, *COUNT])
def test_replicas_repeat_and_differ_where_there_is_chance(make, case):
    one, repeated, two = (make(case, seed) for seed in (0, 0, 1))
    progress = [one.done]
    while not one.finished:
        assert one.advance()
        progress.append(one.done)
    assert progress == sorted(progress)
    assert (progress[0], progress[-1]) == (0, one.total)
    assert one.make_outcome() == finish(repeated)
    is_exact = not PROTOCOLS[one.protocol].chance or case == "corpus-facts"
    assert (one.make_outcome() == finish(two)) == is_exact


TEXTS: list[tuple[str, dict[str, Any], tuple[str, str], float]] = [
    ("subsequence-sgd", {"training_sentences": 300, "max_epochs": 6, "dropout": 0.5}, ("test", "cross_entropy"), 1.0),
    *(
        ("batched-sgd", RECURRENT | {"model": model}, ("test", "cross_entropy"), 0.97)
        for model in ("gru-lm", "lstm-lm")
    ),
    *(("window-sgd", WINDOWS | {"direct": direct}, ("test", "cross_entropy"), 0.9) for direct in (False, True)),
    *(("windows", LOGLINEAR | kind, ("test1", "cross_entropy"), 0.9) for kind in (PLAIN, FEATURES)),
    ("character-windows", BOOKS, ("train", "final_cross_entropy"), 0.6),
]


@pytest.mark.parametrize(("protocol", "options", "measured", "share"), TEXTS)
def test_of_a_text_more_is_learned_than_how_frequent_words_are(small, protocol, options, measured, share):
    """The loss is below that of the unigram, by how much depends on the model, and above the source's own entropy."""
    metrics, loaded = values(finish(small(protocol, 1, **options))), small.loaded(protocol, **options)
    p = np.bincount(loaded.splits["train"].tokens) / len(loaded.splits["train"].tokens)
    unigram = -(p[p > 0] * np.log(p[p > 0])).sum()
    source = loaded.facts["source_nats"][measured[0]]
    assert metrics[measured[0], "source_entropy"] == source < metrics[measured] < share * unigram


SMALL_NETWORK = {"hidden_size": 16, "embedding_size": 16, "max_epochs": 40}
BEST = {
    "tagging": (SMALL_NETWORK | {"training_sentences": 240, "learning_rate": 0.03}, "accuracy", max, 1),
    "translation": (
        SMALL_NETWORK | {"training_sentences": 300, "learning_rate": 0.1, "untied": True},
        "cross_entropy",
        min,
        1,
    ),
    "line-epochs": ({"max_epochs": 9, "learning_rate": 0.1}, "cross_entropy", min, None),
}


@pytest.mark.parametrize("protocol", BEST)
def test_what_is_reported_is_the_best_epoch_on_validation(small, protocol):
    """Training ends `patience` epochs later, where it has one; all else is that of a training which ends there."""
    options, metric, best_of, patience = BEST[protocol]
    outcome = finish(small(protocol, 0, **options))
    metrics, valid = values(outcome), list(curves(outcome)["valid", metric].values())
    best = int(metrics["valid", "best_epoch"])
    assert (best, metrics["valid", metric]) == (1 + valid.index(best_of(valid)), best_of(valid))
    assert best < metrics["train", "epochs"] == len(valid) == (best + patience if patience else options["max_epochs"])
    stopped = finish(small(protocol, 0, **options | {"max_epochs": best}))
    assert (values(stopped), stopped.samples) == (metrics | {("train", "epochs"): best}, outcome.samples)


@pytest.mark.parametrize("model", ["elman", "lstm"])
def test_palindromes_of_three_digits_are_learned(small, model):
    options = {"length": 3, "hidden_size": 16, "steps": 301, "batch_size": 32, "learning_rate": 0.02, "log_every": 5}
    outcome = finish(small("final-digit", model=model, clip_norm=10.0, **options))
    metrics, accuracy = values(outcome), curves(outcome)["train", "accuracy"]
    assert metrics["train", "reached_full_accuracy"] == metrics["train", "best_accuracy"] == 1
    assert metrics["train", "last_ten_accuracy"] > 0.95
    assert list(accuracy) == list(range(0, 301, 5))
    assert metrics["train", "first_full_accuracy_step"] == next(step for step, share in accuracy.items() if share == 1)
    assert metrics["train", "last_ten_accuracy"] == pytest.approx(sum(list(accuracy.values())[-10:]) / 10)


def lines_read(training):
    """Where the training lines begin, in the order in which they are read."""
    return [line[0] - 1 for batch in training.batches for line in lines_of(batch)]


def lines_to_read(training):
    lengths, starts = np.diff(training.lines.offsets), training.lines.offsets
    return [starts[i] for i in training.parts["train"] if lengths[i] > 1]


ORDERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "line-epochs": (lines_read, lines_to_read),
    "window-sgd": (lambda training: training.draw_order(), lambda training: range(training.counts["train"])),
    "tagging": (
        lambda training: np.concatenate(training.batches),
        lambda training: range(training.splits["train"].sentence_count),
    ),
    "translation": (
        lambda training: np.concatenate(training.batches),
        lambda training: range(len(training.pairs["train"])),
    ),
}


@pytest.mark.parametrize("protocol", ORDERS)
def test_every_epoch_reads_all_of_the_text_in_an_order_of_its_own(make, protocol):
    training, (order, list_all) = make(protocol), ORDERS[protocol]
    first, repeated = (list(map(int, order(one))) for one in (training, make(protocol)))
    while training.epoch == 0:
        training.advance()
    second = list(map(int, order(training)))
    assert second != first == repeated
    assert sorted(second) == sorted(first) == sorted(list_all(training))


@pytest.mark.parametrize("case", LEARN)
def test_a_loss_that_is_no_number_ends_training(make, case):
    training = make(case)
    training.advance()
    state = decode(saved(training))["state"]
    state["parameters"] = {name: torch.full_like(p, torch.nan) for name, p in state["parameters"].items()}
    training.restore(state)
    with pytest.raises(Diverged, match=r"(epoch 1|step \d+).* quantity (train|training|valid) loss"):
        finish(training)


@pytest.mark.parametrize("protocol", dict.fromkeys(case.partition(",")[0] for case in LEARN))
def test_an_engine_that_there_is_not_is_refused(make, protocol):
    with pytest.raises(UserError, match="engine: none is none of auto, .*reference.*; name one of these with --engine"):
        make(protocol, engine="none")


REFUSED = [
    ("batched-sgd", {"batch_size": 10**6}, "fewer words than batch_size streams; lower it"),
    ("character-windows", {"length": 10**6}, "too few for windows of `length`; lower it"),
    ("line-epochs", {"seed": 2}, "replica 2: .* has 2 folds, one a replica; ask for fewer replicas"),
    ("ngram", {"seed": 2}, "replica 2: .* has 2 folds, one a replica; ask for fewer replicas"),
    ("word-ngram", {"halvings": 9}, "60 sentences cannot be halved 9 times"),
    ("windows", FEATURES | {"top_types": 1000}, "top_types"),
    ("windows", {"window": 10**6}, "too few for one window; lower window or batch_size"),
    ("windows", {"batch_size": 10**6, "scheme": "streams"}, "too few for one window; lower window or batch_size"),
]


@pytest.mark.parametrize(("protocol", "changes", "message"), REFUSED)
def test_options_that_do_not_fit_the_corpus_are_refused(small, protocol, changes, message):
    folds = {"folds": 2} if "seed" in changes else {}
    with pytest.raises(UserError, match=message):
        small(protocol, **folds | changes)


WORDS = ("subsequence-sgd", "batched-sgd", "window-sgd", "word-ngram", "word-order")
UNFIT = [
    *(
        (protocol, None, "needs a prepared corpus")
        for protocol in PROTOCOLS
        if protocol not in ("final-digit", "recall", "language-model", *COUNT[-3:])
    ),
    ("corpus-facts", None, "has no corpus; name one that has"),
    *(
        (protocol, other, f"no {split} split, which the protocol {protocol} needs")
        for protocol in WORDS
        for other, split in (("line-epochs", "train"), ("windows", "test"), ("character-windows", "valid"))
    ),
    *((protocol, "line", "lines of symbols, and no words") for protocol in WORDS),
    *((protocol, "none", "running text without the sentences, which the protocol") for protocol in WORDS[2:]),
    *((protocol, "no folds", f"no folds; the protocol {protocol} needs them") for protocol in ("line-epochs", "ngram")),
    ("line-epochs", "one fold", "the valid lines of fold 0 have nothing to predict"),
    ("windows", "window-sgd", "no test1 split, which the protocol windows needs"),
    ("tagging", "window-sgd", "its words bear no tags"),
    ("translation", "window-sgd", "no parallel text; the protocol translation needs one"),
]


@pytest.mark.parametrize(("protocol", "other", "message"), UNFIT)
def test_a_corpus_that_does_not_fit_is_refused(small, protocol, other, message):
    """None at all, that of another protocol, and its own with other boundaries or folds."""
    resolved, path = small.resolved(protocol), None
    if other in PROTOCOLS:
        path = small.folder / "other.npz"
        replace(small.loaded(other), provenance={}).save(path)
    elif other:
        corpus, path = small.loaded(protocol), small.folder / "other.npz"
        if "fold" in other:
            part = corpus.extra.pop("part")
            corpus.extra.update({"part": np.zeros_like(part)} if other == "one fold" else {})
        else:
            corpus.facts["boundaries"] = other
        corpus.save(path)
    with pytest.raises(UserError, match=message):
        build_training(resolved, 0, path, "auto")


@pytest.mark.parametrize("key", ["dataset", "options", "raw"])
def test_a_corpus_of_other_data_than_configured_is_refused(small, tmp_path, key):
    """Its text would do, and the record would name a text that the model has not read."""
    resolved, corpus = small.resolved("subsequence-sgd"), small.loaded("subsequence-sgd")
    options = corpus.provenance["options"]
    others = {"dataset": "other", "options": options | {next(iter(options)): -1}, "raw": {"a.txt": "sha256:0"}}
    replace(corpus, provenance=corpus.provenance | {key: others[key]}).save(tmp_path / "c.npz")
    with pytest.raises(UserError, match=rf"c\.npz: key provenance\.{key}: "):
        build_training(resolved, 0, tmp_path / "c.npz", "auto")


def test_a_corpus_from_before_an_option_was_added_is_read(small, tmp_path):
    resolved, corpus = small.resolved("subsequence-sgd"), small.loaded("subsequence-sgd")
    options = dict(list(corpus.provenance["options"].items())[1:])
    replace(corpus, provenance=corpus.provenance | {"options": options}).save(tmp_path / "c.npz")
    build_training(resolved, 0, tmp_path / "c.npz", "auto")


def together(stack, trainings, states=None):
    """Trains all to the end; `states` gets what a checkpoint would hold between two rounds, while all train."""
    live = list(trainings)
    while live:
        for result in stack.advance(live):
            if isinstance(result, BaseException):
                raise result
        if states is not None and len(live) == len(trainings):
            states.append(encode({"identity": {}, "state": {"all": [training.get_state() for training in trainings]}}))
        live = [training for training in live if not training.finished]
        stack.remove_all_but(live)
    return [training.make_outcome() for training in trainings]


def held_to(outcome, other):
    """The same metrics, and values that differ in rounding alone."""
    assert outcome.metrics
    for metric, expected in zip(outcome.metrics, other.metrics, strict=True):
        assert metric | {"value": 0} == expected | {"value": 0}
        assert metric["value"] == pytest.approx(expected["value"], rel=1e-8)


@pytest.mark.parametrize("case", LEARN)
def test_replicas_of_a_stack_are_those_that_train_alone(make, case):
    stack = Stack(CPU)
    outcomes = together(stack, [make(case, replica, stack, precision="float64") for replica in range(REPLICAS)])
    for replica, outcome in enumerate(outcomes):
        alone = finish(make(case, replica, "reference", precision="float64"))
        held_to(outcome, alone)
        for curve, expected in zip(outcome.curves, alone.curves, strict=True):
            assert curve["x"] == expected["x"]
            assert curve["y"] == pytest.approx(expected["y"], rel=1e-6)
        assert outcome.samples == alone.samples


@pytest.mark.parametrize("case", LEARN)
def test_a_stack_goes_on_from_its_states_to_the_same_bits(make, case):
    states: list[bytes] = []
    stack = Stack(CPU)
    outcomes = together(stack, [make(case, replica, stack) for replica in range(REPLICAS)], states)
    for state in {states[0], states[len(states) // 2], states[-1]}:
        stack = Stack(CPU)
        trainings = [make(case, replica, stack) for replica in range(REPLICAS)]
        for training, member_state in zip(trainings, decode(state)["state"]["all"], strict=True):
            training.restore(member_state)
        live = [training for training in trainings if not training.finished]
        stack.remove_all_but(live)
        together(stack, live)
        assert [training.make_outcome() for training in trainings] == outcomes


@pytest.mark.parametrize("case", ["subsequence-sgd", "line-epochs", "windows", "translation", "tagging"])
def test_a_member_that_diverges_leaves_the_others_as_they_are(make, case):
    healthy, stack = Stack(CPU), Stack(CPU)
    expected = together(healthy, [make(case, r, healthy, precision="float64") for r in range(REPLICAS)])
    trainings = [make(case, replica, stack, precision="float64") for replica in range(REPLICAS)]
    parameters = trainings[1].engine.export()
    trainings[1].engine.load({name: torch.full_like(value, torch.nan) for name, value in parameters.items()})
    results = stack.advance(trainings)
    while isinstance(results[1], str):
        results = stack.advance(trainings)
    assert isinstance(results[1], Diverged)
    stack.remove_all_but(trainings[:1])
    held_to(together(stack, trainings[:1])[0], expected[0])
