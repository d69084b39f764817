"""Means and deviations as tables show them."""

from __future__ import annotations

import numpy as np
import pytest

from reprise.report.rounding import deviation, mean

# In floating point their mean is another number, and their deviation 5e-16.
EQUAL = [2.980274009133912] * 3


def test_equal_values_have_their_own_mean_and_no_deviation():
    assert np.std(EQUAL, ddof=1) > 0 or np.mean(EQUAL) != EQUAL[0], "choose other values: these hide the rounding"
    assert mean(EQUAL) == EQUAL[0]
    assert deviation(EQUAL) == 0.0


def test_other_values_have_the_mean_and_the_deviation_of_a_sample():
    assert mean(np.array([1.0, 2.0, 6.0])) == pytest.approx(3.0)
    assert deviation([1.0, 2.0, 6.0]) == pytest.approx(7**0.5)


def test_nothing_has_no_mean_and_one_value_no_deviation():
    assert mean([]) is None
    assert deviation([1.0]) is None
