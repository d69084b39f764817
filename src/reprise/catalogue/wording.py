"""Texts of the catalogue: those that depend on an experiment's options, and names of files."""

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


def fill_wording(wording: Wording, options: Mapping[str, Any]) -> str:
    """Fill these options into a text. Raises KeyError for an option, or a value of it, that has no text."""
    text = wording if isinstance(wording, str) else wording.texts[options[wording.option]]
    return text.format_map(options)


def get_source_path(module: str) -> str:
    """Return the file of a module of this package, as the documents name it."""
    return f"src/{module.replace('.', '/')}.py"
