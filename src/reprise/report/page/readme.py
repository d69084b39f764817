"""Write README's results with the cells of the page: a row per document, at most six notes, the forest plot."""

from pathlib import Path

from reprise.config.project import Project
from reprise.errors import UserError
from reprise.evidence.stability import RISE
from reprise.evidence.verdicts import AGREES, DISAGREES, UNDECIDED
from reprise.files import write_atomically
from reprise.report.page.forest import plot_summary
from reprise.report.parts.answers import Tiers
from reprise.report.parts.rows import select_marks
from reprise.report.parts.summary import DISTANCE_HEADERS, DISTANCE_MARKS, Summary, summarise
from reprise.report.parts.templates import render_text

BEGIN, END = "<!-- results: begin (reprise render --readme) -->", "<!-- results: end -->"
PLOT = Path("results/forest.svg")
REPLICATION_WORDS = {AGREES: "replicates", DISAGREES: "does not replicate", UNDECIDED: "undecided"}
"""The answer to a document's main claim, in words."""
_MAX_NOTES = 6
_OTHER_MARKS = {"No number", "Size"}
"""Marks that need no explanation beside the main claims, or of which their rows have no column."""


def write_results(project: Project, tiers: Tiers) -> list[Path]:
    """Write the results between the marks of README.md, and the forest plot.

    Returns:
        Both files.

    Raises:
        UserError: README.md has no such marks.
    """
    path = project.root / "README.md"
    text = path.read_text(encoding="utf-8")
    begin, end = text.find(BEGIN), text.find(END)
    if not 0 <= begin < end:
        raise UserError(f"{path}: no lines '{BEGIN}' and '{END}'; put them where the results shall stand")
    summary = summarise(tiers)
    write_atomically(project.root / PLOT, plot_summary(summary, is_standalone=True))
    write_atomically(path, f"{text[: begin + len(BEGIN)]}\n{render_results(summary)}\n{text[end:]}")
    return [path, project.root / PLOT]


def render_results(summary: Summary) -> str:
    """Render README's results as Markdown."""
    values = {
        "notes": render_summary_notes(summary),
        "replication_words": REPLICATION_WORDS,
        "marks": select_main_marks(summary) | select_distance_marks(summary),
        "distance_headers": DISTANCE_HEADERS,
    }
    return render_text("readme.md.j2", summary=summary, **values).strip()


def select_main_marks(summary: Summary) -> dict[str, str]:
    """Select the marks in the rows of the main claims, with their meanings."""
    marks = select_marks(text for document in summary.documents for text in document.row_texts)
    return {mark: meaning for mark, meaning in marks.items() if mark not in _OTHER_MARKS}


def select_distance_marks(summary: Summary) -> dict[str, str]:
    """Select the marks of the table of distances; none if it has no row."""
    labels = [row.label for row in summary.number_distances]
    has_factor = any("×" in label for label in labels)
    return {mark: meaning for mark, meaning in DISTANCE_MARKS.items() if labels and (mark != "×" or has_factor)}


def render_summary_notes(summary: Summary) -> list[str]:
    """Render what limits the answers, in at most six lines."""
    return render_text("notes.md.j2", summary=summary, rise=RISE).splitlines()[:_MAX_NOTES]
