"""Means and deviations as tables show them."""

import numpy as np
import pytest

from reprise.report.parts.rounding import deviation, even, fixed, integer, least_of, mean, spread

# In floating point their mean is another number, and their deviation 5e-16.
EQUAL = [2.980274009133912] * 3


def test_means_and_deviations():
    assert np.std(EQUAL, ddof=1) > 0 or np.mean(EQUAL) != EQUAL[0], "choose other values: these hide the rounding"
    assert (mean(EQUAL), deviation(EQUAL)) == (EQUAL[0], 0.0)
    assert mean(np.array([1.0, 2.0, 6.0])) == pytest.approx(3.0)
    assert deviation([1.0, 2.0, 6.0]) == pytest.approx(7**0.5)
    assert (mean([]), deviation([1.0])) == (None, None)
    assert (mean([np.inf, 1.0]), deviation([np.inf, 1.0])) == (np.inf, None)


def test_single_numbers():
    assert (fixed(-1234.56, 1), fixed(float("nan"), 1)) == ("−1,234.6", "–")
    assert (integer(7.5), integer(7.0)) == ("7.5", "7")
    assert (least_of("perplexity"), least_of("cross_entropy"), least_of(None)) == (1.0, None, None)


@pytest.mark.parametrize(
    ("function", "given", "limits", "shown"),
    [
        (spread, (1.0, None, 2), {}, "1.00"),
        (spread, (np.inf, None, 2), {"least": 1.0}, "infinite"),
        (spread, (np.inf, np.inf, 2), {"least": 1.0}, "infinite"),
        (even, (np.inf, 1.0), {}, "infinite"),
        # Of a share the interval ends at 0 and 1, of a perplexity at 1; any other is as far to both sides.
        (spread, (0.98, 0.05, 2), {"share": True}, "0.98 (0.93–1.00)"),
        (spread, (0.02, 0.05, 2), {"share": True}, "0.02 (0.00–0.07)"),
        (spread, (0.95, 0.05, 2), {"share": True}, "0.95 ± 0.05"),
        (spread, (0.9999, 0.0002, 3), {"share": True}, "1.000 ± 0.000"),
        (spread, (0.98, 0.05, 2), {}, "0.98 ± 0.05"),
        (spread, (331.71, 482.69, 2), {"least": 1.0}, "331.71 (1.00–814.40)"),
        (spread, (331.71, 12.3, 2), {"least": 1.0}, "331.71 ± 12.30"),
        # The interval says how many digits are known.
        (even, (0.9766, 0.052), {"share": True}, "0.977 (0.925–1.000)"),
        (even, (0.00001, 0.00002), {"share": True}, "1e−05 (0–3e−05)"),
        (even, (0.9766, 0.052), {}, "0.977 ± 0.052"),
        # 0.89477 (0.78101–1.00000), and 309.9 ± 1.3 under 305.67 ± 1.33: a last digit of 0 was left out.
        (even, (0.89477, 0.11376), {"share": True}, "0.89 (0.78–1.00)"),
        (even, (305.671, 1.3302), {}, "305.7 ± 1.3"),
        (even, (309.9004, 1.3302), {}, "309.9 ± 1.3"),
        (even, (5432.7, 1210.0), {}, "5,433 ± 1,210"),
        (even, (1.0, 0.0), {}, "1 ± 0"),
        (even, (1234567.8, 0.0), {}, "1,234,568 ± 0"),
        (even, (2.980274009134, 1.3e-15), {}, "2.9803 ± 0.0000"),
        (even, (2.667, 2.868), {"least": 1.0}, "2.7 (1.0–5.5)"),
    ],
)
def test_a_mean_with_its_interval(function, given, limits, shown):
    assert function(*given, **limits) == shown
