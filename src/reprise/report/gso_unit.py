"""Bits or nats: what either reading of the numbers of document 000 would mean, in computed sentences."""

from __future__ import annotations

import math

import pandas as pd

from reprise.config.claims import Published
from reprise.evidence.unit_audit import CLEAR, distance
from reprise.report.rounding import fixed, plural

_READINGS = {"bits": "paper", "nats": "paper_as_nats"}


def sentences(rows: pd.DataFrame, yardstick: float, title: str, published: Published | None) -> list[str]:
    """Three sentences: the printed numbers as bits, as nats, and which is plausible; none without printed numbers.

    `rows`, a model each: title, paper (as printed), paper_as_nats (in bits, if printed in nats), bits (ours). Ours are
    the measure of the third sentence; where there are none, the n-gram model called `title`, which gets `yardstick`
    bits per character.
    """
    printed = rows[rows.paper.notna()].sort_values("paper", kind="stable").set_index("experiment")
    if printed.empty:
        return []
    low, high = printed.iloc[0], printed.iloc[-1]
    as_bits = f"Read as bits per character, the paper's {fixed(low.paper, 2)} ({low.title}) would be "
    as_bits += f"{_off(low.paper, yardstick)} the {fixed(yardstick, 2)} of our {title}"
    if published:
        as_bits += f", and {_off(low.paper, published.value)} {fixed(published.value, 2)}, {published.what} "
        as_bits += f"({published.source})"
    as_bits += f"; its highest, {fixed(high.paper, 2)} ({high.title}), {_off(high.paper, yardstick)} the n-gram."
    as_nats = f"Read as nats per character, {fixed(low.paper, 2)} would be {fixed(low.paper_as_nats, 2)} bits, "
    as_nats += f"{_off(low.paper_as_nats, yardstick)} the n-gram; {fixed(high.paper, 2)} would be "
    as_nats += f"{fixed(high.paper_as_nats, 2)} bits, {_off(high.paper_as_nats, yardstick)} it."
    return [as_bits, as_nats, _verdict(printed, yardstick)]


def _verdict(printed: pd.DataFrame, yardstick: float) -> str:
    ours = printed[printed.bits.notna()]
    measure = dict(ours.bits) if len(ours) else dict.fromkeys(printed.index, yardstick)
    off = {u: distance(dict(printed.loc[list(measure), column]), measure) for u, column in _READINGS.items()}
    near, far = sorted(off, key=lambda unit: abs(off[unit]))
    clear = abs(off[near]) * CLEAR < abs(off[far])
    whose = f"Ours ({plural(len(ours), 'model')}) are" if len(ours) else "The n-gram is"
    text = f"{whose} on average {_by(off['bits'])} the paper's numbers read as bits, {_by(off['nats'])} them read as "
    return f"{text}nats{f', so that {near} are the plausible reading' if clear else ', which leaves the unit open'}."


def _off(value: float, reference: float) -> str:
    return _by(math.log(value / reference))


def _by(distance: float) -> str:
    """ "5.9 % below": a ratio, given by its logarithm."""
    return f"{fixed(100 * abs(math.expm1(distance)), 1)} % {'above' if distance > 0 else 'below'}"
