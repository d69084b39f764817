"""Corpora that a protocol cannot read: one line that says what it needs, for every protocol of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reprise.catalogue.protocols import PROTOCOLS
from reprise.data.corpus import Corpus, Split
from reprise.errors import UserError
from reprise.registered import load

WORDS = ("batched-sgd", "subsequence-sgd", "window-sgd", "word-ngram", "word-order")


def corpus(folder, splits, boundaries):
    split = Split(np.zeros(4, np.int32), np.array([0, 2, 4], np.int64))
    made = Corpus("c", dict.fromkeys(splits, split), ["a"], np.array([4], np.int64), {"boundaries": boundaries})
    made.save(folder / "c.npz")
    return folder / "c.npz"


def config(protocol):
    return {
        "training": {"protocol": protocol, "options": {}},
        "model": {"name": "", "options": {}},
        "precision": "float32",
    }


@pytest.mark.parametrize("protocol", WORDS)
@pytest.mark.parametrize(
    ("splits", "boundaries", "says"),
    [
        (("train", "valid", "test"), "line", "lines of symbols, where the protocol {} reads words"),
        (("train", "test1", "test2"), "</s>", "no valid split, which the protocol {} needs"),
    ],
)
def test_what_is_no_text_of_words_is_refused(tmp_path, protocol, splits, boundaries, says):
    made = load(PROTOCOLS[protocol].target, protocol)
    with pytest.raises(UserError, match=f"c.npz: {says.format(protocol)}; name another dataset"):
        made(config(protocol), 0, corpus(tmp_path, splits, boundaries), "auto", torch.device("cpu"))
