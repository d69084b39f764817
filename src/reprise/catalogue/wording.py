"""Texts of the registries that hang on an option of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ByOption:
    """A text for each value of an option."""

    option: str
    texts: Mapping[str, str]


Wording = str | ByOption
"""A text in which {name} stands for the value of an option, or one such text for each value of an option."""


def worded(wording: Wording, options: Mapping[str, Any]) -> str:
    """The text under these options. Raises KeyError for an option or a value of it that the registry leaves out."""
    text = wording if isinstance(wording, str) else wording.texts[options[wording.option]]
    return text.format_map(options)
