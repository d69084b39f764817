"""Means and deviations as tables show them."""

import numpy as np
import pytest

from reprise.report.parts.rounding import (
    compute_mean,
    compute_sd,
    find_lower_bound,
    format_estimate,
    format_fixed,
    format_integer,
    format_interval,
)

# In floating point their mean is another number, and their deviation 5e-16.
EQUAL = [2.980274009133912] * 3


def test_means_and_deviations():
    assert np.std(EQUAL, ddof=1) > 0 or np.mean(EQUAL) != EQUAL[0], "choose other values: these hide the rounding"
    assert (compute_mean(EQUAL), compute_sd(EQUAL)) == (EQUAL[0], 0.0)
    assert compute_mean(np.array([1.0, 2.0, 6.0])) == pytest.approx(3.0)
    assert compute_sd([1.0, 2.0, 6.0]) == pytest.approx(7**0.5)
    assert (compute_mean([]), compute_sd([1.0])) == (None, None)
    assert (compute_mean([np.inf, 1.0]), compute_sd([np.inf, 1.0])) == (np.inf, None)


def test_single_numbers():
    assert (format_fixed(-1234.56, 1), format_fixed(float("nan"), 1)) == ("−1,234.6", "–")
    assert (format_integer(7.5), format_integer(7.0)) == ("7.5", "7")
    assert (find_lower_bound("perplexity"), find_lower_bound("cross_entropy"), find_lower_bound(None)) == (
        1.0,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("function", "arguments", "limits", "text"),
    [
        (format_interval, (1.0, None, None, 2), {}, "1.00"),
        (format_interval, (np.inf, None, None, 2), {"lower_bound": 1.0}, "infinite"),
        (format_interval, (np.inf, np.inf, np.inf, 2), {"lower_bound": 1.0}, "infinite"),
        (format_estimate, (np.inf, 1.0, 2.0), {}, "infinite"),
        # Of a share the interval ends at 0 and 1.
        (format_interval, (0.98, 0.93, 1.03, 2), {"is_share": True}, "0.98 (0.93–1.00)"),
        (format_interval, (0.02, -0.03, 0.07, 2), {"is_share": True}, "0.02 (0.00–0.07)"),
        (format_interval, (0.95, 0.90, 1.00, 2), {"is_share": True}, "0.95 ± 0.05"),
        (format_interval, (0.9999, 0.9997, 1.0001, 3), {"is_share": True}, "1.000 ± 0.000"),
        # Ends with nine significant digits, as files have them.
        (format_interval, (1.01682074239, 1.01236621, 1.02127528, 3), {}, "1.017 ± 0.004"),
        (format_interval, (0.98, 0.93, 1.03, 2), {}, "0.98 ± 0.05"),
        (format_interval, (331.71, -150.98, 814.40, 2), {"lower_bound": 1.0}, "331.71 (1.00–814.40)"),
        (format_interval, (331.71, 319.41, 344.01, 2), {"lower_bound": 1.0}, "331.71 ± 12.30"),
        # An interval that is longer to one side is shown by its ends.
        (format_interval, (299.0, 79.0, 1136.0, 0), {"lower_bound": 1.0}, "299 (79–1,136)"),
        (format_interval, (1.5, 0.5, 4.5, 1), {"lower_bound": 1.0}, "1.5 (1.0–4.5)"),
        (format_estimate, (139.73, 136.2, 143.35), {}, "139.7 (136.2–143.3)"),
        # The interval says how many digits are known.
        (format_estimate, (0.9766, 0.9246, 1.0286), {"is_share": True}, "0.977 (0.925–1.000)"),
        (format_estimate, (0.00001, -0.00001, 0.00003), {"is_share": True}, "1e−05 (0–3e−05)"),
        (format_estimate, (0.9766, 0.9246, 1.0286), {}, "0.977 ± 0.052"),
        # 0.89477 (0.78101–1.00000), and 309.9 ± 1.3 under 305.67 ± 1.33: a last digit of 0 was left out.
        (format_estimate, (0.89477, 0.78101, 1.00853), {"is_share": True}, "0.89 (0.78–1.00)"),
        (format_estimate, (305.671, 304.3408, 307.0012), {}, "305.7 ± 1.3"),
        (format_estimate, (309.9004, 308.5702, 311.2306), {}, "309.9 ± 1.3"),
        (format_estimate, (5432.7, 4222.7, 6642.7), {}, "5,433 ± 1,210"),
        (format_estimate, (1.0, 1.0, 1.0), {}, "1 ± 0"),
        (format_estimate, (1234567.8, 1234567.8, 1234567.8), {}, "1,234,568 ± 0"),
        (format_estimate, (2.980274009134, 2.9802740091339987, 2.9802740091340013), {}, "2.9803 ± 0.0000"),
        (format_estimate, (2.667, -0.201, 5.535), {"lower_bound": 1.0}, "2.7 (1.0–5.5)"),
    ],
)
def test_a_mean_with_its_interval(function, arguments, limits, text):
    assert function(*arguments, **limits) == text
