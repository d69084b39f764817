"""Means and deviations as tables show them."""

from __future__ import annotations

import numpy as np
import pytest

from reprise.report.parts.rounding import deviation, even, least_of, mean, spread

# In floating point their mean is another number, and their deviation 5e-16.
EQUAL = [2.980274009133912] * 3


def test_equal_values_have_their_own_mean_and_no_deviation():
    assert np.std(EQUAL, ddof=1) > 0 or np.mean(EQUAL) != EQUAL[0], "choose other values: these hide the rounding"
    assert mean(EQUAL) == EQUAL[0]
    assert deviation(EQUAL) == 0.0


def test_other_values_have_the_mean_and_the_deviation_of_a_sample():
    assert mean(np.array([1.0, 2.0, 6.0])) == pytest.approx(3.0)
    assert deviation([1.0, 2.0, 6.0]) == pytest.approx(7**0.5)


def test_the_interval_of_a_share_ends_at_0_and_1():
    assert spread(0.98, 0.05, 2, share=True) == "0.98 (0.93–1.00)"
    assert spread(0.02, 0.05, 2, share=True) == "0.02 (0.00–0.07)"
    assert spread(0.7, 1.2, 2, share=True) == "0.70 (0.00–1.00)"
    assert even(0.9766, 0.052, share=True) == "0.977 (0.925–1.000)"
    assert even(0.00001, 0.00002, share=True) == "1e−05 (0–3e−05)"


def test_any_other_interval_is_as_far_to_both_sides():
    assert spread(0.98, 0.05, 2) == "0.98 ± 0.05"
    assert spread(0.95, 0.05, 2, share=True) == "0.95 ± 0.05"
    assert spread(0.9999, 0.0002, 3, share=True) == "1.000 ± 0.000"
    assert even(0.9766, 0.052) == "0.977 ± 0.052"


def test_an_interval_says_how_many_digits_are_known():
    """0.89477 (0.78101–1.00000), and 309.9 ± 1.3 under 305.67 ± 1.33: a last digit of 0 was left out."""
    assert even(0.89477, 0.11376, share=True) == "0.89 (0.78–1.00)"
    assert [even(value, 1.3302) for value in (305.671, 309.9004)] == ["305.7 ± 1.3", "309.9 ± 1.3"]
    assert even(5432.7, 1210.0) == "5,433 ± 1,210"
    assert even(1.0, 0.0) == "1 ± 0"
    assert even(1234567.8, 0.0) == "1,234,568 ± 0"
    assert even(2.980274009134, 1.3e-15) == "2.9803 ± 0.0000"


def test_nothing_has_no_mean_and_one_value_no_deviation():
    assert mean([]) is None
    assert deviation([1.0]) is None


def test_a_perplexity_is_at_least_1():
    """331.71 ± 482.69, of three replicas two of which went astray."""
    assert spread(331.71, 482.69, 2, least=1.0) == "331.71 (1.00–814.40)"
    assert spread(331.71, 12.3, 2, least=1.0) == "331.71 ± 12.30"
    assert even(2.667, 2.868, least=least_of("expected_rank")) == "2.7 (1.0–5.5)"
    assert (least_of("perplexity"), least_of("cross_entropy"), least_of(None)) == (1.0, None, None)
