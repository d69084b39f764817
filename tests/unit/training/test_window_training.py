"""The window-based model: its equation, its engines, and its training."""

from __future__ import annotations

import pytest
import torch
from engine_helpers import same_bits
from protocol_helpers import finish, goes_on, options_are_known, states_of

from reprise.data.corpus import Corpus
from reprise.data.synthetic import synthetic
from reprise.engines.lecture.window import HandEngine, ReferenceEngine, choose
from reprise.errors import UserError
from reprise.models.window import WindowModel, initialise
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.window import WindowSGD

CPU = torch.device("cpu")


def random_model(direct, seed=0, vocabulary=23, embedding=5, hidden=7, window=3):
    model = WindowModel(vocabulary, embedding, hidden, window, direct)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    return model


def batch(model, size, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(model.vocabulary, (size, model.window), generator=generator)
    return x, torch.randint(model.vocabulary, (size,), generator=generator)


@pytest.mark.parametrize("direct", [False, True])
def test_it_is_equation_4(direct):
    model = random_model(direct).double()
    x, _ = batch(model, 4)
    for words, logits in zip(x, model(x), strict=True):
        vectors = torch.cat([model.E[word] for word in words])
        expected = model.W2 @ torch.tanh(model.W1 @ vectors + model.b1) + model.b3
        if direct:
            expected = expected + model.W3 @ vectors
        torch.testing.assert_close(logits, expected)
    assert sum(p.numel() for p in model.parameters()) == 23 * 5 + 7 * 15 + 7 + 23 * 7 + direct * 23 * 15 + 23


def test_with_and_without_the_direct_connection_it_starts_as_the_same_function():
    models = [WindowModel(23, 5, 7, 3, direct) for direct in (False, True)]
    for model in models:
        initialise(model, torch.Generator().manual_seed(4))
    x, _ = batch(models[0], 6)
    assert torch.equal(models[0](x), models[1](x))
    assert models[0](x).std() > 0


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("size", [1, 3, 20, 33])
@pytest.mark.parametrize("clip_norm", [0.05, 1e9])
def test_the_hand_engine_is_held_to_the_readable_model_in_float64(direct, size, clip_norm):
    model = random_model(direct, size)
    ours, expected = HandEngine(model), ReferenceEngine(model.double())
    model.float()
    for step in range(3):
        x, y = batch(model, size, step)
        x[0, 0] = x[0, -1]  # a word twice in a window
        losses = [e.train(x, y, learning_rate=0.3, clip_norm=clip_norm) for e in (ours, expected)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for name, value in expected.export().items():
        error = (ours.export()[name] - value).norm() / value.norm()
        assert error < 1e-5, name
    assert ours.evaluate(x, y) == pytest.approx(expected.evaluate(x, y), rel=1e-5)


def test_an_engine_takes_and_gives_parameters():
    model = random_model(True)
    x, y = batch(model, 8)
    one = HandEngine(model)
    one.train(x, y, learning_rate=0.5, clip_norm=5.0)
    two = HandEngine(random_model(True, seed=9))
    two.load(one.export())
    assert two.evaluate(x, y) == one.evaluate(x, y) != HandEngine(model).evaluate(x, y)
    with pytest.raises(UserError, match="engine: fused is none of auto, reference, hand"):
        choose("fused", model)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    options = {"vocabulary_size": 40, "training_sentences": 250, "seed": 1}
    synthetic.prepare(folder, options, held_out=30).save(folder / "corpus.npz")
    return folder / "corpus.npz"


def config(direct=False, **training):
    options = {"boundary": "sentence", "batch_size": 10, "learning_rate": 0.3, "clip_norm": 5.0}
    options |= {"schedule": "halve-below-ratio", "halving_ratio": 1.003, "patience": 2, "max_epochs": 2}
    return {
        "model": {
            "name": "window-lm",
            "options": {"embedding_size": 12, "hidden_size": 10, "window": 3, "direct": direct},
        },
        "training": {"protocol": "window-sgd", "options": options | training},
        "precision": "float32",
    }


@pytest.mark.parametrize("boundary", ["sentence", "text"])
def test_every_word_is_predicted_from_those_before_it(corpus, boundary):
    training, loaded = WindowSGD(config(boundary=boundary), 0, corpus, "auto", CPU), Corpus.load(corpus)
    split, end = loaded.splits["test"], loaded.vocabulary.index("</s>")
    x, y = training.data["test"]
    assert y.tolist() == split.tokens.tolist()
    for i, target in enumerate(split.offsets[1:4]):
        start = split.offsets[i] if boundary == "sentence" else 0
        before = [end] * 3 + split.tokens[start : target - 1].tolist()
        assert x[target - 1].tolist() == before[-3:]


def test_an_epoch_reads_every_window_once_in_an_order_of_its_own(corpus):
    training = WindowSGD(config(), 0, corpus, "auto", CPU)
    first = training.order()
    training.epoch = 1
    assert sorted(training.order().tolist()) == sorted(first.tolist()) == list(range(len(first)))
    assert not torch.equal(training.order(), first)
    assert torch.equal(WindowSGD(config(), 0, corpus, "auto", CPU).order(), first)


@pytest.mark.parametrize("direct", [False, True])
def test_training_beats_the_unigram(corpus, direct):
    outcome = finish(WindowSGD(config(direct, max_epochs=10), 1, corpus, "auto", CPU))
    found = {(m["split"], m["metric"]): m["value"] for m in outcome.metrics}
    facts = Corpus.load(corpus).facts
    assert facts["source_nats"]["test"] < found["test", "cross_entropy"] < 0.9 * facts["unigram_entropy_nats"]


@pytest.mark.parametrize("engine", ["hand", "reference"])
def test_training_goes_on_from_its_state_to_the_same_bits(corpus, engine, monkeypatch):
    monkeypatch.setattr(WindowSGD, "windows_at_once", 400)
    whole = WindowSGD(config(True), 2, corpus, engine, CPU)
    states = states_of(whole)[:-1]
    for i in (0, 3, len(states) // 2, len(states) - 1):
        again = WindowSGD(config(True), 2, corpus, engine, CPU)
        goes_on(again, states[i][1], whole)
        assert same_bits(whole.kernel.export(), again.kernel.export())


def test_a_whole_job_leaves_a_record(corpus, tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config(), {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, device="cpu", root=tmp_path))
    assert (record["status"], record["run"]["engine"]) == ("finished", "hand")


def test_divergence_and_wrong_input_are_told(corpus):
    with pytest.raises(Diverged, match="training loss"):
        finish(WindowSGD(config(learning_rate=1e38, clip_norm=1e30), 0, corpus, "auto", CPU))
    with pytest.raises(UserError, match="needs a prepared corpus"):
        WindowSGD(config(), 0, None, "auto", CPU)
    with pytest.raises(UserError, match="option window: 0 is below 1"):
        WindowModel(10, 2, 2, 0, False)


def test_the_registry_knows_the_options_of_this_configuration():
    options_are_known(config())
