"""Truncated backpropagation through time on streams of text: gated networks of document 001."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from protocol_helpers import finish

from reprise import counters
from reprise.catalogue.models import MODELS, Model
from reprise.engines.stack import Stack
from reprise.training.epochs import Epochs
from reprise.training.protocol import build_training
from reprise.training.protocols.gated import BatchedSGD

OPTIONS = {"batch_size": 4, "steps": 10, "embedding_size": 12, "dropout": 0.5, "weight_range": 0.05, "patience": 2}


@pytest.fixture
def made(small):
    return partial(small, "batched-sgd", **OPTIONS)


@pytest.fixture
def loaded(small):
    return small.loaded("batched-sgd")


@pytest.fixture
def recorded(made):
    """A training that keeps in `given` what its engine is given: x, y, masks, options; and the states around it."""

    def watched(*arguments, **changes):
        training = made(*arguments, **changes)
        training.given, train = [], training.engine.train

        def watch(x, y, masks, **options):
            before = tuple(s.clone() for s in training.engine.state)
            loss = train(x, y, masks, **options)
            training.given.append((x, y, masks, options, before, training.engine.state))
            return loss

        training.engine.train = watch
        return training

    return watched


def given_in_an_epoch(training):
    start, now = len(training.given), training.epoch
    while training.epoch == now:
        training.advance()
    return training.given[start:]


@pytest.mark.parametrize("engine", ["grouped", "reference"])
@pytest.mark.parametrize("model", ["gru-lm", "lstm-lm"])
def test_losses_that_are_told_are_those_of_one_pass_over_the_text(made, loaded, engine, model):
    training = made(3, engine, model=model, dropout=0.0, max_epochs=1)
    finish(training)
    readable = MODELS[model].build(
        {"embedding_size": 12, "hidden_size": 8, "matrices": 3, "mapping": "f"}, vocabulary=60
    )
    readable.load_state_dict(training.engine.export())
    end = loaded.vocabulary.index("</s>")
    for split in ("valid", "test"):
        words = torch.from_numpy(loaded.splits[split].tokens).long()
        x = torch.cat([torch.tensor([end]), words[:-1]])[:, None]
        logits, _ = readable(x, readable.initial_state(1))
        expected = torch.nn.functional.cross_entropy(logits[:, 0], words).item()
        assert training.history[0][split] == pytest.approx(expected, rel=1e-5)
    counted = {m["split"]: m["n"] for m in training.make_outcome().metrics if m["metric"] == "cross_entropy"}
    tokens = {split: len(loaded.splits[split].tokens) for split in counted}
    assert counted == tokens | {"train": tokens["train"] // 4 * 4}


@pytest.mark.parametrize("model", ["gru-lm", "lstm-lm"])
def test_texts_read_side_by_side_have_the_losses_of_each_alone(made, model):
    """They are of different lengths: the longer one ends alone."""
    sums = []
    for read in (Epochs.read_parts, BatchedSGD.read_parts):
        training = made(0, "reference", model=model)
        assert training.counts["valid"] != training.counts["test"]
        read(training, lambda _: None)
        sums.append({part: training.sums[part] for part in ("valid", "test")})
    assert sums[1] == pytest.approx(sums[0], rel=1e-6)


def test_losses_too_large_for_a_perplexity_do_not_end_training(made):
    training = made(learning_rate=1e5)
    finish(training)
    assert training.history[-1]["valid"] > 1000  # nats/token: no float holds e to the power of this
    assert training.describe_progress().startswith("valid ppl inf, test ppl inf")


def test_training_text_is_cut_into_streams_that_are_read_in_order(recorded, loaded):
    windows = given_in_an_epoch(recorded(batch_size=5))
    x, y = (torch.cat([window[i] for window in windows]) for i in (0, 1))
    words = loaded.splits["train"].tokens
    length, left_out = divmod(len(words), 5)
    assert left_out > 0
    assert [len(window[0]) for window in windows] == [10] * (length // 10) + [length % 10]
    assert y.T.flatten().tolist() == words[:-left_out].tolist()
    # Each word is read before the next one is predicted, </s> before the first.
    assert x.T.flatten().tolist() == [loaded.vocabulary.index("</s>"), *words[: -left_out - 1]]


def test_text_without_sentence_ends_is_not_predicted_from_one(recorded, loaded, tmp_path):
    loaded.facts["boundaries"] = "none"
    loaded.save(tmp_path / "without.npz")
    words = loaded.splits["train"].tokens
    ((x, y, *_),) = given_in_an_epoch(recorded(corpus=tmp_path / "without.npz", batch_size=1, steps=len(words)))
    assert (x.flatten().tolist(), y.flatten().tolist()) == (words[:-1].tolist(), words[1:].tolist())


def test_the_state_starts_at_zero_in_every_epoch_and_is_carried_within(recorded):
    training = recorded(max_epochs=2)
    finish(training)
    trained = training.given
    assert len(trained) % 2 == 0
    for i, (*_, before, _) in enumerate(trained):
        if i % (len(trained) // 2) == 0:
            assert all(not s.any() and s.shape == (4, 8) for s in before)
        else:
            assert all(torch.equal(a, b) for a, b in zip(before, trained[i - 1][-1], strict=True))
            assert before[0].any()


def test_options_reach_the_engine(recorded):
    (*_, options, _, _), *_ = given_in_an_epoch(
        recorded(learning_rate=0.25, clip_norm=3.0, loss_reduction="mean-steps")
    )
    assert options == {"learning_rate": 0.25, "reduction": "mean-steps", "clip_norm": 3.0}


def test_masks_are_numbers_of_the_word_and_the_epoch(recorded):
    training, other = (recorded(steps=steps, dropout=0.3) for steps in (10, 7))
    windows = [given_in_an_epoch(one) for one in (training, training, other)]
    first, second, third = ([torch.cat([w[2][i] for w in epoch]) for i in (0, 1)] for epoch in windows)
    for mask, repeated, width in zip(first, third, (12, 8), strict=True):
        assert mask.shape[1:] == (4, width)
        assert torch.equal(mask, repeated), "masks must not depend on where the windows end"
        assert set(mask.unique().tolist()) == {0.0, np.float32(1 / 0.7)}
        assert (mask == 0).double().mean().item() == pytest.approx(0.3, abs=0.02)
    assert not torch.equal(first[0], second[0])
    for stream, mask in zip((2, 1), first, strict=True):
        words, width = mask.shape[0] * 4, mask.shape[2]
        numbers = counters.draw_dropout_mask(counters.compute_key(0, stream, 0), 0, words, width, 0.3)
        np.testing.assert_array_equal(mask.reshape(words, width).numpy(), numbers)
    assert all(window[2] is None for window in given_in_an_epoch(recorded(dropout=0.0)))


PLAIN = """
import torch
from torch import nn

