"""Hold tables, and write them as CSV, Markdown and HTML.

In a paper's file, "<folder>.<function>" names a `function(context, table_id, options) -> Table`.
`reprise.catalogue.displays` lists it, with its options. A table holds raw numbers, which are rounded when they are
shown. The CSV holds them in full; Markdown and HTML hold the same rows as people read them.
"""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from reprise.files import escape_formula, write_atomically
from reprise.report.parts.templates import escape_cell, escape_markdown, escape_text_cell, load_environment
from reprise.report.parts.wording import explain_symbols

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_LONG_TEXT = 32
"""A text column's cell with more characters may be broken into lines."""


@dataclass(frozen=True)
class Column:
    """Define a column as people read it: its title, and how a row's raw values are formatted.

    Attributes:
        title: The title.
        format_cell: Formats the raw values of a row.
        is_text: Whether it holds text, which is aligned to the left.
        is_code: Whether it is set in a fixed-width font with all spaces kept, to compare rows by character.
    """

    title: str
    format_cell: Callable[[Mapping[str, Any]], str]
    is_text: bool = False
    is_code: bool = False


@dataclass(frozen=True)
class Table:
    """Hold raw rows, and the columns that show them.

    Attributes:
        columns: What is shown of a row.
        rows: The raw values by name.
        notes: Lines under the table.
        group_by: A column of the rows; people then read one table for each of its values.
        details: Titles and texts that Markdown shows folded, below the table.
    """

    columns: list[Column]
    rows: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    group_by: str = ""
    details: list[tuple[str, list[str]]] = field(default_factory=list)

    @cached_property
    def formatted_rows(self) -> pd.DataFrame:
        """Format the rows as people read them."""
        texts = [[column.format_cell(row) for column in self.columns] for row in self.rows.to_dict("records")]
        return pd.DataFrame(texts, columns=[column.title for column in self.columns], dtype="str")

    def _split_groups(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the formatted rows with their headings: one group, or one for each value of `group_by`."""
        if not self.group_by:
            return [("", self.formatted_rows)]
        groups = self.formatted_rows.groupby(self.rows[self.group_by].to_numpy(), sort=False)
        return [(str(value), rows) for value, rows in groups]

    def to_csv(self) -> str:
        """Write every raw value; floats to 12 digits, since further ones differ between processors."""
        texts = {
            name: column.map(escape_formula) for name, column in self.rows.select_dtypes(["object", "str"]).items()
        }
        return self.rows.assign(**texts).to_csv(index=False, lineterminator="\n", float_format="%.12g")

    def to_markdown(self) -> str:
        """Write pipe tables, the notes as a list and the folded details; what would read as markup is escaped."""
        lines = []
        for heading, rows in self._split_groups():
            lines += [f"### {escape_markdown(heading)}", ""] if heading else []
            lines.append(f"| {' | '.join(_format_cell(column.title) for column in self.columns)} |")
            lines.append(f"|{'|'.join(':--' if column.is_text else '--:' for column in self.columns)}|")
            for row in rows.itertuples(index=False):
                cells = (_format_cell(text, column.is_code) for column, text in zip(self.columns, row, strict=True))
                lines.append(f"| {' | '.join(cells)} |")
            lines.append("")
        lines += [*(f"- {escape_markdown(note)}" for note in self.notes), ""] if self.notes else []
        for title, texts in self.details:
            lines += ["<details>", f"<summary>{html.escape(title)}</summary>", ""]
            lines += [line for text in texts for line in (escape_markdown(text), "")]
            lines += ["</details>", ""]
        return "\n".join(lines).rstrip("\n") + "\n"

    def to_html(self) -> str:
        """Write a <table> and the notes as a list, with everything escaped.

        Long texts stand in a <span class="long">, for which the page has a width.
        """
        parts = [(heading, list(rows.itertuples(index=False))) for heading, rows in self._split_groups()]
        return (
            load_environment(True).get_template("table.html.j2").render(table=self, parts=parts, long_text=_LONG_TEXT)
        )


def _format_cell(text: str, is_code: bool = False) -> str:
    """Write a cell of a pipe table; code keeps its spaces, of which browsers would show only one."""
    text = " ".join(text.splitlines())  # a line end would end the row
    if not is_code:
        return escape_text_cell(text)
    ticks = "``" if "`" in text else "`"
    blank = " " if "`" in text else ""  # Markdown takes it away again
    return escape_cell(f"{ticks}{blank}{text.replace(' ', NO_BREAK_SPACE)}{blank}{ticks}")


def write_table(
    table: Table, stem: Path, title: str, caption: str, symbols: Mapping[str, str] = MappingProxyType({})
) -> list[Path]:
    """Write `stem`.csv, .md and .html, each whole or not at all; return their paths.

    The .md stands alone: it begins with title and caption, and explains the symbols that occur. The page adds title and
    caption to the .html.
    """
    explanation = explain_symbols(symbols, "\n".join(table.formatted_rows.to_numpy().ravel()))
    heading = f"# {escape_markdown(title)}\n\n{escape_markdown(caption)}\n\n"
    heading += f"{escape_markdown(explanation)}.\n\n" if explanation else ""
    texts = {"csv": table.to_csv(), "md": heading + table.to_markdown(), "html": table.to_html()}
    files = {stem.parent / f"{stem.name}.{kind}": text for kind, text in texts.items()}
    for path, text in files.items():
        write_atomically(path, text)
    return list(files)
