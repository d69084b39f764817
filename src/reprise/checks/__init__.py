"""Checks: experiments without training, whose record holds a computed error.

A check is a function without arguments that returns a list of `Finding`s; it passes where every error stays within
the tolerance that the configuration states.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One computed error: `n` comparisons, of which the worst was off by `error` (a ratio unless `unit` says else)."""

    name: str
    error: float
    n: int
    unit: str = "relative"
