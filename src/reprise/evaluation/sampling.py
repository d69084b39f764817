"""Texts that models write, each word or character read before the next one, and what a model expects next."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.models.deep_lstm import DeepLSTM
from reprise.models.translation import Translator

Decoder = Literal["sample", "argmax"]


@torch.no_grad()
def continue_texts(
    model: DeepLSTM, prompts: Tensor, length: int, decoder: Decoder, temperature: float = 1.0, key: int = 0
) -> Tensor:
    """Write `length` symbols after each of the prompts (P, B) int64: (length, B).

    The state is zero before a prompt. `argmax` takes the likeliest symbol; `sample` draws from softmax(logits /
    `temperature`). Symbol t of text b takes number t B + b of the counters' stream `key`. So texts do not depend on
    what was drawn before.
    """
    B = prompts.shape[1]
    numbers = counters.draw_uniform32(key, 0, length * B).reshape(length, B) / 2.0**32
    logits, state = model(prompts, model.initial_state(B))
    written = torch.empty(length, B, dtype=torch.int64)
    for t in range(length):
        last = logits[-1]
        if decoder == "argmax":
            written[t] = last.argmax(1)
        else:
            written[t] = sample_by_inverse_cdf(torch.softmax(last.double() / temperature, 1), numbers[t])
        if t < length - 1:
            logits, state = model(written[t : t + 1], state)
    return written


def sample_from_windows(
    compute_log_probabilities: Callable[[Tensor], Tensor], start: Sequence[int], count: int, words: int, key: int
) -> list[list[int]]:
    """Draw `count` texts of so many words from a model of windows (equation 14 of document 004) after `start`.

    `compute_log_probabilities` maps windows (W, B) int64 to log p (B, V) in nats. The random numbers are those of `key`
    alone.
    """
    window = torch.tensor(start, dtype=torch.int64)[:, None].repeat(1, count)  # (W, count)
    for number in (counters.draw_uniform32(key, 0, words * count).reshape(words, count) + 0.5) / 2.0**32:
        chosen = sample_by_inverse_cdf(compute_log_probabilities(window[-len(start) :]).double().exp(), number)
        window = torch.cat([window, chosen[None]])
    return window[len(start) :].T.tolist()


def sample_by_inverse_cdf(p: Tensor, numbers: np.ndarray) -> Tensor:
    """Draw a symbol a row of p (B, V) by numbers (B,) in [0, 1): the first whose cumulated share exceeds it.

    The sum of a row may end a rounding error away from 1: the number is a share of it.
    """
    cumulated = p.cumsum(1)
    drawn = torch.searchsorted(cumulated, torch.from_numpy(numbers)[:, None] * cumulated[:, -1:], right=True)
    return drawn[:, 0].clamp_(max=p.shape[1] - 1)


@torch.no_grad()
def translate_batch(
    model: Translator, source: Tensor, lengths: Tensor, end: int, max_length: int, banned: Collection[int] = ()
) -> list[list[int]]:
    """Write the likeliest words for each source (T, B) of `lengths`, up to `end` (left out) or `max_length` words.

    The word written is the one that the decoder reads next (equation 27 of document 003). Words in `banned` are never
    written.
    """
    states, c = model.encode(source, lengths)
    words = torch.full((1, len(lengths)), end)
    unfinished = torch.ones(len(lengths), dtype=torch.bool)
    written = []
    while len(written) < max_length and unfinished.any():
        h, states = model.decode(words, states, c)
        logits = model.compute_logits(h[0])  # (B, V)
        logits[:, list(banned)] = -math.inf
        words = logits.argmax(1)[None]
        written.append(words[0])
        unfinished &= words[0] != end
    columns = torch.stack(written).T.tolist()
    return [column[: column.index(end)] if end in column else column for column in columns]


@torch.no_grad()
def translate_by_beam(
    model: Translator, source: Tensor, end: int, max_length: int, width: int, banned: Collection[int] = ()
) -> list[int]:
    """Translate one source (T, 1) by beam search.

    Extend each open hypothesis by every word and keep the `width` likeliest. Hypotheses that end leave the beam. Return
    the finished one with the highest mean log-probability a word, or else the best open one of `max_length` words.
    """
    states, c = model.encode(source, torch.tensor([len(source)]))
    beams: list[tuple[float, list[int], Any]] = [(0.0, [], states)]
    finished: list[tuple[float, list[int]]] = []
    for _ in range(max_length):
        candidates = []
        for score, words, before in beams:
            h, after = model.decode(torch.tensor([[words[-1] if words else end]]), before, c)
            logits = model.compute_logits(h[0, 0])
            logits[list(banned)] = -math.inf
            log_p = torch.log_softmax(logits.double(), 0)
            for value, word in zip(*(part.tolist() for part in log_p.topk(min(width, len(log_p)))), strict=True):
                candidates.append((score + value, [*words, word], after))
        candidates.sort(key=lambda hypothesis: -hypothesis[0])
        finished += [(score / len(words), words[:-1]) for score, words, _ in candidates[:width] if words[-1] == end]
        beams = [hypothesis for hypothesis in candidates[:width] if hypothesis[1][-1] != end]
        if not beams or len(finished) >= width:
            break
    results = finished or [(score / len(words), words) for score, words, _ in beams]
    return max(results, key=lambda hypothesis: hypothesis[0])[1]


@torch.no_grad()
def compute_log_probabilities(model: DeepLSTM, text: Tensor) -> Tensor:
    """Return ln P of each next symbol after each symbol of text (T, B), state zero before it: (T, B, V) float64."""
    logits, _ = model(text, model.initial_state(text.shape[1]))
    return torch.log_softmax(logits.double(), -1)


@torch.no_grad()
def compute_next_symbol_entropy(model: DeepLSTM, text: Tensor, temperature: float) -> float:
    """Return the mean entropy in nats of softmax(logits / temperature) after each symbol of text (T, B)."""
    logits, _ = model(text, model.initial_state(text.shape[1]))
    return compute_entropy(logits.double() / temperature).mean().item()


def compute_entropy(logits: Tensor) -> Tensor:
    """Return - sum p ln p of p = softmax(logits), along the last axis, in nats."""
    log_p = torch.log_softmax(logits, -1)
    return -(log_p.exp() * log_p).sum(-1)
