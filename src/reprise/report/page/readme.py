"""README's results: a row a document, at most six notes, and the forest plot, from the same cells as the page."""

from pathlib import Path

from reprise.config.project import Project
from reprise.errors import UserError
from reprise.evidence.verdicts import AGREES, DISAGREES, UNDECIDED
from reprise.files import write_atomically
from reprise.report.page.forest import plot
from reprise.report.parts.answers import Tiers
from reprise.report.parts.rows import MARKS
from reprise.report.parts.summary import Summary, summarise
from reprise.report.parts.templates import render_text

BEGIN, END = "<!-- results: begin (reprise render --readme) -->", "<!-- results: end -->"
PLOT = Path("results/forest.svg")
REPLICATES = {AGREES: "replicates", DISAGREES: "does not replicate", UNDECIDED: "undecided"}
"""The answer to a document's main claim."""
_NOTES = 6
_ELSEWHERE = {"–", "No number", "Size"}
"""Marks that only the tables of claims have, or that say it themselves."""


def write_results(project: Project, tiers: Tiers) -> list[Path]:
    """Put the results between the marks of README.md and write the forest plot.

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
    write_atomically(project.root / PLOT, plot(summary, alone=True))
    write_atomically(path, f"{text[: begin + len(BEGIN)]}\n{results(summary)}\n{text[end:]}")
    return [path, project.root / PLOT]


def results(summary: Summary) -> str:
    """Return the Markdown of README's results."""
    shown = [mark for mark in MARKS if mark not in _ELSEWHERE]
    values = {"notes": notes(summary), "replicates": REPLICATES, "marks": MARKS, "shown": shown}
    return render_text("readme.md.j2", summary=summary, **values).strip()


def notes(summary: Summary) -> list[str]:
    """Write what to know before believing the answers, at most six lines."""
    return render_text("notes.md.j2", summary=summary).splitlines()[:_NOTES]
