"""Load the templates of page, README, Markdown and terminal, and render the notes of a claim."""

import math
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reprise.evidence.decisions import Judged
from reprise.report.parts.rounding import (
    format_count,
    format_fixed,
    format_integer,
    format_number,
    format_percent,
    format_signed,
    join_words,
)
from reprise.report.parts.terms import TERMS
from reprise.report.parts.wording import add_full_stop

FOLDER = Path(__file__).parents[1] / "templates"
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|`|\*+(?=[^\s*])|(?<!\w)_+(?=[^\s_])")
"""Beginnings of tags, code and emphasis in Markdown; not a star between blanks or an underscore in a word."""


def format_change(value: float, scale: str) -> str:
    """Write a difference; a difference of logarithms in per cent."""
    return f"{format_signed(100 * math.expm1(value), 1)} %" if scale == "log" else format_number(value)


def escape_cell(text: str) -> str:
    """Escape what would end a cell of a Markdown table."""
    return text.replace("|", r"\|")


def escape_markdown(text: str) -> str:
    """Escape a text so that Markdown shows it as it stands: no tag in "<unk>", no italics in "4*V*H"."""
    return _MARKUP.sub(lambda match: "".join(f"\\{mark}" for mark in match[0]), text)


def escape_text_cell(text: str) -> str:
    """Escape a text in a cell of a Markdown table."""
    return escape_cell(escape_markdown(text))


_FILTERS = (
    escape_markdown,
    escape_text_cell,
    format_change,
    format_fixed,
    format_integer,
    join_words,
    format_number,
    format_percent,
    format_count,
    add_full_stop,
)


@cache
def load_environment(is_html: bool) -> Environment:
    """Return the environment of all templates; values are escaped if `is_html`."""
    layout = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=is_html, undefined=StrictUndefined, **layout)
    environment.globals["TERMS"] = TERMS
    environment.filters |= {function.__name__: function for function in _FILTERS}
    return environment


def render_text(name: str, **values: Any) -> str:
    """Render a template of plain text or Markdown."""
    return load_environment(False).get_template(name).render(values)


def render_claim_notes(judged: Judged) -> list[str]:
    """Render the notes on the answer of a claim, one line each."""
    return [line for note in judged.notes if (line := render_text("note.txt.j2", note=note).strip())]
