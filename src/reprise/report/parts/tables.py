"""Tables.

A function `name(context, table_id, options) -> Table` in a module here is `module.name` in a paper's file and in
`reprise.catalogue.displays`, which says what `options` hold.
A table holds raw numbers; they are rounded where they are shown. The CSV has the numbers in full, Markdown
and HTML the same rows as people read them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from reprise.files import write_atomically

_OPEN, _CLOSE = "\ue000", "\ue001"  # stand for tags until the text between them is escaped
_LONG_OPEN, _LONG_CLOSE = "\ue002", "\ue003"
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|`|\*+(?=[^\s*])|(?<!\w)_+(?=[^\s_])")
"""Beginnings of tags, code and emphasis in Markdown; a star between blanks, or an underscore in a word, is none."""
_LONG = 32
"""Words of so many characters are a text that a page may break into lines."""


@dataclass(frozen=True)
class Column:
    """A column as people read it: its head, and what it shows of a row's raw values.

    `code`: its texts, without backticks, are set in letters of one width, every space kept, so that rows can be
    compared character by character.
    """

    title: str
    show: Callable[[Mapping[str, Any]], str]
    words: bool = False
    code: bool = False

    @property
    def align(self) -> str:
        return "left" if self.words else "right"


@dataclass(frozen=True)
class Table:
    """`rows` holds raw values by name; `columns` say what is shown of them; `notes` stand under the table."""

    columns: list[Column]
    rows: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    def reading(self) -> pd.DataFrame:
        """The table as it is read: texts, rounded."""
        records = self.rows.to_dict("records")
        return pd.DataFrame({c.title: [c.show(row) for row in records] for c in self.columns}, dtype="str")

    def csv(self) -> str:
        """Every raw value, floats with all the digits that tell them apart; empty where there is none."""
        return self.rows.to_csv(index=False, lineterminator="\n")

    def markdown(self) -> str:
        """A pipe table and the notes as a list; what a viewer would take for markup or for a tag is escaped."""
        reading = self._with_code("`", "`")
        for column in self.columns:
            # Browsers and many viewers make one space of several, but not of these.
            shown = (lambda text: text.replace(" ", "\N{NO-BREAK SPACE}")) if column.code else as_written
            reading[column.title] = reading[column.title].map(shown).str.replace("|", r"\|")
        reading = reading.rename(columns=lambda title: as_written(title).replace("|", r"\|"))
        text = self._tabulated(reading, "pipe")
        notes = "".join(f"- {as_written(note)}\n" for note in self.notes)
        return f"{text}\n" + (f"\n{notes}" if notes else "")

    def html(self) -> str:
        """A <table> and the notes as a list, everything escaped; no styles but alignment and the spaces of code.

        Long words stand in a <span class="long">, for which the page has a width.
        """
        notes = "".join(f"<li>{html.escape(note)}</li>\n" for note in self.notes)
        reading = self._with_code(_OPEN, _CLOSE)
        for column in self.columns:
            if column.words and not column.code:
                long = reading[column.title].str.len() > _LONG
                reading.loc[long, column.title] = _LONG_OPEN + reading.loc[long, column.title] + _LONG_CLOSE
        text = self._tabulated(reading, "html")
        text = text.replace(_OPEN, '<code style="white-space: pre">').replace(_CLOSE, "</code>")
        text = text.replace(_LONG_OPEN, '<span class="long">').replace(_LONG_CLOSE, "</span>")
        return f"{text}\n" + (f'<ul class="notes">\n{notes}</ul>\n' if notes else "")

    def _with_code(self, before: str, after: str) -> pd.DataFrame:
        """The table as it is read, code between two marks."""
        reading = self.reading()
        for column in self.columns:
            if column.code:
                reading[column.title] = before + reading[column.title] + after
        return reading

    def _tabulated(self, reading: pd.DataFrame, style: str) -> str:
        aligned = [c.align for c in self.columns]
        return reading.to_markdown(index=False, tablefmt=style, colalign=aligned, disable_numparse=True)


def as_written(text: str) -> str:
    """A text that Markdown shows as it stands: "<unk>" is no tag there, and "4*V*H" has no letters in italics."""
    return _MARKUP.sub(lambda found: "".join(f"\\{mark}" for mark in found[0]), text)


def write(table: Table, stem: Path, title: str, caption: str) -> list[Path]:
    """Writes `stem`.csv, .md and .html, each whole or not at all; returns their paths.

    The .md is read by itself: it begins with title and caption, which say units too. The page adds them to the .html.
    """
    head = f"# {as_written(title)}\n\n{as_written(caption)}\n\n"
    texts = {"csv": table.csv(), "md": head + table.markdown(), "html": table.html()}
    paths = []
    for kind, text in texts.items():
        path = stem.parent / f"{stem.name}.{kind}"
        write_atomically(path, text)
        paths.append(path)
    return paths
