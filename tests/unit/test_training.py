"""What the training loop gives every protocol: a device, and streams of random numbers."""

from __future__ import annotations

import pytest
import torch

from reprise.errors import UserError
from reprise.training.loop import choose_device
from reprise.training.protocol import generator_for


def test_random_streams_are_apart():
    numbers = {tuple(torch.rand(3, generator=generator_for(s, n)).tolist()) for s in (0, 1) for n in ("a", "b")}
    assert len(numbers) == 4


def test_cuda_without_a_gpu_is_one_line():
    if torch.cuda.is_available():
        pytest.skip("a GPU is visible here")
    with pytest.raises(UserError, match="no GPU"):
        choose_device("cuda", "final-digit")


def test_a_protocol_of_the_cpu_takes_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto", "final-digit").type == "cuda"
    assert choose_device("auto", "subsequence-sgd").type == "cpu"
    with pytest.raises(UserError, match="runs on the CPU"):
        choose_device("cuda", "subsequence-sgd")
