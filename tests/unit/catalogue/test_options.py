"""Options keep to their types and bounds."""

from itertools import chain

import pytest

from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.engines.rntn.subsequences import MAX_LENGTH
from reprise.errors import UserError
from reprise.options import COUNT, NATURAL, NOT_NEGATIVE, POSITIVE, SHARE, Number, at_least, check_option, check_options
from reprise.training.protocols.books import NEIGHBOURS

FREE = {"h_0", "forget_bias", "alpha", "beta_1", "beta_2", "initial_state", "target", "seed", "fold_seed"}
FREE |= {f"{axis}_{place}" for axis in "wb" for place in ("start", "low", "high")}
"""Numbers of which any will do."""


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        (COUNT, [1, 10**9], [0, -1, 1.0, True, "1", 10**12]),
        (NATURAL, [0, 7], [-1, 10**30]),
        (at_least(2), [2], [1]),
        (POSITIVE, [1e-9, 3], [0, 0.0, -0.1, float("inf"), float("nan"), True, 1e300]),
        (NOT_NEGATIVE, [0, 0.5], [-1e-9]),
        (SHARE, [0, 0.999], [1, 1.0, 2.5, -0.5]),
        (Number(int, at_least=1, at_most=64), [1, 64], [65, 0]),
        (float, [-2, 0.0], [float("nan"), float("-inf"), "x", -1e300, 10**400]),
        (int, [-2], [0.5, False, -(10**30)]),
        (("tanh", "relu"), ["tanh"], ["sigmoid", 1, None]),
    ],
    ids=str,
)
def test_a_value_keeps_to_its_type_and_bounds(kind, taken, refused):
    for value in taken:
        assert check_option(value, kind, "f: key k") == value
    for value in refused:
        with pytest.raises(UserError, match="^f: key k: ") as caught:
            check_option(value, kind, "f: key k")
        assert len(str(caught.value)) < 120


def test_every_option_is_stated_and_no_other():
    assert check_options({"a": 1}, {"a": float}, "f", "m") == {"a": 1.0}
    for values in ({}, {"a": 1, "b": 2}):
        with pytest.raises(UserError, match="^f"):
            check_options(values, {"a": float}, "f", "m")


def test_a_number_has_bounds_unless_any_will_do():
    entries = chain(MODELS.values(), PROTOCOLS.values(), PREPARATIONS.values())
    unbounded = {name for entry in entries for name, kind in entry.options.items() if kind in (int, float)}
    assert unbounded == FREE


def test_bounds_that_follow_from_the_code_agree_with_it():
    assert PROTOCOLS["subsequence-sgd"].options["subsequence_length"].at_most == MAX_LENGTH
    assert PROTOCOLS["character-windows"].options["log_every"].at_most <= NEIGHBOURS
