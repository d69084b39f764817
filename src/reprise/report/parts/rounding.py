"""How numbers are written for reading: the one place where they are rounded."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from reprise.evidence import statistics
from reprise.units import INFINITE

NONE = "–"
"""Stands where there is no number to show."""
_NOISE = 1e-12
"""Shares of a number below it are rounding's: no count of decimals is to follow from them."""
_KNOWN = 2e-9
"""The ends of intervals are known to such a share of the mean."""
_LEAST = {"perplexity": 1.0, "expected_rank": 1.0}
_NAMED = {"", "1", "share", "relative", "step", "epoch", "rank"}
"""Units that a metric's name says already, or that are none."""


def digits(error: float | None) -> int | None:
    """Count the decimals that show two digits of an error; None where there is none to go by."""
    return min(12, max(0, 1 - math.floor(math.log10(abs(error))))) if error else None


def number(value: float, decimals: int | None = None) -> str:
    """Write so many decimals, or four significant digits (of a whole number all), with a proper minus sign."""
    if decimals is None and float(value).is_integer() and abs(value) < 1e15:
        decimals = 0
    text = f"{value:.4g}" if decimals is None else f"{value:,.{decimals}f}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """Write a share in per cent: "95 %"."""
    return f"{100 * share:.3g} %"


def listed(words: Sequence[str]) -> str:
    """Join words: a; a and b; a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def plural(count: int, noun: str) -> str:
    """Write a count and its noun: "1 seed", "3 seeds"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def least_of(metric: str | None) -> float | None:
    """Where a metric's numbers begin, those of shares apart; None where that is not said here."""
    return _LEAST.get(metric) if isinstance(metric, str) else None


def fixed(value: float | None, places: int) -> str:
    """Return a number with so many decimals and a proper minus sign; a dash where there is none."""
    if value == math.inf:
        return INFINITE
    return NONE if pd.isna(value) else f"{value:,.{places}f}".replace("-", "−")


def integer(value: float | int | None) -> str:
    """Return a count; one that is no whole number (a median of two) keeps its half."""
    return NONE if pd.isna(value) else fixed(value, 0 if float(value).is_integer() else 1)


def significant(value: float | None, digits: int = 3) -> str:
    """Return a number of unknown size, to so many significant digits."""
    if value == math.inf:
        return INFINITE
    return NONE if pd.isna(value) else f"{value:.{digits}g}".replace("-", "−")


def deviation(values: Sequence[float] | np.ndarray) -> float | None:
    """Return the standard deviation of a sample (n - 1), of equal values exactly 0.

    None for fewer than two values, and where one is infinite.
    """
    known = statistics.spread(list(values)) if np.isfinite(values).all() else None
    return known.deviation if known else None


def mean(values: Sequence[float] | np.ndarray, log: bool = False) -> float | None:
    """Return the mean, if `log` the geometric one; None without a value."""
    return statistics.mean(values, log) if len(values) else None


def spread(
    centre: float | None,
    low: float | None,
    high: float | None,
    places: int,
    share: bool = False,
    least: float | None = None,
) -> str:
    """Write a mean with its interval; the mean alone without one.

    Args:
        centre: The mean.
        low: Where the interval begins.
        high: Where it ends.
        places: How many decimals are shown.
        share: Whether mean and interval lie between 0 and 1.
        least: Where the numbers of any other metric begin.
    """
    if pd.isna(centre) or pd.isna(low) or centre == math.inf:
        return fixed(centre, places)
    return _with_interval(centre, low, high, lambda value: fixed(value, places), share, least)


def even(
    centre: float | None, low: float | None, high: float | None, share: bool = False, least: float | None = None
) -> str:
    """Write a number of unknown size to five significant digits, a count in full; with its interval to its decimals.

    There are as many decimals as two digits of half the interval need, as in the sentences of claims: what varies by
    0.14 is not known to a hundred-thousandth. Arguments: as of `spread`.
    """
    if pd.isna(centre):
        return NONE
    text = integer(centre) if float(centre).is_integer() and abs(centre) >= 10 else significant(centre, 5)
    if pd.isna(low) or centre == math.inf:
        return text
    reach = (high - low) / 2
    if reach < _NOISE * abs(centre):
        reach, low, high = 0.0, centre, centre
    tiny = "e" in text and abs(centre) < 1
    places = digits(reach) if reach else 0 if "e" in text else len(text.partition(".")[2])

    def show(value: float) -> str:
        if tiny:
            return text if value == centre else significant(value, 2)
        return fixed(value, places)

    return _with_interval(centre, low, high, show, share, least)


def _with_interval(
    centre: float, low: float, high: float, show: Callable[[float], str], share: bool, least: float | None
) -> str:
    """Write "0.93 ± 0.05"; by its ends an interval that is longer to one side, or cut where the metric ends."""
    lowest, highest = (0.0, 1.0) if share else (-math.inf if least is None else least, math.inf)
    reach = (high - low) / 2
    uneven = not math.isclose(centre - low, high - centre, rel_tol=1e-6, abs_tol=_KNOWN * abs(centre))
    if uneven or ((low < lowest or high > highest) and show(reach) != show(0.0)):
        return from_to(show(centre), show(max(low, lowest)), show(min(high, highest)))
    return f"{show(centre)} ± {show(reach)}"


def from_to(centre: str, low: str, high: str) -> str:
    """Return a number and the ends of its interval, where these are not equally far from it."""
    return f"{centre} ({low}–{high})"


def interval(low: float | None, high: float | None) -> str:
    """Lowest to highest, of counts; one number where they are the same."""
    return integer(low) if low == high else f"{integer(low)}–{integer(high)}"


def unit_symbol(unit: str) -> str:
    """Write " nats/character", to stand behind a number; "" where the metric's name says it, or of BLEU."""
    return "" if unit in _NAMED or "|" in unit else f" {unit}"
