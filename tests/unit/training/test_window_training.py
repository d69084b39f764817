"""The window-based model: its equation and its training."""

from functools import partial

import pytest
import torch

from reprise.models.window import WindowModel, initialise


@pytest.mark.parametrize("direct", [False, True])
def test_it_is_equation_4(direct):
    model, generator = WindowModel(23, 5, 7, 3, direct).double(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    x = torch.randint(23, (4, 3), generator=generator)
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
    x = torch.arange(18).view(6, 3)
    assert torch.equal(models[0](x), models[1](x))
    assert models[0](x).std() > 0


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
