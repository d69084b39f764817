"""The recall task: its texts, its training and its records, and networks that are not trained."""

from functools import partial

import pytest
import torch
from protocol_helpers import curves, finish, values

from reprise.data.synthetic.names import Names
from reprise.data.synthetic.phrases import BASE_DISTANCE, FILLERS
from reprise.training.protocol import derive_generator


@pytest.fixture
def recall(small):
    options = {"model": "notes-lstm", "text_lengths": "half-without", "batch_size": 20, "steps": 60, "log_every": 20}
    return partial(small, "recall", hidden_size=12, learning_rate=0.003, **options)


def test_the_texts_are_those_of_the_notes():
    names = Names(5)
    x, y = names.draw(17, 64, torch.Generator().manual_seed(0))
    texts = [" ".join(names.vocabulary[word] for word in text) for text in x.T]
    for text, answer in zip(texts, y.tolist(), strict=True):
        first, second = text.split()[0], f"name-{answer}"
        assert text.startswith(f"{first} walked into the room . {second} walked in too . ")
        assert text.endswith(f" {first} said hi to")
        assert first != second
    assert x.shape == (32, 64)
    assert len(x) - 1 - texts[0].split().index(f"name-{y[0]}") == BASE_DISTANCE + 17
    assert set(y.tolist()) == set(range(5))
    assert names.draw(0, 1, torch.Generator())[0].shape == (15, 1)


@pytest.mark.slow
def test_an_lstm_learns_the_task_and_the_record_says_how_far(recall):
    outcome = finish(recall(steps=800, learning_rate=0.01))
    metrics, points = values(outcome), curves(outcome)
    accuracies = [metrics["test", f"accuracy_at_{BASE_DISTANCE + filler}"] for filler in FILLERS if filler <= 4]
    assert min(accuracies) > 0.6  # by chance 1 in 3
    assert metrics["test", f"probability_at_{BASE_DISTANCE}"] == pytest.approx(accuracies[0], abs=0.2)
    assert {
        ("start", f"log10_jacobian_at_{BASE_DISTANCE}"),
        ("end", f"log10_jacobian_at_{BASE_DISTANCE + 4}"),
    } <= metrics.keys()
    assert list(points["train", "nats_at_blank"]) == list(range(0, 800, 20))
    assert list(points["test", "accuracy"]) == [8, 9, 10, 12]
    assert list(points["start", "jacobian_norm"]) == list(range(1, 20))
    assert ("start", "jacobian_bound") not in points


def test_the_loss_is_of_the_name_at_the_blank(recall):
    training = recall()
    training.advance()
    generator = derive_generator(0, "data")
    length = int(torch.randint(2, (), generator=generator) * torch.randint(1, 5, (), generator=generator))
    x, y = training.names.draw(length, 20, generator)
    expected = torch.nn.functional.cross_entropy(recall().model(x), y).item()
    assert training.log["nats_at_blank"][0] == pytest.approx(expected)


@pytest.mark.parametrize(("text_lengths", "share"), [("half-without", 1 / 2), ("alike", 1 / 7)])
def test_how_many_batches_have_no_filler(recall, monkeypatch, text_lengths, share):
    training, lengths = recall(steps=400, filler=6), []
    training.options["text_lengths"] = text_lengths
    draw = training.names.draw
    monkeypatch.setattr(training.names, "draw", lambda n, *more: (lengths.append(n), draw(n, *more))[1])
    finish(training)
    trained = lengths[1:401]  # the first draw is that of the probe
    assert trained.count(0) / 400 == pytest.approx(share, abs=0.08)
    assert set(trained) == set(range(7))


def test_a_network_that_is_not_trained_is_that_before_training(small, recall):
    network = {"hidden_size": 12, "recurrent_scale": 1.0, "activation": "tanh"}
    untrained, trained = finish(small("random-jacobians", **network)), finish(recall(model="notes-rnn", **network))
    assert untrained.curves == [curve for curve in trained.curves if curve["split"] == "start"]
    assert {m["metric"] for m in untrained.metrics} >= {"log10_jacobian_at_8", "log10_above_bound"}
