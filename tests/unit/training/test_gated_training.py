"""Truncated backpropagation through time on streams of text: gated networks of document 001."""

from functools import partial

import numpy as np
import pytest
import torch
from protocol_helpers import finish

from reprise import counters
from reprise.catalogue.models import MODELS
from reprise.data.corpus import Corpus, Split

OPTIONS = {"batch_size": 4, "steps": 10, "embedding_size": 12, "dropout": 0.5, "weight_range": 0.05, "patience": 2}


@pytest.fixture
def made(small):
    return partial(small, "batched-sgd", **OPTIONS)


class Recorder:
    """Stands before an engine and keeps what it is given."""

    def __init__(self, engine):
        self.engine, self.trained, self.evaluated = engine, [], []

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def train(self, x, y, masks, **options):
        before = tuple(s.clone() for s in self.engine.state)
        loss = self.engine.train(x, y, masks, **options)
        self.trained.append((x, y, masks, options, before, self.engine.state))
        return loss

    def evaluate(self, x, y):
        before = tuple(s.clone() for s in self.engine.state)
        loss = self.engine.evaluate(x, y)
        self.evaluated.append((x, y, before, loss))
        return loss


@pytest.fixture
def recorded(made):
    def watched(*arguments, **changes):
        training = made(*arguments, **changes)
        training.kernel = Recorder(training.kernel)
        return training

    return watched


def epoch(training):
    while training.epoch == 0:
        training.advance()
    return training.kernel


