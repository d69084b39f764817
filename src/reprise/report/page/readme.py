"""README's results: a sentence a paper and the forest plot, computed from the same files as the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reprise.config.project import Project
from reprise.errors import UserError
from reprise.files import write_atomically
from reprise.report.page import first
from reprise.report.page.answers import Tiers, answers
from reprise.report.page.forest import forest
from reprise.report.parts.context import Context

BEGIN, END = "<!-- results: begin (reprise render --readme) -->", "<!-- results: end -->"
PLOT = Path("results/forest.svg")
_LABEL = 57


def write_results(project: Project, tiers: Tiers) -> list[Path]:
    """Puts the results between the marks of README.md and writes the forest plot; `UserError` without the marks."""
    path, judged = project.root / "README.md", _judged(tiers)
    text = replaced(path.read_text(encoding="utf-8"), judged, path)
    write_atomically(project.root / PLOT, plot(judged))
    write_atomically(path, text)
    return [path, project.root / PLOT]


def _judged(tiers: Tiers) -> Tiers:
    return {tier: contexts for tier, contexts in tiers.items() if tier != "quick"} or tiers


def plot(tiers: Tiers) -> str:
    """The forest plot as a file of its own."""
    return forest(first.rows(answers(tiers), list(next(iter(tiers.values())).values()), _LABEL), alone=True)


def results(tiers: Tiers) -> str:
    """Markdown: a row a paper with what it is, what was found and where its claims are."""
    found = answers(tiers)
    contexts = list(next(iter(tiers.values())).values())
    lines = ["| document | what was found | claims |", "|---|---|---|"]
    for row in first.sentences(found, contexts):
        name = f"**{row['document']}** {row['name']}"
        lines.append(f"| {name} | {row['sentence']} | {_link(tiers, row['paper'])} |")
    return "\n".join([*lines, "", *(f"{part}." for part in [" · ".join(first.trust(tiers, found))]), ""])


def _link(tiers: Tiers, paper: str) -> str:
    """To the table of claims of the fullest tier that has run any experiment of the paper."""
    there = [tier for tier, contexts in tiers.items() if _ran(contexts, paper)]
    tier = there[0] if there else next(iter(tiers))
    return f"[claims](results/{tier}/tables/{paper}-claims.md)"


def _ran(contexts: Mapping[str, Context], paper: str) -> bool:
    context = contexts[paper]
    own = [e.experiment for e in context.experiments if not e.is_check and "@" not in e.experiment]
    return sum(bool(context.status(name).run) for name in own) * 2 > len(own)


def replaced(text: str, tiers: Tiers, path: Path) -> str:
    """`text` with the results between the marks."""
    begin, end = text.find(BEGIN), text.find(END)
    if not 0 <= begin < end:
        raise UserError(f"{path}: no lines '{BEGIN}' and '{END}'; put them where the results shall stand")
    return f"{text[: begin + len(BEGIN)]}\n{results(tiers)}{text[end:]}"
