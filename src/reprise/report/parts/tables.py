"""Tables.

A function `name(context, table_id, options) -> Table` in a module here is `module.name` in a paper's file and in
`reprise.catalogue.displays`, which says what `options` hold.
A table holds raw numbers; they are rounded where they are shown. The CSV has the numbers in full, Markdown
and HTML the same rows as people read them.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from reprise.files import as_csv_text, write_atomically
from reprise.report.parts.templates import environment
from reprise.report.parts.words import explain_symbols

_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|`|\*+(?=[^\s*])|(?<!\w)_+(?=[^\s_])")
"""Beginnings of tags, code and emphasis in Markdown; a star between blanks, or an underscore in a word, is none."""
NO_BREAK = "\N{NO-BREAK SPACE}"
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


@dataclass(frozen=True)
class Table:
    """`rows` holds raw values by name; `columns` say what is shown of them; `notes` stand under the table.

    `by`: a column of the rows; what is read is then a table for each of its values, under it. `folded`: texts with
    their titles that Markdown holds below, folded.
    """

    columns: list[Column]
    rows: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    by: str = ""
    folded: list[tuple[str, list[str]]] = field(default_factory=list)

    @cached_property
    def reading(self) -> pd.DataFrame:
        """The table as it is read: texts, rounded."""
        texts = [[column.show(row) for column in self.columns] for row in self.rows.to_dict("records")]
        return pd.DataFrame(texts, columns=[column.title for column in self.columns], dtype="str")

    def _parts(self) -> list[tuple[str, pd.DataFrame]]:
        """Return what is read, in one part or one for each value of `by`, with its heading."""
        if not self.by:
            return [("", self.reading)]
        parts = self.reading.groupby(self.rows[self.by].to_numpy(), sort=False)
        return [(str(value), part) for value, part in parts]

    def csv(self) -> str:
        """Every raw value, floats to 12 digits, since further ones differ between processors; empty if none."""
        texts = {name: column.map(as_csv_text) for name, column in self.rows.select_dtypes(["object", "str"]).items()}
        return self.rows.assign(**texts).to_csv(index=False, lineterminator="\n", float_format="%.12g")

    def markdown(self) -> str:
        """Pipe tables without padding, the notes as a list, and what is folded.

        What a viewer would take for markup or for a tag is escaped.
        """
        lines = []
        for heading, reading in self._parts():
            lines += [f"### {as_written(heading)}", ""] if heading else []
            lines.append(f"| {' | '.join(_cell(column.title) for column in self.columns)} |")
            lines.append(f"|{'|'.join(':--' if column.words else '--:' for column in self.columns)}|")
            for row in reading.itertuples(index=False):
                cells = (_cell(text, column.code) for column, text in zip(self.columns, row, strict=True))
                lines.append(f"| {' | '.join(cells)} |")
            lines.append("")
        lines += [*(f"- {as_written(note)}" for note in self.notes), ""] if self.notes else []
        for title, texts in self.folded:
            lines += ["<details>", f"<summary>{html.escape(title)}</summary>", ""]
            lines += [line for text in texts for line in (as_written(text), "")]
            lines += ["</details>", ""]
        return "\n".join(lines).rstrip("\n") + "\n"

    def html(self) -> str:
        """Write a <table> and the notes as a list, everything escaped; no styles but alignment and the spaces of code.

        Long words stand in a <span class="long">, for which the page has a width.
        """
        parts = [(heading, list(reading.itertuples(index=False))) for heading, reading in self._parts()]
        return environment(True).get_template("table.html.j2").render(table=self, parts=parts, long=_LONG)


def _cell(text: str, code: bool = False) -> str:
    """Write a cell of a pipe table; spaces of code are kept, of which browsers otherwise make one."""
    if not code:
        return as_written(text).replace("|", r"\|")
    return f"`{text.replace(' ', NO_BREAK)}`".replace("|", r"\|")


def as_written(text: str) -> str:
    """Escape a text so that Markdown shows it: "<unk>" is no tag there, and "4*V*H" has no letters in italics."""
    return _MARKUP.sub(lambda marks: "".join(f"\\{mark}" for mark in marks[0]), text)


def write(
    table: Table, stem: Path, title: str, caption: str, symbols: Mapping[str, str] = MappingProxyType({})
) -> list[Path]:
    """Write `stem`.csv, .md and .html, each whole or not at all; returns their paths.

    The .md is read by itself: it begins with title and caption, which say units too, and with what those of `symbols`
    mean that stand in the table. The page adds title and caption to the .html.
    """
    meant = explain_symbols(symbols, "\n".join(table.reading.to_numpy().ravel()))
    head = f"# {as_written(title)}\n\n{as_written(caption)}\n\n"
    head += f"{as_written(meant)}.\n\n" if meant else ""
    texts = {"csv": table.csv(), "md": head + table.markdown(), "html": table.html()}
    files = {stem.parent / f"{stem.name}.{kind}": text for kind, text in texts.items()}
    for path, text in files.items():
        write_atomically(path, text)
    return list(files)
