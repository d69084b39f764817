"""Entropies are stored in nats per token; every other unit is made here."""

from __future__ import annotations

import math


def perplexity(nats_per_token: float) -> float:
    """e^J of a cross-entropy J in nats per token; infinite where that overflows."""
    try:
        return math.exp(nats_per_token)
    except OverflowError:
        return math.inf


def bits(nats: float) -> float:
    """Nats to bits."""
    return nats / math.log(2)


def per_character(nats_per_token: float, tokens: int, characters: int) -> float:
    """Nats per token to nats per character of the same text."""
    return nats_per_token * tokens / characters