class Plain(nn.Module):
    def __init__(self, vocabulary: int, hidden_size: int):
        super().__init__()
        self.A = nn.Parameter(torch.empty(vocabulary, hidden_size))
        self.B = nn.Parameter(torch.empty(vocabulary, hidden_size))

    def initial_state(self, batch):
        return (self.A.new_zeros(batch, self.A.shape[1]),)

    def forward(self, words, state, masks=None):
        (h,), states = state, []
        for word in words:
            h = torch.tanh(self.A[word] + h)
            states.append(h)
        return torch.stack(states) @ self.B.T, (h,)
"""


def test_a_model_without_embeddings_and_gates_trains_alone_and_in_a_stack(small, tmp_path, monkeypatch):
    name = f"plain_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(PLAIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(MODELS, name, Model(f"{name}:Plain", initialisation=("weight_range",)))
    resolved = small.resolved("batched-sgd", "float64", dropout=0.0)
    resolved.config["model"] = {"name": name, "options": {"hidden_size": 5, "weight_range": 0.1}}
    corpus, stack = Path(resolved.corpus), Stack(torch.device("cpu"))
    members = [build_training(resolved, seed, corpus, stack) for seed in range(2)]
    while live := [member for member in members if not member.finished]:
        stack.remove_all_but(live)
        assert all(isinstance(note, str) for note in stack.advance(live))
    for seed, member in enumerate(members):
        alone = finish(build_training(resolved, seed, corpus, "reference"))
        values = [pytest.approx(metric["value"], rel=1e-9) for metric in alone.metrics]
        assert [metric["value"] for metric in member.make_outcome().metrics] == values
