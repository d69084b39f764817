"""What options may be: bounds as they are declared, and values of the papers' files that no training can use."""

from __future__ import annotations

import re
from itertools import chain

import pytest
from config_helpers import copy_config, edit

from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.engines.rntn.subsequences import MAX_LENGTH
from reprise.errors import UserError
from reprise.options import COUNT, NATURAL, NOT_NEGATIVE, POSITIVE, SHARE, Number, at_least, check_option
from reprise.training.protocols.books import NEIGHBOURS

FREE = {"h_0", "forget_bias", "alpha", "beta_1", "beta_2", "initial_state", "target", "seed", "fold_seed"}
FREE |= {f"{axis}_{place}" for axis in "wb" for place in ("start", "low", "high")}
"""Numbers of which any will do."""


@pytest.mark.parametrize(
    ("kind", "taken", "refused", "said"),
    [
        (COUNT, [1, 10**9], [0, -1, 1.0, True, "1"], "an int of at least 1"),
        (NATURAL, [0, 7], [-1], "an int of at least 0"),
        (at_least(2), [2], [1], "an int of at least 2"),
        (POSITIVE, [1e-9, 3], [0, 0.0, -0.1, float("inf"), float("nan"), True], "a float above 0"),
        (NOT_NEGATIVE, [0, 0.5], [-1e-9], "a float of at least 0"),
        (SHARE, [0, 0.999], [1, 1.0, 2.5, -0.5], "a float of at least 0 and below 1"),
        (Number(int, at_least=1, at_most=64), [1, 64], [65, 0], "an int of at least 1 and of at most 64"),
        (float, [-2, 0.0], [float("nan"), float("-inf"), "x"], "a float"),
        (int, [-2], [0.5, False], "an int"),
    ],
    ids=str,
)
def test_a_number_keeps_to_its_bounds(kind, taken, refused, said):
    for value in taken:
        assert check_option(value, kind, "f: key k") == value
    for value in refused:
        with pytest.raises(UserError) as caught:
            check_option(value, kind, "f: key k")
        assert str(caught.value) == f"f: key k: {value!r} is not {said}; write one"


@pytest.mark.parametrize(
    ("value", "kind", "most"),
    [
        (10**400, float, "1e+38"),
        (1e300, POSITIVE, "1e+38"),
        (-1e300, float, "1e+38"),
        (10**12, COUNT, "2147483647"),
        (10**30, NATURAL, "2147483647"),
        (10**30, at_least(2), "2147483647"),
        (-(10**30), int, "2147483647"),
    ],
)
def test_a_number_that_no_array_or_float32_can_hold_is_one_short_line(value, kind, most):
    with pytest.raises(UserError, match=f"^f: key k: .* is too large; write {re.escape(most)} at most$") as caught:
        check_option(value, kind, "f: key k")
    assert len(str(caught.value)) < 120


def test_a_number_of_the_registries_has_bounds_unless_any_will_do():
    entries = chain(MODELS.values(), PROTOCOLS.values(), PREPARATIONS.values())
    unbounded = {name for entry in entries for name, kind in entry.options.items() if kind in (int, float)}
    assert unbounded == FREE


def test_bounds_that_follow_from_the_code_agree_with_it():
    assert PROTOCOLS["subsequence-sgd"].options["subsequence_length"].at_most == MAX_LENGTH
    assert PROTOCOLS["character-windows"].options["log_every"].at_most <= NEIGHBOURS


@pytest.mark.parametrize(
    ("file", "old", "new", "key", "wanted"),
    [
        ("rrntn", "matrices: {value: 1,", "matrices: {value: 0,", "model.matrices", "an int of at least 1"),
        ("rrntn", "weight_std: {value: ", "weight_std: {value: -", "model.weight_std", "a float of at least 0"),
        ("rrntn", "hidden_size: {value: 100,", "hidden_size: {value: -3,", "model.hidden_size", "an int of at least 1"),
        (
            "rrntn",
            "subsequence_length: {value: 20,",
            "subsequence_length: {value: 0,",
            "training.subsequence_length",
            "at least 1 and of at most 64",
        ),
        ("rrntn", "dropout: {value: 0.5,", "dropout: {value: 1.0,", "training.dropout", "at least 0 and below 1"),
        ("rrntn", "learning_rate: {value: ", "learning_rate: {value: -", "training.learning_rate", "a float above 0"),
        ("rrntn", "dropout: {value: 0.5,", "dropout: {value: .nan,", "training.dropout", "nan is not a float of"),
        ("rrntn", "max_epochs: 4", "max_epochs: .inf", "tiers.quick.max_epochs", "inf is not an int of at least 1"),
        ("rrntn", "patience: {value: ", "patience: {value: -", "training.patience", "an int of at least 1"),
        (
            "rrntn",
            "vocabulary_size: 1000",
            "vocabulary_size: 1000000",
            "tiers.quick.vocabulary_size",
            "an int of at least 16 and of at most 100000",
        ),
        ("rrntn", "max_epochs: 4", "max_epochs: 0", "tiers.quick.max_epochs", "an int of at least 1"),
        ("palindromes", "hidden_size: {value: 128,", "hidden_size: {value: 0,", "model.hidden_size", "at least 1"),
        ("gso", "settings: {clip_norm: 1.0}", "settings: {clip_norm: -1.0}", "settings.clip_norm", "at least 0"),
    ],
)
def test_a_value_that_no_training_can_use_is_refused_where_it_stands(tmp_path, file, old, new, key, wanted):
    path = f"papers/{file}.yaml"
    edit(copy_config(tmp_path), path, old, new)
    with pytest.raises(UserError) as caught:
        resolve_tier(load_project(tmp_path, {"papers": [file], "tier": "quick"}))
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'config' / path}: key ")
    assert f".{key}: " in said
    assert said.endswith("; write one")
    assert wanted in said
