"""The templates of page, README, Markdown and terminal: one environment, and the notes of a claim as lines."""

import math
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reprise.evidence.decisions import Judged
from reprise.report.parts.rounding import fixed, integer, listed, number, percent, plural
from reprise.report.parts.words import sentence

FOLDER = Path(__file__).parents[1] / "templates"


def change(value: float, scale: str) -> str:
    """Write a difference; of logarithms in per cent."""
    return f"{100 * math.expm1(value):+.1f} %".replace("-", "−") if scale == "log" else number(value)


_FILTERS = (change, fixed, integer, listed, number, percent, plural, sentence)


@cache
def environment(markup: bool) -> Environment:
    """Return the environment of all templates; `markup`: values are escaped for HTML."""
    layout = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    made = Environment(loader=FileSystemLoader(FOLDER), autoescape=markup, undefined=StrictUndefined, **layout)
    made.filters |= {function.__name__: function for function in _FILTERS}
    return made


def render_text(name: str, **values: Any) -> str:
    """Render a template of plain text or Markdown."""
    return environment(False).get_template(name).render(values)


def note_lines(judged: Judged) -> list[str]:
    """Write what belongs to the answer of a claim, a line a note."""
    return [line for note in judged.notes if (line := render_text("note.txt.j2", note=note).strip())]
