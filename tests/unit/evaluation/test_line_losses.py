"""Entropies of lines, loss by position in a word, predictions under the true line."""

import numpy as np
import pytest

from reprise.data.corpus import Split
from reprise.evaluation.line_losses import LineLosses

LETTERS = [" ", *"abcdefghijklmnopqrstuvwxyz"]


def losses_of(texts, vocabulary=LETTERS, lines=None):
    """The loss of the token at place i is i / 10 nats, and the symbol after the right one is the most probable."""
    tokens = np.array([vocabulary.index(symbol) for text in texts for symbol in text], np.int32)
    split = Split(tokens, np.cumsum([0, *map(len, texts)]).astype(np.int64))
    chosen = range(len(texts)) if lines is None else lines
    places = np.concatenate([np.arange(split.offsets[i] + 1, split.offsets[i + 1]) for i in chosen])
    return LineLosses(split, vocabulary, places, places / 10, (split.tokens[places] + 1) % len(vocabulary))


def test_entropies_by_token_and_by_line_and_per_character_of_longer_tokens():
    rows = losses_of(["abc", "d", "ef"]).make_metrics("test")  # places 1, 2 and 5
    values = {m["metric"]: m["value"] for m in rows}
    assert values["cross_entropy"] == pytest.approx((0.1 + 0.2 + 0.5) / 3)
    assert values["cross_entropy_macro"] == pytest.approx((0.15 + 0.5) / 2)
    assert values["predicted_characters"] == 3
    assert [(m["n"], m["split"]) for m in rows] == [(n, "test") for n in (3, 2, 3, 2, 3)]
    vocabulary = [" ", "a", "bc", "de"]
    losses = losses_of([["a", "bc", " "], ["bc", "de"]], vocabulary)  # predicted: bc and a space; de
    values = {m["metric"]: m for m in losses.make_metrics("test")}
    assert values["cross_entropy"]["value"] == pytest.approx((0.1 + 0.2 + 0.4) / 3)
    assert values["cross_entropy_per_character"]["value"] == pytest.approx((0.1 + 0.2 + 0.4) / 5)
    assert values["cross_entropy_per_character_macro"]["value"] == pytest.approx((0.3 / 3 + 0.4 / 2) / 2)
    assert values["predicted_characters"]["value"] == values["cross_entropy_per_character"]["n"] == 5
    units = [values[metric]["unit"] for metric in ("cross_entropy", "cross_entropy_per_character")]
    assert units == ["nats/token", "nats/character"]
    assert losses.make_position_curves("test") == losses.make_samples("test", np.arange(2), 3) == []


def test_loss_by_position_counts_letters_and_spaces_apart():
    curves = {c["metric"]: c for c in losses_of(["ab c", "d", "ef ghi"]).make_position_curves("test")}
    # predicted letters: b at 2, c at 1; f at 2, g at 1, h at 2, i at 3; spaces after words of two letters
    assert curves["count"]["x"] == [1, 2, 3]
    assert curves["count"]["y"] == [2, 3, 1]
    assert curves["cross_entropy"]["y"] == pytest.approx([(0.3 + 0.8) / 2, (0.1 + 0.6 + 0.9) / 3, 1.0])
    assert (curves["count_of_space"]["x"], curves["count_of_space"]["y"]) == ([3], [2])
    assert curves["cross_entropy_of_space"]["y"] == pytest.approx([(0.2 + 0.7) / 2])
    assert {c["axis"] for c in curves.values()} == {"position_in_word"}


def test_predictions_stand_under_the_true_line():
    texts = ["one", "x", "but it s just one of those things that happened", "two", "three"]
    samples = losses_of(texts).make_samples("test", np.arange(5), 2)
    assert [s["line"] for s in samples] == [texts[2], "one", "two"]
    assert samples[1]["prediction"] == " of"
    assert all(len(s["line"]) == len(s["prediction"]) for s in samples)
    # lines that were not tested are not shown
    assert [s["line"] for s in losses_of(texts, lines=[3, 4]).make_samples("test", np.array([3, 4]), 2)] == [
        "two",
        "three",
    ]
