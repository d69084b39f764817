"""Training on windows: its losses, when it stops, what it reports, and that it resumes to the same bits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from engine_helpers import same_bits
from loglinear_helpers import CPU, config, make_corpus, readable
from protocol_helpers import (
    finish,
    goes_on,
    options_are_known,
    progress_of,
    replicas_differ_and_repeat,
    states_of,
    values,
)

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols import loglinear as windows
from reprise.training.protocols.loglinear import Windows


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("scheme", ["sliding", "streams"])
def test_losses_that_are_told_are_those_of_one_pass_over_the_text(corpus, engine, scheme):
    made = config(scheme=scheme, max_epochs=1)
    training = Windows(made, 3, corpus, engine, CPU)
    outcome = finish(training)
    model, loaded = readable(training, made), Corpus.load(corpus)
    found = values(outcome)
    for split, metric in (("valid", "cross_entropy"), ("test2", "cross_entropy"), ("train", "cross_entropy_evaluated")):
        words = torch.from_numpy(loaded.splits[split].tokens).long()
        if scheme == "sliding":
            log_p, targets = model(words.unfold(0, 8, 1)[:-1].T), words[8:]
        else:
            streams = 32 if split == "train" else 1
            steps = (len(words) - 1) // streams
            x = words[: steps * streams].view(streams, steps).T
            targets = words[1 : steps * streams + 1].view(streams, steps).T.flatten()
            log_p = model.log_p(model.adaptors(x)[0].flatten(0, 1))
        expected = -log_p.gather(1, targets[:, None]).mean().item()
        assert found[split, metric] == pytest.approx(expected, rel=1e-5)
        (n,) = {m["n"] for m in outcome.metrics if m["split"] == split and m["metric"] == metric}
        assert n == len(targets)
    both = sum(found[split, "cross_entropy"] * training.counts[split] for split in ("test1", "test2"))
    n = training.counts["test1"] + training.counts["test2"]
    assert found["tests", "cross_entropy"] == pytest.approx(both / n)


@pytest.mark.parametrize("kind", ["ll-rnn", "rnn"])
def test_training_beats_the_unigram(corpus, kind):
    outcome = finish(Windows(config(kind, max_epochs=5, learning_rate=0.01), 1, corpus, "auto", CPU))
    loaded, found = Corpus.load(corpus), values(outcome)
    p = loaded.extra["corpus_counts"] / loaded.extra["corpus_counts"].sum()
    assert found["test1", "source_entropy"] == loaded.facts["source_nats"]["test1"]
    assert found["test1", "source_entropy"] < found["test1", "cross_entropy"] < -0.9 * p @ np.log(p)


def test_engines_learn_the_same(corpus):
    curves = [finish(Windows(config(max_epochs=2), 1, corpus, engine, CPU)).curves for engine in ("auto", "reference")]
    for ours, theirs in zip(*curves, strict=True):
        assert ours["y"] == pytest.approx(theirs["y"], rel=1e-3)


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("scheme", ["sliding", "streams"])
def test_training_goes_on_from_its_state_to_the_same_bits(corpus, engine, scheme, monkeypatch):
    monkeypatch.setattr(Windows, "batches_at_once", 7)
    monkeypatch.setattr(windows, "READING", 64)
    made = config(scheme=scheme, max_epochs=2, batch_size=100)
    whole = Windows(made, 2, corpus, engine, CPU)
    states, seen = states_of(whole, "phase")[1:], set()
    train = next(i for i, (phase, _) in enumerate(states) if phase == "train")
    for i in sorted({0, train, len(states) // 3, 2 * len(states) // 3, len(states) - 4, len(states) - 2}):
        phase, state = states[i]
        seen.add(phase)
        again = Windows(made, 2, corpus, engine, CPU)
        goes_on(again, state, whole)
        assert same_bits(whole.kernel.export(), again.kernel.export())
    assert {"train"} < seen, "the states must stand in the training text and elsewhere"


def test_replicas_differ_and_repeat(corpus):
    replicas_differ_and_repeat(lambda seed: Windows(config(max_epochs=1), seed, corpus, "auto", CPU))


def test_progress_never_goes_back(corpus):
    training = Windows(config(), 0, corpus, "auto", CPU)
    seen = progress_of(training)
    assert all(before <= after for before, after in pairwise(seen))
    assert seen[0] == 0
    assert seen[-1] == training.total == 2


def test_training_stops_three_epochs_after_the_best_and_tells_both(corpus, monkeypatch):
    valid = [5.0, 4.0, 4.2, 4.0, 4.1, 1.0]
    training = Windows(config(max_epochs=60, batch_size=500), 0, corpus, "auto", CPU)
    monkeypatch.setattr(training.kernel, "train", lambda x, y, **_: (3.0 - 0.1 * training.epoch) * y.numel())

    def evaluate(x, y):
        offset = {"valid": 0.0, "test1": 10.0, "test2": 20.0}.get(training.phase, 30.0)
        return (valid[min(training.epoch, 4)] + offset) * y.numel()

    monkeypatch.setattr(training.kernel, "evaluate", evaluate)
    found = values(finish(training))
    # 4.0 again is no improvement
    assert [h["valid"] for h in training.history] == pytest.approx(valid[:5])
    assert (found["train", "epochs"], found["valid", "best_epoch"]) == (5, 2)
    assert found["test1", "cross_entropy"] == pytest.approx(14.1)
    assert found["test1", "cross_entropy_best"] == pytest.approx(14.0)
    assert found["train", "cross_entropy"] == pytest.approx(2.6)
    assert found["train", "cross_entropy_best"] == pytest.approx(2.9)
    assert found["train", "cross_entropy_evaluated"] == pytest.approx(34.1)


def test_a_whole_job_leaves_a_record(corpus, tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config("tags alone", max_epochs=1), {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path))
    assert record["status"] == "finished"
    tags = len(Corpus.load(corpus).facts["tags"])
    assert record["parameters"] == tags * 16 + 2 * 4 * 16 * 33 + tags * 17
    assert record["samples"]


def test_divergence_is_told(corpus):
    with pytest.raises(Diverged, match="loss"):
        finish(Windows(config(learning_rate=1e38), 0, corpus, "auto", CPU))


def test_wrong_input_is_told_in_one_line(corpus, tmp_path):
    with pytest.raises(UserError, match="corpus"):
        Windows(config(), 0, None, "auto", CPU)
    with pytest.raises(UserError, match="engine"):
        Windows(config(), 0, corpus, "grouped", CPU)
    with pytest.raises(UserError, match="top_types"):
        Windows(config(sizes={"top_types": 1000}), 0, corpus, "auto", CPU)
    whole = Corpus.load(corpus)
    del whole.splits["test2"]
    whole.save(tmp_path / "c.npz")
    with pytest.raises(UserError, match="no split test2"):
        Windows(config(), 0, tmp_path / "c.npz", "auto", CPU)


def test_the_registry_knows_the_options_of_these_configurations():
    options_are_known(config())
