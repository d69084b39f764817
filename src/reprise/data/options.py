"""Preparation options: every module states its own with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.errors import UserError


def resolve(options: Mapping[str, Any], defaults: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """The defaults overwritten by `options`.

    Raises UserError for an option that the dataset does not have or of another type.
    """
    for key, value in options.items():
        if key not in defaults:
            known = ", ".join(defaults) or "none"
            raise UserError(f"dataset {dataset}: unknown option {key}; its options: {known}")
        if type(value) is not type(defaults[key]):
            wanted = type(defaults[key]).__name__
            raise UserError(f"dataset {dataset}: option {key}: {value!r} is not of type {wanted}")
    return {**defaults, **options}


def at_least(options: Mapping[str, Any], key: str, least: int, dataset: str) -> None:
    """Raises UserError where the number `options[key]` is below `least`."""
    if options[key] < least:
        raise UserError(f"dataset {dataset}: option {key}: {options[key]} is below {least}")
