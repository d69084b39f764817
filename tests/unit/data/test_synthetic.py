"""The synthetic text: its stated entropy is the true one, and it is the same everywhere."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from corpus_helpers import read

from reprise.data.synthetic import synthetic
from reprise.data.synthetic.markov import Chain, make_chain

OPTIONS = {"vocabulary_size": 1000, "training_sentences": 4000, "seed": 1}


@pytest.mark.parametrize("size", [16, 50, 1000, 3000, 6000])
def test_every_row_is_a_distribution_over_different_words(size):
    source = make_chain(size, 5)
    assert (len(set(source.words)), source.words[0]) == (size, "</s>")
    assert all(word.isascii() and word.isalpha() for word in source.words[1:])
    assert all(sum(row) == 1 << 16 and min(row) > 0 for row in source.weights)
    assert all(len(set(row)) == len(row) for row in source.successors)


def test_synthetic_source_is_a_chain():
    source = make_chain(1000, 1)
    matrix, pi = source.transitions(), source.stationary()
    assert np.abs(matrix.sum(1) - 1).max() < 1e-12
    assert matrix[0, 0] == 0
    assert np.abs(pi @ matrix - pi).max() < 1e-14
    assert abs(pi.sum() - 1) < 1e-12
    assert pi.min() > 0
    assert (matrix > 0).sum(1).max() <= 51  # sparse
    assert np.linalg.matrix_rank(matrix, tol=0.01) <= 52  # and of low rank but for rounding
    ranked = np.sort(pi)[::-1]
    assert 0.01 < ranked[9] < 0.03
    assert 0.001 < ranked[99] < 0.003


def test_entropy_of_a_chain_worked_by_hand():
    """`</s>` -> a; a -> </s>, a, b with 1/2, 1/4, 1/4; b -> </s>: pi = (3, 4, 1) / 8."""
    half, quarter = 1 << 15, 1 << 14
    source = Chain(["</s>", "a", "b"], [[1], [0, 1, 2], [0]], [[1 << 16], [half, quarter, quarter], [1 << 16]])
    assert np.allclose(source.stationary(), [3 / 8, 4 / 8, 1 / 8])
    assert source.entropy_rate() == pytest.approx(0.5 * 1.5 * np.log(2))
    drawn = source.sample(4000, 3, 0)
    assert drawn.count(0) == 4000
    assert drawn[-1] == 0
    following = Counter(b for a, b in zip(drawn, drawn[1:], strict=False) if a == 1)
    for word, share in ((0, 0.5), (1, 0.25), (2, 0.25)):
        assert abs(following[word] / following.total() - share) < 0.03
    assert source.text([1, 2, 0, 1, 0]) == "a b\na\n"


def test_synthetic_entropy_is_that_of_its_text(tmp_path):
    corpus = synthetic.prepare(tmp_path, {**OPTIONS, "training_sentences": 20_000})
    facts = corpus.facts
    assert facts["unigram_entropy_nats"] - facts["entropy_rate_nats"] > 1.0
    assert facts["vocabulary"] == 1000
    assert 10 < facts["mean_sentence_tokens"] < 15
    # The ideal predictor, read off the chain and run over the corpus's own tokens.
    source = make_chain(1000, 1)
    number = {word: i for i, word in enumerate(source.words)}
    tokens = np.array([number[corpus.vocabulary[t]] for t in corpus.splits["train"].tokens])
    nats = -np.log(source.transitions()[np.concatenate([[0], tokens[:-1]]), tokens])
    batches = nats[: len(nats) // 1000 * 1000].reshape(-1, 1000).mean(1)  # nearly independent
    error = batches.std(ddof=1) / np.sqrt(len(batches))
    assert error < 0.005
    assert abs(nats.mean() - facts["entropy_rate_nats"]) < 4 * error
    assert facts["source_nats"]["train"] == pytest.approx(nats.mean(), abs=1e-8)
    shares = np.bincount(tokens, minlength=1000) / len(tokens)
    assert -np.log(source.stationary()[tokens]).mean() == pytest.approx(facts["unigram_entropy_nats"], abs=0.03)
    assert np.abs(shares - source.stationary()).max() < 0.003


def test_synthetic_is_the_same_everywhere(tmp_path):
    corpus = synthetic.prepare(tmp_path, OPTIONS)
    text = (tmp_path / "synthetic.train.txt").read_bytes()
    # Known answers: another machine or library that gives other text gives another corpus.
    assert hashlib.sha256(text).hexdigest()[:16] == "26a4c164a3b4ae2a"
    assert (corpus.facts["entropy_rate_nats"], corpus.facts["unigram_entropy_nats"]) == (2.690396681, 5.694967253)
    assert [f"{line} </s>" for line in text.decode().splitlines()] == read(corpus, "train")
    assert len(text) == corpus.facts["characters"]["train"]
    assert read(corpus, "valid") != read(corpus, "test")
    fewer = synthetic.prepare(tmp_path, {**OPTIONS, "training_sentences": 10})
    assert read(fewer, "train") == read(corpus, "train")[:10]
    assert read(fewer, "test") == read(corpus, "test")
    assert (fewer.counts == 0).any()
    assert synthetic.prepare(tmp_path, {**OPTIONS, "seed": 2}).facts != corpus.facts
