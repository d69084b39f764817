"""Training of the translation model: batches, its equation, early stopping, translations."""

import copy
from functools import partial

import numpy as np
import pytest
import torch
from protocol_helpers import finish, values

from reprise.data.pairs.pairs import get_source, get_test_lines
from reprise.evidence.bleu import compute_bleu
from reprise.training.protocols.translation import SentencePairs

OPTIONS = {"hidden_size": 24, "embedding_size": 16, "layers": 1, "batch_size": 10, "learning_rate": 0.01, "patience": 3}
OPTIONS |= {"training_sentences": 300, "output_limit": 12, "unit": "gru", "untied": True, "context": True}


@pytest.fixture
def made(small):
    return partial(small, "translation", **OPTIONS | {"clip_norm": 5.0})


@pytest.fixture
def loaded(small):
    return small.loaded("translation", **OPTIONS)


@pytest.fixture
def pairs(loaded):
    return pairs_of(loaded, "train")


def pairs_of(loaded, split):
    return SentencePairs(get_source(loaded).splits[split], loaded.splits[split], loaded.vocabulary.index("</s>"))


def test_a_batch_holds_its_pairs_and_the_word_before_each(pairs):
    numbers = np.array([7, 0, 31])
    batch = pairs.make_batch(numbers)
    targets = torch.full(batch.before.shape, -1)
    targets.view(-1)[batch.places] = batch.targets
    for column, number in enumerate(numbers):
        read, written = (s.tokens[s.offsets[number] : s.offsets[number + 1]] for s in (pairs.source, pairs.target))
        assert batch.lengths[column] == len(read)
        assert batch.source[: len(read), column].tolist() == read.tolist()
        assert targets[: len(written), column].tolist() == written.tolist()
        assert (targets[len(written) :, column] == -1).all()
        assert batch.before[: len(written), column].tolist() == [pairs.end, *written[:-1].tolist()]
    assert len(batch.source) == max(batch.lengths)


def test_an_epochs_batches_are_of_like_length(made):
    training = made(batch_size=8)
    assert sorted(map(len, training.batches))[1:] == [8] * (len(training.batches) - 1)
    lengths = np.diff(training.pairs["train"].target.offsets)
    spread = np.mean([lengths[batch].max() - lengths[batch].mean() for batch in training.batches])
    assert spread < 0.5 * (lengths.max() - lengths.mean())


def test_the_losses_are_those_of_the_model_pair_by_pair(made, loaded):
    training = made(0, "reference", max_epochs=1)
    metrics = values(finish(training))
    pairs, total = pairs_of(loaded, "test"), 0.0
    for number in range(len(pairs)):
        batch = pairs.make_batch(np.array([number]))
        with torch.no_grad():
            logits = training.model(batch.source, batch.lengths, batch.before)[:, 0]
        total += torch.nn.functional.cross_entropy(logits.double(), batch.targets, reduction="sum").item()
    assert metrics["test", "cross_entropy"] == pytest.approx(total / len(pairs.target.tokens), rel=1e-6)


def test_a_step_follows_the_gradient_of_equation_26(made):
    """The mean over pairs, not over words, clipped by its norm."""
    options = {"clip_norm": 0.5, "batch_size": 300, "learning_rate": 0.001}
    training = made(0, "reference", **options)
    model = copy.deepcopy(training.model)
    batch = training.pairs["train"].make_batch(training.batches[0])
    logits = model(batch.source, batch.lengths, batch.before).flatten(0, 1)[batch.places]
    (torch.nn.functional.cross_entropy(logits, batch.targets, reduction="sum") / 300).backward()
    assert torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5) > 0.5
    torch.optim.Adam(model.parameters(), lr=0.001).step()
    training.advance()
    for (name, parameter), expected in zip(training.model.named_parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(parameter, expected, rtol=1e-4, atol=1e-7, msg=name)


@pytest.mark.slow
def test_it_learns_the_cipher(made, loaded):
    outcome = finish(made(1, max_epochs=12))
    shares = loaded.counts / loaded.counts.sum()
    unigram = -float(np.log(shares[loaded.splits["test"].tokens]).mean())
    assert values(outcome)["test", "cross_entropy"] < 0.5 * unigram
    texts = outcome.samples[0]
    always = texts | {f"matches_{n}": [0] * len(texts["texts"]) for n in (2, 3, 4)}
    assert compute_bleu(texts) > 25 > compute_bleu(always)
    assert texts["source_words"] == np.diff(get_source(loaded).splits["test"].offsets).tolist()
    examples = [sample for sample in outcome.samples if sample["kind"] == "example"]
    assert len(examples) == 5
    for sample in examples:
        assert (sample["source"], sample["reference"]) == get_test_lines(loaded)[sample["line"] - 1]
        assert sample["text"] == texts["texts"][sample["line"] - 1]
    assert not any("</s>" in text or "<unk>" in text for text in texts["texts"])
