"""README's results: a sentence a paper and the forest plot, computed from the same files as the page."""

from pathlib import Path

from reprise.config.project import Project
from reprise.errors import UserError
from reprise.files import write_atomically
from reprise.records.resolved import FULL
from reprise.report.page import first
from reprise.report.page.answers import Answer, Tiers, answers, judging
from reprise.report.parts.context import Context

BEGIN, END = "<!-- results: begin (reprise render --readme) -->", "<!-- results: end -->"
PLOT = Path("results/forest.svg")


def write_results(project: Project, tiers: Tiers) -> list[Path]:
    """Puts the results between the marks of README.md and writes the forest plot; `UserError` without the marks."""
    path, judged = project.root / "README.md", judging(tiers)
    text = path.read_text(encoding="utf-8")
    begin, end = text.find(BEGIN), text.find(END)
    if not 0 <= begin < end:
        raise UserError(f"{path}: no lines '{BEGIN}' and '{END}'; put them where the results shall stand")
    found, contexts = answers(judged), list(next(iter(judged.values())).values())
    whole = first.overall(found, contexts)
    lines = [*([whole, ""] if whole else []), "| document | what was found | claims |", "|---|---|---|"]
    for row in first.sentences(found, contexts):
        tier = _tier(found, next(c for c in contexts if c.paper_id == row["paper"]), judged)
        claims = f"results/{tier}/tables/{row['paper']}-claims.md"
        name = f"[{row['name']}]({row['link']})" if row["link"] else row["name"]
        lines.append(f"| **{row['document']}** {name} ({row['by']}) | {row['sentence']} | [claims]({claims}) |")
    shown = "\n".join([*lines, "", *(f"- {said[0].upper()}{said[1:]}." for said in first.trust(judged, found))])
    write_atomically(project.root / PLOT, first.plot(found, contexts, alone=True))
    write_atomically(path, f"{text[: begin + len(BEGIN)]}\n{shown}\n{text[end:]}")
    return [path, project.root / PLOT]


def _tier(found: list[Answer], context: Context, tiers: Tiers) -> str:
    """The tier whose table of claims has the sentence's numbers: the headline's, else that of a trained claim."""
    own = [a for a in first.of_paper(found, context.paper_id) if a.direction in first.JUDGED]
    headline = [a for a in own if context.paper.headline and a.claim == context.paper.headline.claim]
    full = any(a.full for a in headline or own if a.evidence == first.TRAINED)
    return FULL if FULL in tiers and full else list(tiers)[-1]
