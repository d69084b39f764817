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
        choose_device("cuda", "final-digit", "auto")


def test_what_runs_on_a_cpu_takes_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto", "final-digit", "auto").type == "cuda"
    assert choose_device("auto", "final-digit", "stacked").type == "cuda"
    for protocol, engine in (("ngram", "auto"), ("final-digit", "fused")):
        assert choose_device("auto", protocol, engine).type == "cpu"
        with pytest.raises(UserError, match="runs on the CPU"):
            choose_device("cuda", protocol, engine)
