"""Check question 2.1 of document 002: what logits divided by a temperature below one do to the diversity of samples."""

from collections.abc import Iterator

import torch

from reprise.checks import Finding, compute_relative_error
from reprise.evaluation.sampling import compute_entropy

TEMPERATURE = 0.8
_CASES, _SYMBOLS = 1000, 72


def check_temperature_raises_entropy() -> Iterator[Finding]:
    """Check question 2.1 as printed: logits scaled "to encourage more diversity" (by 1 / 0.8 in the author's code).

    The error is the largest fall of the entropy over random logits, H(l) - H(l / 0.8), in nats. It is 0 without a fall.
    """
    logits = _draw_logits()
    fall = (compute_entropy(logits) - compute_entropy(logits / TEMPERATURE)).clamp_(min=0)
    yield Finding("H(l / 0.8) >= H(l)", fall.max().item(), _CASES, unit="nats")


def check_temperature_lowers_entropy() -> Iterator[Finding]:
    """Check the corrected statement: dH(b l)/db = - b Var(l) under softmax(b l), which is never above 0.

    So b = 1 / 0.8 lowers the entropy. The errors are that of the slope, by autograd, and the largest rise of the
    entropy, H(l / 0.8) - H(l), in nats.
    """
    logits = _draw_logits()
    b = torch.full((_CASES,), 1 / TEMPERATURE, dtype=torch.float64, requires_grad=True)
    scaled = b[:, None] * logits
    (slope,) = torch.autograd.grad(compute_entropy(scaled).sum(), b)
    with torch.no_grad():
        p = torch.softmax(scaled, 1)
        mean = (p * logits).sum(1, keepdim=True)
        expected = -b * (p * (logits - mean) ** 2).sum(1)
        error = compute_relative_error(slope, expected)
        rise = (compute_entropy(scaled) - compute_entropy(logits)).clamp_(min=0).max().item()
    yield Finding("dH(b l)/db = - b Var(l)", error, _CASES)
    yield Finding("H(l / 0.8) <= H(l)", rise, _CASES, unit="nats")


def _draw_logits() -> torch.Tensor:
    """Draw logits of as many symbols as the English book has, from flat to steep, float64."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(_CASES, _SYMBOLS, generator=generator, dtype=torch.float64)
    return logits * torch.linspace(0.1, 5.0, _CASES, dtype=torch.float64)[:, None]
