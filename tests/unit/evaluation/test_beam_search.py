"""Beam search of document 003's translations, held to a network whose probabilities are written down."""

import math

import pytest
import torch

from reprise.evaluation.sampling import translate_by_beam

END, WORD, OTHER = 0, 1, 2


class Written:
    """Gives the next word these probabilities by the words before it, 1/3 each where none are written."""

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def encode(self, source, lengths):
        return (), None

    def decode(self, words, states, c):
        read = (*states, words.item())
        return torch.tensor([[list(read)]]), read

    def compute_logits(self, h):
        return torch.tensor(self.probabilities.get(tuple(h.tolist())[1:], (1 / 3,) * 3), dtype=torch.float64).log()


def translate(probabilities, max_length=50, width=2):
    return translate_by_beam(Written(probabilities), torch.tensor([[WORD]]), END, max_length, width)


def test_an_open_translation_does_not_win_over_a_finished_one():
    """The prefix (1, 1) has the higher log-probability a word, and does not yet pay for its end."""
    probabilities = {(): (0.3, 0.6, 0.1), (WORD,): (0.34, 0.64, 0.02)}
    assert translate(probabilities) == [WORD]
    assert math.log(0.6 * 0.64) / 2 > math.log(0.6 * 0.34) / 2 > math.log(0.3)


@pytest.mark.parametrize("width", [1, 2])
def test_the_best_open_translation_is_returned_where_none_has_finished(width):
    never = dict.fromkeys([(), (WORD,), (OTHER,), (WORD, WORD)], (1e-9, 0.9, 0.1))
    assert translate(never, max_length=3, width=width) == [WORD] * 3


def test_a_wider_beam_finds_the_likelier_sentence():
    """The likeliest first word leads to unlikely ones."""
    probabilities = {(): (0.0, 0.6, 0.4), (WORD,): (0.3, 0.35, 0.35), (OTHER,): (0.99, 0.005, 0.005)}
    assert translate(probabilities, width=1, max_length=2) != [OTHER]
    assert translate(probabilities, width=2, max_length=2) == [OTHER]
