"""What the training on parallel streams hands to its engine: which words when, which masks, which state."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from batched_helpers import epoch, make_corpus, recorded
from protocol_helpers import finish

from reprise import counters
from reprise.data.corpus import Corpus, Split


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


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


def test_training_text_is_cut_into_streams_that_are_read_in_order(short_text):
    path, words = short_text()
    kernel = epoch(recorded(path, batch_size=4, steps=2))
    x, y = (torch.cat([window[i] for window in kernel.trained]) for i in (0, 1))
    assert [window[0].shape for window in kernel.trained] == [(2, 4), (2, 4), (1, 4)]
    streams = words[:20].reshape(4, 5)  # 23 words: the last three are left out
    assert y.T.tolist() == streams.tolist()
    # Each word is read before the next one is predicted, </s> (word 0) before the first.
    assert x.T.tolist() == np.r_[0, words[:19]].reshape(4, 5).tolist()


def test_evaluation_reads_all_words_in_one_stream(short_text):
    path, words = short_text()
    kernel = epoch(recorded(path, batch_size=4, steps=2))
    assert [len(window[0]) for window in kernel.evaluated] == 2 * [8, 8, 7]
    for windows in (kernel.evaluated[:3], kernel.evaluated[3:]):
        assert torch.cat([y for _, y, _, _ in windows]).flatten().tolist() == words.tolist()
        assert torch.cat([x for x, _, _, _ in windows]).flatten().tolist() == [0, *words[:-1]]


def test_text_without_sentence_ends_is_not_predicted_from_one(short_text):
    path, words = short_text(boundaries="none")
    kernel = epoch(recorded(path, batch_size=1, steps=50))
    (x, y, *_), *_ = kernel.trained
    assert (x.flatten().tolist(), y.flatten().tolist()) == (words[:-1].tolist(), words[1:].tolist())


def test_the_state_starts_at_zero_in_every_epoch_and_is_carried_within(corpus):
    training = recorded(corpus, max_epochs=2)
    finish(training)
    trained = training.kernel.trained
    assert len(trained) % 2 == 0
    for i, (*_, before, _) in enumerate(trained):
        if i % (len(trained) // 2) == 0:
            assert all(not s.any() and s.shape == (4, 8) for s in before)
        else:
            assert all(torch.equal(a, b) for a, b in zip(before, trained[i - 1][-1], strict=True))
            assert before[0].any()


def test_options_reach_the_engine(corpus):
    kernel = epoch(recorded(corpus, learning_rate=0.25, clip_norm=3.0, loss_reduction="mean-steps"))
    assert all(
        options == {"learning_rate": 0.25, "reduction": "mean-steps", "clip_norm": 3.0}
        for _, _, _, options, *_ in kernel.trained
    )


def masks_of_an_epoch(training):
    start = len(training.kernel.trained)
    now = training.epoch
    while training.epoch == now:
        training.advance()
    return [torch.cat([m[2][i] for m in training.kernel.trained[start:]]) for i in (0, 1)]


def test_masks_are_numbers_of_the_word_and_the_epoch(corpus):
    training, other = (recorded(corpus, steps=steps, dropout=0.3) for steps in (10, 7))
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
    key = counters.key(0, 2, 0)
    device_side = training._mask(key, 40, 8, 12, 0.3), counters.dropout_mask_torch(key, 40, 8, 12, 0.3)
    assert torch.equal(*device_side)


def test_without_dropout_there_are_no_masks(corpus):
    assert all(window[2] is None for window in epoch(recorded(corpus, dropout=0.0)).trained)
