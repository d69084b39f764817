"""Generated texts: the same everywhere, and their stated entropies and best answers are the true ones."""

import hashlib
import math
from collections import Counter
from itertools import product
from random import Random

import numpy as np
import pytest
from corpus_helpers import read, spelled

from reprise.data.pairs.pairs import get_source, get_test_lines
from reprise.data.synthetic import (
    synthetic,
    synthetic_lines,
    synthetic_pairs,
    synthetic_prose,
    synthetic_tagged,
    synthetic_tags,
)
from reprise.data.synthetic.markov import MarkovChain, make_chain
from reprise.data.treebank.tagged import find_most_frequent_tags
from reprise.models.lexicon import Lexicon

SMALL = {"vocabulary_size": 40, "training_sentences": 300, "seed": 3}
GENERATED = {
    synthetic: SMALL,
    synthetic_lines: {"tokens": "bigrams", "folds": 2, "fold_seed": 3, "lines": 150},
    synthetic_pairs: SMALL | {"most_words": 6},
    synthetic_prose: SMALL | {"licence_sentences": 50},
    synthetic_tagged: SMALL,
    synthetic_tags: SMALL,
}


@pytest.mark.parametrize("module", GENERATED, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_generated_text_follows_from_its_options(tmp_path, module):
    seed = "seed" if "seed" in GENERATED[module] else "fold_seed"
    for name, changed in (("a", {}), ("b", {}), ("c", {seed: 4})):
        module.prepare(tmp_path, GENERATED[module] | changed).save(tmp_path / name)
    first, second, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == second != other


@pytest.mark.parametrize("size", [16, 50, 1000, 6000])
def test_every_row_of_a_source_is_a_distribution_over_different_words(size):
    source = make_chain(size, 5)
    assert (len(set(source.words)), source.words[0]) == (size, "</s>")
    assert all(word.isascii() and word.isalpha() for word in source.words[1:])
    assert all(sum(row) == 1 << 16 and min(row) > 0 for row in source.weights)
    assert all(len(set(row)) == len(row) for row in source.successors)


def test_entropy_of_a_chain_worked_by_hand():
    """`</s>` -> a; a -> </s>, a, b with 1/2, 1/4, 1/4; b -> </s>: pi = (3, 4, 1) / 8."""
    half, quarter = 1 << 15, 1 << 14
    source = MarkovChain(["</s>", "a", "b"], [[1], [0, 1, 2], [0]], [[1 << 16], [half, quarter, quarter], [1 << 16]])
    assert np.allclose(source.compute_stationary(), [3 / 8, 4 / 8, 1 / 8])
    assert source.compute_entropy_rate() == pytest.approx(0.5 * 1.5 * np.log(2))
    drawn = source.sample(4000, 3, 0)
    assert (drawn.count(0), drawn[-1]) == (4000, 0)
    following = Counter(b for a, b in zip(drawn, drawn[1:], strict=False) if a == 1)
    for word, share in ((0, 0.5), (1, 0.25), (2, 0.25)):
        assert abs(following[word] / following.total() - share) < 0.03
    assert source.format_text([1, 2, 0, 1, 0]) == "a b\na\n"


def test_the_entropy_is_that_of_the_text(tmp_path):
    corpus = synthetic.prepare(tmp_path, {"vocabulary_size": 1000, "training_sentences": 20_000, "seed": 1})
    facts = corpus.facts
    assert facts["unigram_entropy_nats"] - facts["entropy_rate_nats"] > 1.0
    assert 10 < facts["mean_sentence_tokens"] < 15
    # The ideal predictor, read off the chain and run over the corpus's own tokens.
    source = make_chain(1000, 1)
    number = {word: i for i, word in enumerate(source.words)}
    tokens = np.array([number[corpus.vocabulary[t]] for t in corpus.splits["train"].tokens])
    nats = -np.log(source.get_transitions()[np.concatenate([[0], tokens[:-1]]), tokens])
    batches = nats[: len(nats) // 1000 * 1000].reshape(-1, 1000).mean(1)  # nearly independent
    error = batches.std(ddof=1) / np.sqrt(len(batches))
    assert error < 0.005
    assert abs(nats.mean() - facts["entropy_rate_nats"]) < 4 * error
    assert facts["source_nats"]["train"] == pytest.approx(nats.mean(), abs=1e-8)
    assert -np.log(source.compute_stationary()[tokens]).mean() == pytest.approx(facts["unigram_entropy_nats"], abs=0.03)


def test_the_text_is_the_same_on_every_machine(tmp_path):
    """Known answers: another machine or library that gives other text gives another corpus."""
    options = {"vocabulary_size": 1000, "training_sentences": 4000, "seed": 1}
    corpus = synthetic.prepare(tmp_path, options)
    text = (tmp_path / "synthetic.train.txt").read_bytes()
    assert hashlib.sha256(text).hexdigest()[:16] == "26a4c164a3b4ae2a"
    assert (corpus.facts["entropy_rate_nats"], corpus.facts["unigram_entropy_nats"]) == (2.690396681, 5.694967253)
    assert [f"{line} </s>" for line in text.decode().splitlines()] == read(corpus, "train")
    assert len(text) == corpus.facts["characters"]["train"]
    assert read(corpus, "valid") != read(corpus, "test")
    fewer = synthetic.prepare(tmp_path, {**options, "training_sentences": 10})
    assert read(fewer, "train") == read(corpus, "train")[:10]
    assert (fewer.counts == 0).any()


def test_prose_is_a_book_with_a_licence_of_known_entropy(tmp_path):
    corpus = synthetic_prose.prepare(tmp_path, GENERATED[synthetic_prose])
    (text,) = read(corpus, "train", "")
    assert text == (tmp_path / "synthetic-prose.txt").read_text()
    begin, end = corpus.extra["licence"]
    # The text is read back into words, and the source's own loss on them computed anew.
    nats = 0.0
    for number, part in enumerate((text[begin:end], text[end:])):
        source = make_chain(40, 3 + number)
        sentences = part.strip().removesuffix(".").split(". ")
        assert len(sentences) == (300, 50)[number]
        transitions, last = source.get_transitions(), 0
        for sentence in sentences:
            assert sentence[0].isupper()
            words = sentence.lower()[:: -1 if number else 1].split() + ["</s>"]
            for word in map(source.words.index, words):
                nats, last = nats - math.log(transitions[last, word]), word
    assert corpus.facts["source_nats"]["train"] == pytest.approx(nats / len(text), abs=1e-8)


def test_pairs_are_a_cipher_with_neighbours_exchanged(tmp_path):
    corpus = synthetic_pairs.prepare(tmp_path, GENERATED[synthetic_pairs])
    source = get_source(corpus)
    assert corpus.facts["pairs"] == {"train": 300, "valid": 30, "test": 30}
    for split in ("train", "valid", "test"):
        sources = spelled(source.splits[split], source.vocabulary)
        for line, target in zip(sources, read(corpus, split), strict=True):
            assert len(line.split()) <= 6
            if "<unk>" not in target:
                assert target == " ".join([*synthetic_pairs.translate_words(line.split()), "</s>"])
    assert synthetic_pairs.translate_words(["ab", "cd", "ef", "gh", "ij"]) == ["dc", "ba", "hg", "fe", "ji"]
    assert (tmp_path / "synthetic-pairs.test.source.txt").read_text().splitlines()[0] == get_test_lines(corpus)[0][0]


def test_posteriors_are_those_of_all_tag_sequences():
    source = synthetic_tagged.make_hidden_markov_model(40, 3)
    words = source.sample(1, Random("x"))[0][0][:3]
    joint = np.zeros((len(words), synthetic_tagged.TAGS))
    filtered = np.zeros_like(joint)
    for tags in product(range(synthetic_tagged.TAGS), repeat=len(words)):
        p = source.Q[tags[0], words[0]] / synthetic_tagged.TAGS
        for t in range(1, len(words)):
            if not any(tags[t:]):  # every beginning once
                filtered[t - 1, tags[t - 1]] += p
            p *= source.P[tags[t - 1], tags[t]] * source.Q[tags[t], words[t]]
        filtered[-1, tags[-1]] += p
        for t, tag in enumerate(tags):
            joint[t, tag] += p
    forward, smoothed = source.compute_posteriors(words)
    assert smoothed == pytest.approx(joint / joint.sum(1, keepdims=True), rel=1e-9)
    assert forward == pytest.approx(filtered / filtered.sum(1, keepdims=True), rel=1e-9)


def test_tags_are_better_known_from_both_sides():
    corpus = synthetic_tagged.prepare(None, {"vocabulary_size": 1500, "training_sentences": 1500, "seed": 1})
    best = corpus.facts["best_accuracy"]
    words = corpus.splits["test"].tokens
    alone = (find_most_frequent_tags(corpus)[words] == corpus.extra["tags.test"]).mean()
    assert alone + 0.05 < best["forward"] + 0.05 < best["both"] < 0.95
    assert 0.3 < corpus.facts["labelled"]["test"] / corpus.facts["sentences"]["test"] < 0.7
    assert min(corpus.facts["kinds"]["test"].values()) > 20


@pytest.fixture(scope="module")
def corpus():
    return synthetic_tags.prepare(None, {"vocabulary_size": 120, "training_sentences": 100, "seed": 4})


def test_types_are_those_that_occur_by_decreasing_frequency(corpus):
    tokens = np.concatenate([split.tokens for split in corpus.splits.values()])
    counts = np.bincount(tokens, minlength=len(corpus.vocabulary))
    assert (counts == corpus.extra["corpus_counts"]).all()
    assert (np.diff(counts) <= 0).all()
    assert counts.min() > 0
    assert (np.bincount(corpus.splits["train"].tokens, minlength=len(counts)) == corpus.counts).all()
    assert (corpus.counts == 0).any(), "some types are in the tests alone"
    assert corpus.facts["sentences"] == {"train": 100, "valid": 10, "test1": 10, "test2": 10}
    end = corpus.vocabulary.index("@nil")
    assert all((data.tokens[data.offsets[1:] - 1] == end).all() for data in corpus.splits.values())
    p = counts / counts.sum()
    assert all(0.5 < loss < -0.8 * (p * np.log(p)).sum() for loss in corpus.facts["source_nats"].values())


def test_tags_tell_what_may_follow_what(corpus):
    lexicon = Lexicon.from_corpus(corpus)
    names = [[lexicon.tags[i] for i in lexicon.tags_of["corpus"].row(t)] for t in range(len(lexicon))]
    follows = [next((n.removeprefix("Next:") for n in tags if n.startswith("Next:")), None) for tags in names]
    end = corpus.vocabulary.index("@nil")
    assert names[end] == ["POS:NIL"]
    tokens = corpus.splits["train"].tokens
    for before, word in zip(tokens, tokens[1:], strict=False):
        if end not in (before, word):
            assert f"POS:{follows[before]}" in names[word]
    unseen = np.flatnonzero(corpus.counts == 0)
    assert all(len(lexicon.tags_of["train"].row(t)) == 0 for t in unseen)
    assert all(names[t] for t in unseen)


def test_the_wrong_form_never_stands_where_the_right_one_does(corpus):
    arrays = {k.removeprefix("agreement_"): v for k, v in corpus.extra.items() if k.startswith("agreement_")}
    texts = [corpus.splits[name].tokens for name in corpus.facts["agreement"]["splits"]]
    following = {
        (before, word)
        for data in corpus.splits.values()
        for before, word in zip(data.tokens, data.tokens[1:], strict=False)
    }
    assert len(arrays["right"]) > 20
    for i, place in enumerate(arrays["position"]):
        text = texts[arrays["split"][i]]
        assert text[place] == arrays["right"][i]
        assert (text[place - 1], arrays["wrong"][i]) not in following
        assert (text[: place + 1][-arrays["distance"][i] : -1] != corpus.vocabulary.index("@nil")).all()
    assert {1, 2, 3} < set(arrays["distance"].tolist())


def test_texts_too_short_for_a_pair_have_none():
    """Seed 26 draws tests of at most five tokens."""
    corpus = synthetic_tags.prepare(None, {"vocabulary_size": 16, "training_sentences": 10, "seed": 26})
    assert not any(len(corpus.extra[f"agreement_{name}"]) for name in ("position", "right", "wrong"))
