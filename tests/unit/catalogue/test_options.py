"""Options keep to their types and bounds, and are those that constructors, preparations and protocols read."""

import inspect
from pkgutil import resolve_name
from typing import Annotated, Literal

import annotated_types
import pytest
from pydantic import TypeAdapter, ValidationError

from reprise.catalogue.models import MODELS
from reprise.catalogue.options import MODEL_OPTIONS, PREPARATION_OPTIONS, PROTOCOL_OPTIONS
from reprise.catalogue.options.base import (
    Count,
    Finite,
    Integer,
    Natural,
    NotNegative,
    Options,
    Positive,
    Share,
    TwoOrMore,
    index_by_name,
    list_options,
)
from reprise.catalogue.options.books import CharacterWindows
from reprise.catalogue.options.displays import DISPLAY_OPTIONS
from reprise.catalogue.options.generated import SyntheticTagged
from reprise.catalogue.options.rntn import SubsequenceSGD
from reprise.config.mistakes import complete_options
from reprise.data.synthetic import synthetic_tagged
from reprise.engines.rntn.subsequences import MAX_LENGTH
from reprise.errors import UserError
from reprise.training.protocols.books import NEIGHBOURS

EVERY = {**MODEL_OPTIONS, **PROTOCOL_OPTIONS, **PREPARATION_OPTIONS}


@pytest.mark.parametrize(
    ("kind", "valid", "invalid"),
    [
        (Count, [1, 10**9], [0, -1, 1.0, True, "1", 10**12]),
        (Natural, [0, 7], [-1, 10**30]),
        (TwoOrMore, [2], [1]),
        (Positive, [1e-9, 3], [0, 0.0, -0.1, float("inf"), float("nan"), True, 1e300]),
        (NotNegative, [0, 0.5], [-1e-9]),
        (Share, [0, 0.999], [1, 1.0, 2.5, -0.5]),
        (Finite, [-2, 0.0], [float("nan"), float("-inf"), "x", -1e300, 10**400]),
        (Integer, [-2], [0.5, False, -(10**30)]),
        (Literal["tanh", "relu"], ["tanh"], ["sigmoid", 1, None]),
    ],
    ids=["count", "natural", "two", "positive", "not-negative", "share", "finite", "integer", "word"],
)
def test_a_value_keeps_to_its_type_and_bounds(kind, valid, invalid):
    class Some(Options):
        name: Literal["some"]
        size: kind

    for value in valid:
        assert complete_options(Some, "some", {"size": value}, "f: key {}".format) == ({"size": value}, [])
    for value in invalid:
        with pytest.raises(UserError, match="^f: key size: ") as caught:
            complete_options(Some, "some", {"size": value}, "f: key {}".format)
        assert len(str(caught.value)) < 120


class Defaulted(Options):
    """Options of which one was added later."""

    name: Literal["one", "two"]
    rate: Positive
    momentum: Share = 0.0


def test_every_option_is_stated_or_has_a_default_and_no_other():
    assert index_by_name(Defaulted) == {"one": Defaulted, "two": Defaulted}
    options, defaults = complete_options(Defaulted, "two", {"rate": 1}, str)
    assert (options, defaults) == ({"rate": 1.0, "momentum": 0.0}, ["momentum"])
    assert isinstance(options["rate"], float)
    # A default that is stated is one too.
    assert complete_options(Defaulted, "two", {"rate": 1, "momentum": 0}, str)[1] == ["momentum"]
    assert complete_options(Defaulted, "two", {"rate": 1, "momentum": 0.5}, str)[1] == []
    for values in ({}, {"rate": 1, "b": 2}, {"rate": 1, "name": "one"}):
        with pytest.raises(UserError):
            complete_options(Defaulted, "two", values, str)


@pytest.mark.parametrize("name", EVERY)
def test_every_number_has_bounds(name):
    """Of either side, so that neither memory nor float32 ends before them."""
    for option in list_options(EVERY[name]):
        field = EVERY[name].model_fields[option]
        if field.annotation in (int, float):
            adapter = TypeAdapter(Annotated[field.annotation, *field.metadata])
            for far in (10**12, -(10**12)) if field.annotation is int else (1e39, -1e39, float("nan")):
                with pytest.raises(ValidationError):
                    adapter.validate_python(far)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.target])
def test_a_constructor_takes_its_options_but_those_of_the_initialisation(name):
    options = list_options(MODEL_OPTIONS[name])
    assert set(MODELS[name].initialisation) <= set(options)
    arguments = inspect.signature(resolve_name(MODELS[name].target)).parameters
    if any(argument.kind is argument.VAR_KEYWORD for argument in arguments.values()):
        return
    assert set(options) - set(MODELS[name].initialisation) <= arguments.keys()
    assert not set(MODELS[name].initialisation) & arguments.keys()


def test_bounds_that_follow_from_the_code_agree_with_it():
    adapters = {
        SubsequenceSGD: ("subsequence_length", MAX_LENGTH),
        CharacterWindows: ("log_every", NEIGHBOURS),
    }
    for kind, (option, most) in adapters.items():
        field = kind.model_fields[option]
        adapter = TypeAdapter(Annotated[field.annotation, *field.metadata])
        assert adapter.validate_python(most) == most
        with pytest.raises(ValidationError):
            adapter.validate_python(most + 1)
    least = SyntheticTagged.model_fields["vocabulary_size"].metadata
    assert annotated_types.Ge(4 * synthetic_tagged.TAGS) in least


def test_the_reference_explains_each_option():
    kinds = {**EVERY, **DISPLAY_OPTIONS["figures"], **DISPLAY_OPTIONS["tables"]}
    options = [
        (name, kind.model_fields[option], option) for name, kind in kinds.items() for option in list_options(kind)
    ]
    assert [(name, option) for name, field, option in options if not field.description] == []
