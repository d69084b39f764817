"""What every protocol is given and refuses: a device, streams of random numbers, a corpus that it can read."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reprise.catalogue.protocols import PROTOCOLS
from reprise.data.corpus import Corpus, Split
from reprise.errors import UserError
from reprise.registered import load
from reprise.training.loop import choose_device
from reprise.training.protocol import generator_for


def test_random_streams_are_apart():
    numbers = {tuple(torch.rand(3, generator=generator_for(s, n)).tolist()) for s in (0, 1) for n in ("a", "b")}
    assert len(numbers) == 4


def test_cuda_without_a_gpu_is_one_line():
    if torch.cuda.is_available():
        pytest.skip("a GPU is visible here")
    with pytest.raises(UserError, match="no GPU"):
        choose_device("cuda", "final-digit", "auto")


def test_what_runs_on_a_cpu_takes_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto", "final-digit", "auto").type == "cuda"
    assert choose_device("auto", "final-digit", "stacked").type == "cuda"
    for protocol, engine in (("ngram", "auto"), ("final-digit", "fused")):
        assert choose_device("auto", protocol, engine).type == "cpu"
        with pytest.raises(UserError, match="runs on the CPU"):
            choose_device("cuda", protocol, engine)


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
