"""Training of taggers and of classifiers of sentences: batches, and what is reported."""

import numpy as np
import pytest
import torch
from protocol_helpers import finish, values

from reprise.training.protocols.tagging import cut_batches, make_batch, shuffle_batches, sort_shortest_first

OPTIONS = {"hidden_size": 16, "embedding_size": 16, "layers": 1, "batch_size": 16, "learning_rate": 0.01}
OPTIONS |= {"vocabulary_size": 200, "training_sentences": 240, "patience": 2, "max_epochs": 3, "clip_norm": 5.0}


@pytest.fixture
def made(small):
    return lambda protocol="tagging", **changes: small(protocol, **OPTIONS | changes)


@pytest.fixture
def loaded(small):
    return small.loaded("tagging", **OPTIONS)


def test_a_batch_holds_its_sentences(loaded):
    split = loaded.splits["train"]
    lengths = np.diff(split.offsets)
    numbers = shuffle_batches(16, 3, torch.Generator().manual_seed(1), lengths)[3]
    batch = make_batch(split, numbers)
    for b, number in enumerate(numbers):
        own = split.tokens[split.offsets[number] : split.offsets[number + 1]]
        assert batch.words[batch.present[:, b], b].tolist() == own.tolist()
        assert not batch.present[len(own) :, b].any()
    assert (np.diff(lengths[np.concatenate(cut_batches(sort_shortest_first(np.arange(240), lengths), 64))]) >= 0).all()


def test_it_learns_and_both_sides_tell_more_than_one(made, loaded):
    """240 sentences are few: held to guessing, and to the source's own accuracy as the most that can be had."""
    best = loaded.facts["best_accuracy"]
    metrics = {}
    for directions in ("forward", "both"):
        outcome = finish(made(directions=directions, max_epochs=8, patience=8))
        metrics[directions] = values(outcome)
        assert values(outcome)["test", "guessing"] < values(outcome)["test", "accuracy"] < best[directions] + 0.02
    assert metrics["both"]["test", "accuracy"] > metrics["forward"]["test", "accuracy"] + 0.01


@pytest.mark.parametrize("pooling", ["max", "mean", "last"])
def test_it_learns_labels_of_sentences(made, pooling):
    options = {"pooling": pooling, "directions": "forward", "max_epochs": 8, "patience": 8}
    metrics = values(finish(made("sentence-labels", **options)))
    assert metrics["test", "accuracy"] > metrics["test", "guessing"] + 0.1


def test_groups_of_words_add_up_to_all(made, loaded):
    outcome = finish(made(max_epochs=1))
    kinds = loaded.facts["kinds"]["test"]
    for metric in ("accuracy", "guessing"):
        rows = {m["metric"]: m for m in outcome.metrics if m["split"] == "test" and m["metric"].startswith(metric)}
        assert {k: rows[f"{metric}_{k}"]["n"] for k in kinds} == kinds
        right = sum(rows[f"{metric}_{k}"]["value"] * n for k, n in kinds.items())
        assert right == pytest.approx(rows[metric]["value"] * sum(kinds.values()), rel=1e-12)
    assert values(outcome)["train", "parameters_without_vectors"] == 2 * (16 * 16 + 16 * 16 + 16) + 8 * 33
