"""README's section of results: written from the same files as the page, never by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reprise.config.tiers import FULL
from reprise.errors import UserError
from reprise.evidence.verdicts import NOT_RUN, VERDICTS
from reprise.files import write_atomically
from reprise.report.page.overview import verdict_counts
from reprise.report.parts.context import Context
from reprise.report.parts.verdicts import in_full


def marks(tier: str) -> tuple[str, str]:
    """The lines before and after the results of a tier."""
    return f"<!-- {tier}: begin (reprise render --tier {tier} --readme) -->", f"<!-- {tier}: end -->"


def section(contexts: Mapping[str, Context]) -> str:
    """Markdown: how far each paper is, what became of its claims, and where its tables are."""
    verdicts = verdict_counts(contexts.values())
    tier = next(iter(contexts.values())).tier
    head = ["document", "paper", "trained", *verdicts["verdicts"], "look at"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in verdicts["rows"]:
        context = contexts[row["id"]]
        states = [context.status(e.experiment) for e in context.experiments]
        trained = f"{sum(not s.missing for s in states)} of {len(states)} experiments"
        if in_part := sum(bool(s.run and s.missing) for s in states):
            trained += f", {in_part} in part"
        counts = [str(count or "") for count in row["counts"]]
        cells = [row["document"], row["title"], trained, *counts, _links(context, tier)]
        lines.append(f"| {' | '.join(cells)} |")
    sums = [str(n) for n in verdicts["sums"]]
    lines.append(f"| | **all claims: {verdicts['total']}** | | {' | '.join(sums)} | |")
    others = filter(None, map(_in_full, contexts.values()))
    if said := "; ".join(others):
        lines += ["", f"At the tier `{FULL}` other verdicts: {said}."]
    return "\n".join(lines) + "\n"


def _in_full(context: Context) -> str:
    """ "of document 001, R3, R7 inconclusive": claims judged here that have another verdict at the tier paper."""
    judged = [key for key, found in context.claims.items() if found["verdict"] != NOT_RUN]
    there = {key: in_full(context, key) for key in judged}
    kinds = {verdict: [key for key in judged if there[key] == verdict] for verdict in VERDICTS}
    said = ", ".join(f"{', '.join(keys)} {verdict}" for verdict, keys in kinds.items() if keys)
    return said and f"of document {context.paper.document}, {said}"


def _links(context: Context, tier: str) -> str:
    """The paper's tables that have something to show."""
    shown = []
    for name in context.paper.tables:
        if not context.of_experiments(name) or context.total(context.cited_by(name)).run:
            shown.append(f"[{name}](results/{tier}/tables/{context.paper_id}-{name}.md)")
    return ", ".join(shown)


def write_section(path: Path, contexts: Mapping[str, Context]) -> None:
    """Puts the section between the tier's marks in README; UserError where they are not there."""
    text = path.read_text(encoding="utf-8")
    write_atomically(path, replaced(text, contexts, path))


def replaced(text: str, contexts: Mapping[str, Context], path: Path) -> str:
    """`text` with the section between the tier's marks."""
    first, last = marks(next(iter(contexts.values())).tier)
    begin, end = text.find(first), text.find(last)
    if not 0 <= begin < end:
        raise UserError(f"{path}: no lines '{first}' and '{last}' around the results; put them where these shall stand")
    return f"{text[: begin + len(first)]}\n{section(contexts)}{text[end:]}"
