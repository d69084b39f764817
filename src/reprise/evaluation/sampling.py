"""Texts that a character model writes, and what it expects next."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.models.deep_lstm import DeepLSTM

Decoder = Literal["sample", "argmax"]


@torch.no_grad()
def continuations(
    model: DeepLSTM, prompts: Tensor, length: int, decoder: Decoder, temperature: float = 1.0, key: int = 0
) -> Tensor:
    """`length` symbols after each of the prompts (P, B) int64, (length, B).

    The state is zero before a prompt. `argmax` takes the likeliest symbol; `sample` draws from softmax(logits /
    `temperature`) with number t B + b of the counters' stream `key` for symbol t of text b, so that texts do not
    depend on what was drawn before.
    """
    B = prompts.shape[1]
    logits, state = model(prompts, model.initial_state(B))
    written = torch.empty(length, B, dtype=torch.int64)
    for t in range(length):
        last = logits[-1]
        if decoder == "argmax":
            written[t] = last.argmax(1)
        else:
            numbers = torch.from_numpy(counters.uniform32(key, t * B, B).astype(np.float64) / 2**32)
            written[t] = draw(last, temperature, numbers)
        if t < length - 1:
            logits, state = model(written[t : t + 1], state)
    return written


def draw(logits: Tensor, temperature: float, numbers: Tensor) -> Tensor:
    """One symbol a row of logits (B, V) by numbers (B,) in [0, 1): the first whose cumulated share exceeds it."""
    cumulated = torch.softmax(logits.double() / temperature, 1).cumsum(1)
    drawn = torch.searchsorted(cumulated, numbers[:, None] * cumulated[:, -1:], right=True)
    return drawn[:, 0].clamp_(max=logits.shape[1] - 1)


@torch.no_grad()
def log_probabilities(model: DeepLSTM, text: Tensor) -> Tensor:
    """ln P of each next symbol after each symbol of text (T, B), state zero before it: (T, B, V) float64."""
    logits, _ = model(text, model.initial_state(text.shape[1]))
    return torch.log_softmax(logits.double(), -1)


@torch.no_grad()
def next_symbol_entropy(model: DeepLSTM, text: Tensor, temperature: float) -> float:
    """Mean entropy in nats of softmax(logits / temperature) after each symbol of text (T, B)."""
    logits, _ = model(text, model.initial_state(text.shape[1]))
    return entropy(logits.double() / temperature).mean().item()


def entropy(logits: Tensor) -> Tensor:
    """- sum p ln p of p = softmax(logits), along the last axis, in nats."""
    log_p = torch.log_softmax(logits, -1)
    return -(log_p.exp() * log_p).sum(-1)
