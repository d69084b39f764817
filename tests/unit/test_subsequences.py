"""How text is cut into subsequences."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from reprise.engines.rntn.subsequences import Subsequences, cut


def sentences(*lengths):
    return SimpleNamespace(
        tokens=np.arange(10, 10 + sum(lengths), dtype=np.int32), offsets=np.r_[0, np.cumsum(lengths)]
    )


def test_sentences_are_cut_from_their_start():
    data = cut(sentences(5, 1, 0, 3, 2), start=9, length=3)
    assert data.offsets.tolist() == [0, 3, 5, 6, 9, 11]
    assert data.reset.tolist() == [True, False, True, True, True]
    assert data.targets.tolist() == list(range(10, 21))
    assert data.inputs.tolist() == [9, 10, 11, 12, 13, 9, 9, 16, 17, 9, 19]
    assert data.tokens == 11


def test_running_text_is_reset_once():
    data = cut(sentences(5, 2), start=9, length=3, carry=True)
    assert data.offsets.tolist() == [0, 3, 6, 7]
    assert data.reset.tolist() == [True, False, False]
    assert data.inputs.tolist() == [9, 10, 11, 12, 13, 14, 15]
    bare = cut(sentences(5, 2), start=None, length=3, carry=True)
    assert (bare.inputs.tolist(), bare.targets.tolist()) == (list(range(10, 16)), list(range(11, 17)))
    assert bare.offsets.tolist() == [0, 3, 6]
    with pytest.raises(ValueError, match="start"):
        cut(sentences(5), start=None)


def test_a_slice_knows_its_place_in_the_epoch():
    data = cut(sentences(5, 4), start=9, length=3)
    part = data.slice(1, 3).slice(1, 2)
    assert (part.first_token, part.inputs.tolist(), part.reset.tolist()) == (5, [9, 15, 16], [True])
    assert part.offsets.tolist() == [0, 3]


@pytest.mark.parametrize("offsets", [[0, 65], [0, 2, 2, 65], [0, 3], [1, 65]])
def test_subsequences_that_no_engine_can_read_are_refused(offsets):
    words = np.zeros(65, dtype=np.int32)
    with pytest.raises(ValueError, match="subsequence|offsets"):
        Subsequences(words, words, np.array(offsets), np.ones(len(offsets) - 1, dtype=bool))
