"""README's results: a row a paper and the forest plot, computed from the same files as the page."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from reprise.config.project import Project
from reprise.errors import UserError
from reprise.evidence.verdicts import TRAINED
from reprise.files import write_atomically
from reprise.records.resolved import FULL
from reprise.report.page import first
from reprise.report.page.answers import Answer, Tiers, answers, judging, tally
from reprise.report.page.first import DIRECTIONS

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
    protocols = [f"tier {tier}: {' / '.join(DIRECTIONS.values())}" for tier in judged]
    columns = ["document", "main claim", *protocols, "no answer"]
    lines = [*([whole, ""] if whole else []), f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    rows = first.sentences(found, contexts)
    for row in rows:
        name = f"[{row['name']}]({row['link']})" if row["link"] else row["name"]
        trained = [a for a in row["answers"] if a.evidence == TRAINED]
        counts = [_counts(row["paper"], tier, [a for a in trained if a.full == (tier == FULL)]) for tier in judged]
        without = tally(a for a in trained if a.direction not in DIRECTIONS)
        cells = [
            f"**{row['document']}** {name} ({row['by']})",
            row["sentence"],
            *counts,
            ", ".join(f"{n} {why}" for why, n in without.items()),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    trust = [f"{said[0].upper()}{said[1:]}." for said in first.trust(judged, found)]
    beside = [f"Document {row['document']}. {row['reading']}" for row in rows if row["reading"]]
    shown = "\n".join([*lines, "", *(f"- {said}" for said in (*beside, *trust))])
    write_atomically(project.root / PLOT, first.plot(found, contexts, alone=True))
    write_atomically(path, f"{text[: begin + len(BEGIN)]}\n{shown}\n{text[end:]}")
    return [path, project.root / PLOT]


def _counts(paper: str, tier: str, found: list[Answer]) -> str:
    """ "8 / 5 / 7", a link to the tier's table of the claims; "" where no answer is of this protocol.

    "; 6 / 1 / 5 under schedule=rnnlm": of a reading of equal rank as well.
    """
    if not any(a.direction in DIRECTIONS for a in found):
        return ""
    said = f"[{_three(a.direction for a in found)}](results/{tier}/tables/{paper}-claims.md)"
    for name in dict.fromkeys(name for a in found for name, verdict in a.co_primary.items() if verdict in DIRECTIONS):
        said += f"; {_three(a.co_primary.get(name, a.direction) for a in found)} under {name}"
    return said


def _three(found: Iterable[str]) -> str:
    count = Counter(found)
    return " / ".join(str(count[direction]) for direction in DIRECTIONS)
