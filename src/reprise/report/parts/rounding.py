"""Format numbers for reading: the one place where they are rounded."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from reprise.evidence import statistics
from reprise.units import INFINITE

DASH = "–"
"""Stands where there is no number to show."""
_ROUNDING_ERROR = 1e-12
"""Relative errors below it come from floating point. No number of decimals follows from them."""
_PRECISION = 2e-8
"""Relative error of an interval's half-widths: mean and ends are kept with nine significant digits."""
_LONGEST = 1e9
"""From here on significant digits stand with a power of ten."""
_LOWER_BOUNDS = {"perplexity": 1.0, "expected_rank": 1.0}
_SELF_EXPLANATORY_UNITS = {"", "1", "share", "relative", "step", "epoch", "rank"}
"""Units that are not printed: the metric's name says them, or there is none."""


def count_decimals(error: float | None) -> int | None:
    """Count the decimals that show two digits of an error; None if the error is None or 0."""
    return min(12, max(0, 1 - math.floor(math.log10(abs(error))))) if error else None


def format_number(value: float, decimals: int | None = None) -> str:
    """Write a number with `decimals` decimals; zero has no sign.

    The default is four significant digits, and every digit of a whole number.
    """
    if value == math.inf:
        return INFINITE
    if decimals is None and float(value).is_integer() and abs(value) < 1e15:
        decimals = 0
    text = (f"{value:.4g}" if decimals is None else f"{value:,.{decimals}f}").replace("-", "−")
    return text if text.strip("−0.") else text.removeprefix("−")


def format_percent(share: float) -> str:
    """Write a share in per cent: "95 %"."""
    return f"{100 * share:.3g} %"


def join_words(words: Sequence[str]) -> str:
    """Join words: "a"; "a and b"; "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def format_count(count: int, noun: str) -> str:
    """Write a count and its noun: "1 seed", "3 seeds"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def find_lower_bound(metric: str | None) -> float | None:
    """Return the smallest value that a metric can take; None if it is not listed here."""
    return _LOWER_BOUNDS.get(metric) if isinstance(metric, str) else None


def format_fixed(value: float | None, decimals: int) -> str:
    """Write a number with `decimals` decimals; a dash for None and NaN."""
    return DASH if pd.isna(value) else format_number(value, decimals)


def format_signed(value: float | None, decimals: int | None, unit: str = "") -> str:
    """Write a number with its sign, + included; 0 has none. A dash for a missing value."""
    if pd.isna(value):
        return DASH
    text = format_number(value, decimals)
    return f"{'+' if value > 0 and text.strip('0.') else ''}{text}{unit}"


def format_integer(value: float | int | None) -> str:
    """Write a count. A median of two counts keeps its half; None and NaN give a dash."""
    return DASH if pd.isna(value) else format_fixed(value, 0 if float(value).is_integer() else 1)


def format_significant(value: float | None, digits: int = 3) -> str:
    """Write a number to `digits` significant digits: "0.0123", "350,000"; a dash for None and NaN."""
    if value == math.inf:
        return INFINITE
    if pd.isna(value):
        return DASH
    text = f"{value:.{digits}g}"
    if "e+" in text and abs(value) < _LONGEST:
        text = f"{float(text):,.0f}"
    return text.replace("-", "−")


def compute_sd(values: Sequence[float] | np.ndarray) -> float | None:
    """Compute the standard deviation of a sample (n - 1); of equal values exactly 0.

    Return None for fewer than two values, and if one is infinite.
    """
    spread = statistics.estimate_variance(list(values)) if np.isfinite(values).all() else None
    return spread.deviation if spread else None


def compute_mean(values: Sequence[float] | np.ndarray, is_log: bool = False) -> float | None:
    """Compute the arithmetic mean, or the geometric mean if `is_log`; None without values."""
    return statistics.compute_mean(values, is_log) if len(values) else None


def format_interval(
    mean: float | None,
    low: float | None,
    high: float | None,
    decimals: int,
    is_share: bool = False,
    lower_bound: float | None = None,
) -> str:
    """Write a mean with its interval; the mean alone without one.

    Args:
        mean: The mean.
        low: The lower end of the interval.
        high: The upper end of the interval.
        decimals: The number of decimals shown.
        is_share: Whether mean and interval lie between 0 and 1.
        lower_bound: The smallest value of any other metric.
    """
    if pd.isna(mean) or pd.isna(low) or mean == math.inf:
        return format_fixed(mean, decimals)
    return _append_interval(mean, low, high, lambda value: format_fixed(value, decimals), is_share, lower_bound)


def format_estimate(
    mean: float | None, low: float | None, high: float | None, is_share: bool = False, lower_bound: float | None = None
) -> str:
    """Write a number of unknown size, to five significant digits without an interval; a count in full.

    With an interval, show as many decimals as two digits of its half-width need. The arguments are those of
    `format_interval`.
    """
    if pd.isna(mean):
        return DASH
    text = format_integer(mean) if float(mean).is_integer() and abs(mean) >= 10 else format_significant(mean, 5)
    if pd.isna(low) or mean == math.inf:
        return text
    half_width = (high - low) / 2
    if half_width < _ROUNDING_ERROR * abs(mean):
        half_width, low, high = 0.0, mean, mean
    is_tiny = "e" in text and abs(mean) < 1
    decimals = count_decimals(half_width) if half_width else 0 if "e" in text else len(text.partition(".")[2])

    def format_value(value: float) -> str:
        if is_tiny:
            return text if value == mean else format_significant(value, 2)
        return format_fixed(value, decimals)

    return _append_interval(mean, low, high, format_value, is_share, lower_bound)


def _append_interval(
    mean: float,
    low: float,
    high: float,
    format_value: Callable[[float], str],
    is_share: bool,
    lower_bound: float | None,
) -> str:
    """Write "0.93 ± 0.05".

    An asymmetric interval, or one clipped to the range of the metric, is written by its ends.
    """
    minimum, maximum = (0.0, 1.0) if is_share else (-math.inf if lower_bound is None else lower_bound, math.inf)
    half_width = (high - low) / 2
    is_uneven = not math.isclose(mean - low, high - mean, rel_tol=1e-6, abs_tol=_PRECISION * abs(mean))
    if is_uneven or ((low < minimum or high > maximum) and format_value(half_width) != format_value(0.0)):
        return format_with_bounds(format_value(mean), format_value(max(low, minimum)), format_value(min(high, maximum)))
    return f"{format_value(mean)} ± {format_value(half_width)}"


def format_with_bounds(mean: str, low: str, high: str) -> str:
    """Write a mean and the ends of its interval: "0.93 (0.80–0.99)"."""
    return f"{mean} ({low}–{high})"


def format_range(low: float | None, high: float | None) -> str:
    """Write the lowest and the highest count: "3–5"; one number if they are equal."""
    return format_integer(low) if low == high else f"{format_integer(low)}–{format_integer(high)}"


def format_unit(unit: str) -> str:
    """Write a unit to follow a number: " nats/character".

    Return "" if the metric's name says the unit, and for BLEU.
    """
    return "" if unit in _SELF_EXPLANATORY_UNITS or "|" in unit else f" {unit}"
