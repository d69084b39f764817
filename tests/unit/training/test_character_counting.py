"""The n-gram yardstick: interpolated Witten-Bell against counting by hand, and its protocol."""

from collections import Counter, defaultdict
from functools import partial

import numpy as np
import pytest
from protocol_helpers import finish, values

from reprise.data.text import wsj_characters
from reprise.data.text.character_lines import TEST, TRAIN, VALID


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
                successors = counts[context(line, t, k)]
                total, types = sum(successors.values()), len(successors)
                p = (successors[line[t]] + types * p) / (total + types) if total else p
            probabilities.append(p)
    return probabilities


def context(line, t, k):
    return tuple(line[t - j] if t >= j else None for j in range(1, k + 1))


OPTIONS = {"order": 3, "tokens": "bigrams", "folds": 2, "lines": 200}


@pytest.fixture
def made(small):
    return partial(small, "ngram", **OPTIONS)


def lines_of(prepared, fold, *values):
    split, chosen = prepared.splits["lines"], np.flatnonzero(np.isin(prepared.extra["part"][fold], values))
    return [split.tokens[split.offsets[i] : split.offsets[i + 1]].tolist() for i in chosen]


@pytest.mark.parametrize(
    ("fold", "order", "tokens", "V"),
    [(0, 1, "bigrams", 703), (1, 3, "bigrams", 703), (0, 2, "characters", 27), (1, 5, "characters", 27)],
)
def test_a_replica_counts_the_lines_of_a_fold_as_by_hand(small, made, fold, order, tokens, V):
    options = {"order": order, "tokens": tokens}
    training, prepared = made(fold, **options), small.loaded("ngram", **OPTIONS | options)
    outcome = finish(training)
    counted, tested = lines_of(prepared, fold, TRAIN), lines_of(prepared, fold, TEST)
    nats = -np.log(by_hand(counted, tested, order, V))
    metrics = {(m["split"], m["metric"]): (m["value"], m["n"], m["unit"]) for m in outcome.metrics}
    assert metrics["test", "cross_entropy"] == (pytest.approx(nats.mean(), rel=1e-12), len(nats), "nats/token")
    (by_order,) = (c for c in outcome.curves if (c["split"], c["axis"]) == ("test", "order"))
    assert (by_order["x"], by_order["y"][-1]) == ([*range(1, order + 1)], metrics["test", "cross_entropy"][0])
    contexts = {(context(line, t, k), line[t]) for line in counted for t in range(1, len(line)) for k in range(order)}
    assert training.parameter_count == len(contexts)


def test_the_validation_lines_may_be_counted(small, made):
    outcome, prepared = finish(made(counted_lines="train-and-valid")), small.loaded("ngram", **OPTIONS)
    assert {metric["split"] for metric in outcome.metrics} == {"test"}
    nats = -np.log(by_hand(lines_of(prepared, 0, TRAIN, VALID), lines_of(prepared, 0, TEST), 3, 703))
    assert values(outcome)["test", "cross_entropy"] == pytest.approx(nats.mean(), rel=1e-12)


@pytest.mark.slow
def test_the_7_gram_of_the_real_text(made, mirror, tmp_path):
    options = {"tokens": "characters", "folds": 5, "fold_seed": 0}
    wsj_characters.prepare(mirror / "ptb", options).save(tmp_path / "corpus.npz")
    training = made(corpus=tmp_path / "corpus.npz", order=7)
    metrics = values(finish(training))
    assert metrics["test", "cross_entropy"] == pytest.approx(1.0555, abs=5e-5)
    assert metrics["test", "predicted_characters"] == 1_121_066
    assert training.parameter_count == 915_334