@pytest.mark.parametrize("engine", ["grouped", "reference"])
@pytest.mark.parametrize("model", ["gru-lm", "lstm-lm"])
def test_losses_that_are_told_are_those_of_one_pass_over_the_text(small, made, engine, model):
    training = made(3, engine, model=model, dropout=0.0, max_epochs=1)
    finish(training)
    readable = MODELS[model].build(vocabulary=60, embedding=12, hidden=8, matrices=3, mapping="f")
    readable.load_state_dict(training.kernel.export())
    loaded = small.loaded("batched-sgd")
    end = loaded.vocabulary.index("</s>")
    for split in ("valid", "test"):
        words = torch.from_numpy(loaded.splits[split].tokens).long()
        x = torch.cat([torch.tensor([end]), words[:-1]])[:, None]
        logits, _ = readable(x, readable.initial_state(1))
        expected = torch.nn.functional.cross_entropy(logits[:, 0], words).item()
        assert training.history[0][split] == pytest.approx(expected, rel=1e-5)
    counted = {m["split"]: m["n"] for m in training.outcome().metrics if m["metric"] == "cross_entropy"}
    tokens = {split: len(loaded.splits[split].tokens) for split in counted}
    assert counted == tokens | {"train": tokens["train"] // 4 * 4}


def test_losses_too_large_for_a_perplexity_do_not_end_training(made):
    training = made(learning_rate=1e5)
    finish(training)
    assert training.history[-1]["valid"] > 1000  # nats/token: no float holds e to the power of this
    assert training.note().startswith("valid ppl inf, test ppl inf")


@pytest.fixture
def short_text(tmp_path):
    """23 words in three sentences; </s> is word 0."""

    def save(boundaries="</s>"):
        words = np.array([1, 2, 0, 3, 3, 1, 2, 0, 2, 2, 1, 1, 3, 2, 1, 3, 2, 1, 2, 3, 1, 2, 0], dtype=np.int32)
        split = Split(words, np.array([0, 3, 8, 23], dtype=np.int64))
        path = tmp_path / "short.npz"
        splits = dict.fromkeys(("train", "valid", "test"), split)
        facts = {"boundaries": boundaries}
        Corpus("short", splits, ["</s>", "a", "b", "c"], np.bincount(words, minlength=4), facts).save(path)
        return path, words

    return save


def test_training_text_is_cut_into_streams_that_are_read_in_order(recorded, short_text):
    path, words = short_text()
    kernel = epoch(recorded(corpus=path, matrices=1, batch_size=4, steps=2))
    x, y = (torch.cat([window[i] for window in kernel.trained]) for i in (0, 1))
    assert [window[0].shape for window in kernel.trained] == [(2, 4), (2, 4), (1, 4)]
    streams = words[:20].reshape(4, 5)  # 23 words: the last three are left out
    assert y.T.tolist() == streams.tolist()
    # Each word is read before the next one is predicted, </s> (word 0) before the first.
    assert x.T.tolist() == np.r_[0, words[:19]].reshape(4, 5).tolist()


def test_evaluation_reads_all_words_in_one_stream(recorded, short_text):
    path, words = short_text()
    kernel = epoch(recorded(corpus=path, matrices=1, batch_size=4, steps=2))
    assert [len(window[0]) for window in kernel.evaluated] == 2 * [8, 8, 7]
    for windows in (kernel.evaluated[:3], kernel.evaluated[3:]):
        assert torch.cat([y for _, y, _, _ in windows]).flatten().tolist() == words.tolist()
        assert torch.cat([x for x, _, _, _ in windows]).flatten().tolist() == [0, *words[:-1]]


def test_text_without_sentence_ends_is_not_predicted_from_one(recorded, short_text):
    path, words = short_text(boundaries="none")
    kernel = epoch(recorded(corpus=path, matrices=1, batch_size=1, steps=50))
    (x, y, *_), *_ = kernel.trained
    assert (x.flatten().tolist(), y.flatten().tolist()) == (words[:-1].tolist(), words[1:].tolist())


def test_the_state_starts_at_zero_in_every_epoch_and_is_carried_within(recorded):
    training = recorded(max_epochs=2)
    finish(training)
    trained = training.kernel.trained
    assert len(trained) % 2 == 0
    for i, (*_, before, _) in enumerate(trained):
        if i % (len(trained) // 2) == 0:
            assert all(not s.any() and s.shape == (4, 8) for s in before)
        else:
            assert all(torch.equal(a, b) for a, b in zip(before, trained[i - 1][-1], strict=True))
            assert before[0].any()


def test_options_reach_the_engine(recorded):
    kernel = epoch(recorded(learning_rate=0.25, clip_norm=3.0, loss_reduction="mean-steps"))
    (*_, options, _, _), *_ = kernel.trained
    assert options == {"learning_rate": 0.25, "reduction": "mean-steps", "clip_norm": 3.0}


def masks_of_an_epoch(training):
    start = len(training.kernel.trained)
    now = training.epoch
    while training.epoch == now:
        training.advance()
    return [torch.cat([m[2][i] for m in training.kernel.trained[start:]]) for i in (0, 1)]


def test_masks_are_numbers_of_the_word_and_the_epoch(recorded):
    training, other = (recorded(steps=steps, dropout=0.3) for steps in (10, 7))
    first, second = masks_of_an_epoch(training), masks_of_an_epoch(training)
    for mask, again, width in zip(first, masks_of_an_epoch(other), (12, 8), strict=True):
        assert mask.shape[1:] == (4, width)
        assert torch.equal(mask, again), "masks must not depend on where the windows end"
        assert set(mask.unique().tolist()) == {0.0, np.float32(1 / 0.7)}
        assert (mask == 0).double().mean().item() == pytest.approx(0.3, abs=0.02)
    assert not torch.equal(first[0], second[0])
    for stream, mask in zip((2, 1), first, strict=True):
        words, width = mask.shape[0] * 4, mask.shape[2]
        numbers = counters.dropout_mask(counters.key(0, stream, 0), 0, words, width, 0.3)
        np.testing.assert_array_equal(mask.reshape(words, width).numpy(), numbers)


def test_without_dropout_there_are_no_masks(recorded):
    assert all(window[2] is None for window in epoch(recorded(dropout=0.0)).trained)
