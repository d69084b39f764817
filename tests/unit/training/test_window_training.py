"""The window-based model: its equation, its engines, and its training."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from reprise.engines.lecture.window import HandEngine, ReferenceEngine
from reprise.models.window import WindowModel, initialise


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


@pytest.fixture
def made(small):
    options = {"hidden_size": 10, "embedding_size": 12, "window": 3, "batch_size": 10, "learning_rate": 0.3}
    return partial(small, "window-sgd", **options | {"clip_norm": 5.0})


@pytest.mark.parametrize("boundary", ["sentence", "text"])
def test_every_word_is_predicted_from_those_before_it(small, made, boundary):
    training, loaded = made(boundary=boundary), small.loaded("window-sgd")
    split, end = loaded.splits["test"], loaded.vocabulary.index("</s>")
    x, y = training.data["test"]
    assert y.tolist() == split.tokens.tolist()
    for i, target in enumerate(split.offsets[1:4]):
        start = split.offsets[i] if boundary == "sentence" else 0
        before = [end] * 3 + split.tokens[start : target - 1].tolist()
        assert x[target - 1].tolist() == before[-3:]
