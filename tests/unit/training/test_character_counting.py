"""The n-gram yardstick: interpolated Witten-Bell against counting by hand, and its protocol."""

from collections import Counter, defaultdict
from functools import partial

import numpy as np
import pytest
from protocol_helpers import finish, values

from reprise.data.corpus import Split
from reprise.data.text import wsj_characters
from reprise.data.text.character_lines import TEST, TRAIN, VALID
from reprise.models.ngram import NGram
from reprise.models.ngram_counts import HeldOut


def by_hand(training, held_out, order, vocabulary):
    """Probabilities of all tokens but the first of each held-out line, with dictionaries."""
    counts = defaultdict(Counter)
    for line in training:
        for t in range(1, len(line)):
            for k in range(order):
                counts[context(line, t, k)][line[t]] += 1
    probabilities = []
    for line in held_out:
        for t in range(1, len(line)):
            p = 1 / vocabulary
            for k in range(order):
                seen = counts[context(line, t, k)]
                total, types = sum(seen.values()), len(seen)
                p = (seen[line[t]] + types * p) / (total + types) if total else p
            probabilities.append(p)
    return probabilities


def context(line, t, k):
    return tuple(line[t - j] if t >= j else None for j in range(1, k + 1))


def split_of(lines):
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(np.int64)
    return Split(np.array([token for line in lines for token in line], np.int32), offsets)


def probabilities_of(model, split, counted, held_out):
    (training, _), (test, _) = model.predictions(split, counted), model.predictions(split, held_out)
    return model.estimate(model.count(training), HeldOut(test), model.order)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_it_counts_as_by_hand(order):
    generator = np.random.default_rng(order)
    lines = [generator.integers(0, 4, generator.integers(1, 12)).tolist() for _ in range(60)]
    counted = np.arange(60) < 40
    found = probabilities_of(NGram(5, order, "witten-bell"), split_of(lines), counted, ~counted)
    np.testing.assert_allclose(found, by_hand(lines[:40], lines[40:], order, 5), rtol=1e-12)


@pytest.fixture
def made(small):
    return partial(small, "ngram", order=3, tokens="bigrams", folds=2, lines=200)


@pytest.fixture
def prepared(small):
    return small.loaded("ngram", order=3, tokens="bigrams", folds=2, lines=200)


def lines_of(prepared, fold, *values):
    split, chosen = prepared.splits["lines"], np.flatnonzero(np.isin(prepared.extra["part"][fold], values))
    return [split.tokens[split.offsets[i] : split.offsets[i + 1]].tolist() for i in chosen]


@pytest.mark.parametrize("fold", [0, 1])
def test_a_replica_is_a_fold(made, prepared, fold):
    training = made(fold)
    outcome = finish(training)
    counted, tested = lines_of(prepared, fold, TRAIN), lines_of(prepared, fold, TEST)
    nats = [-np.log(p) for p in by_hand(counted, tested, 3, 703)]
    found = {(m["split"], m["metric"]): (m["value"], m["n"], m["unit"]) for m in outcome.metrics}
    assert found["test", "cross_entropy"] == (pytest.approx(np.mean(nats), rel=1e-12), len(nats), "nats/token")
    by_line = iter(nats)
    means = [np.mean([next(by_line) for _ in line[1:]]) for line in tested if len(line) > 1]
    assert found["test", "cross_entropy_macro"][:2] == (pytest.approx(np.mean(means), rel=1e-12), len(means))
    characters = sum(len(prepared.vocabulary[token]) for line in tested for token in line[1:])
    assert found["test", "predicted_characters"] == (characters, len(nats), "characters")
    curves = {curve["split"]: curve for curve in outcome.curves}
    assert curves["test"]["x"] == [1, 2, 3]
    assert curves["test"]["y"][-1] == found["test", "cross_entropy"][0]
    contexts = {(context(line, t, k), line[t]) for line in counted for t in range(1, len(line)) for k in range(3)}
    assert training.parameters == len(contexts)


def test_the_validation_lines_may_be_counted(made, prepared):
    outcome = finish(made(counted_lines="train-and-valid"))
    assert {metric["split"] for metric in outcome.metrics} == {"test"}
    nats = -np.log(by_hand(lines_of(prepared, 0, TRAIN, VALID), lines_of(prepared, 0, TEST), 3, 703))
    assert outcome.metrics[0]["value"] == pytest.approx(nats.mean(), rel=1e-12)


@pytest.mark.slow
def test_the_7_gram_of_the_real_text(made, mirror, tmp_path):
    options = {"tokens": "characters", "folds": 5, "fold_seed": 0}
    wsj_characters.prepare(mirror / "ptb", options).save(tmp_path / "corpus.npz")
    training = made(corpus=tmp_path / "corpus.npz", order=7)
    found = values(finish(training))
    assert found["test", "cross_entropy"] == pytest.approx(1.0555, abs=5e-5)
    assert found["test", "predicted_characters"] == 1_121_066
    assert training.parameters == 915_334
