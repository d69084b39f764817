"""Greedy translations against the equations word by word."""

from __future__ import annotations

import math

import torch
from translation_helpers import LADDER, batch, build, logits_by_hand

from reprise.evaluation.sampling import translations

END = 2


def test_greedy_takes_the_likeliest_word_until_the_end():
    for options in (LADDER[0], LADDER[5], LADDER[7]):
        model = build(options)
        source, lengths, _ = batch()
        found = translations(model, source, lengths, END, 12)
        assert found == translations(model, source, lengths, END, 12)
        for column, length in enumerate(lengths.tolist()):
            words, before = source[:length, column].tolist(), [END]
            while len(before) <= 12:
                before.append(int(logits_by_hand(model, options, words, before)[-1].argmax()))
                if before[-1] == END:
                    before.pop()
                    break
            assert found[column] == before[1:]


def test_greedy_stops_at_the_end_sign_and_writes_no_barred_word():
    model = build(LADDER[2])
    source, lengths, _ = batch()
    with torch.no_grad():
        model.b_S[END] = 100.0
    assert translations(model, source, lengths, END, 12) == [[], [], []]
    with torch.no_grad():
        model.b_S[END] = -math.inf
        model.b_S[4] = 100.0
    assert translations(model, source, lengths, END, 5) == [[4] * 5] * 3
    assert not any(4 in words for words in translations(model, source, lengths, END, 5, barred=[4]))
