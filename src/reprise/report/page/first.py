"""The page's first screen: a sentence a paper, the forest plot, a square a claim and the line on trust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reprise.evidence import readings
from reprise.evidence.verdicts import (
    AGREES,
    ARITHMETIC,
    COUNTED,
    DISAGREES,
    EQUATION,
    JUDGED,
    NOT_AVAILABLE,
    NOT_RUN,
    OPEN,
    TRAINED,
    VOID,
)
from reprise.evidence.words import listed
from reprise.report.page.answers import Answer, Tiers, of_paper, tally
from reprise.report.page.forest import Row, forest
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import fixed, plural
from reprise.report.parts.words import cut

STRIPS = {
    f"{TRAINED}, not in the plot": (TRAINED,),
    COUNTED: (COUNTED,),
    "equations and arithmetic": (EQUATION, ARITHMETIC),
}
_LABEL = 57
"""Characters of a label in the forest plot."""
_NARROW_LABEL = 56


def sentences(found: Sequence[Answer], contexts: Iterable[Context]) -> list[dict[str, Any]]:
    """A row a paper: document, name, and what was found, computed."""
    return [
        {
            "paper": context.paper_id,
            "document": context.paper.document,
            "name": context.paper.name or context.paper.title,
            "about": context.paper.title,
            "year": context.paper.year,
            "sentence": f"{sentence(of_paper(found, context.paper_id), context)} {reading(context, found)}".strip(),
        }
        for context in contexts
    ]


def reading(context: Context, found: Sequence[Answer]) -> str:
    """Which reading is nearest to the paper's numbers, where it is not the chosen one, at the paper's protocol."""
    if not any(a.full and a.evidence == TRAINED and a.ratio is not None for a in of_paper(found, context.paper_id)):
        return ""
    distances = readings.distances(context.paper, context.replicas.runs)
    if not distances or distances[0].reading == readings.CHOSEN:
        return ""
    return readings.sentence(context.paper, context.replicas.runs, distances)


def sentence(found: Sequence[Answer], context: Context) -> str:
    """ "Replicates: the gain over the s-RNN (ours 9.6 %, the paper 10.6 %; 3 seeds). 12 trained claims: …." """
    headline = context.paper.headline
    answer = next((a for a in found if headline and a.claim == headline.claim), None)
    said = f"{_became(answer, found)}: {headline.words}{_effects(answer)}. " if headline and answer else ""
    return f"{said}{counts(found)}".strip()


def counts(found: Sequence[Answer]) -> str:
    """ "Of 14 trained claims, 6 agree, 1 disagrees and 7 are open; 11 not run." at each protocol that has any."""
    trained = [a for a in found if a.evidence == TRAINED]
    said = []
    for full, words in ((True, ""), (False, " at a reduced budget")):
        some = [a for a in trained if a.full == full and a.direction in JUDGED]
        if some:
            said.append(f"{plural(len(some), 'trained claim')}{words}: {_tallied(some)}")
    for direction in (NOT_RUN, NOT_AVAILABLE):
        if missing := sum(a.direction == direction for a in trained):
            said.append(f"{missing} {_MISSING[direction]}")
    return f"{'; '.join(said)}." if said else ""


_MISSING = {NOT_RUN: "not run", NOT_AVAILABLE: "without data here"}


def _tallied(found: Sequence[Answer]) -> str:
    count = tally(found)
    verbs = {
        AGREES: ("agrees", "agree"),
        DISAGREES: ("disagrees", "disagree"),
        OPEN: ("is open", "are open"),
        VOID: ("is void", "are void"),
    }
    return listed([f"{n} {verbs[k][n > 1]}" for k, n in count.items() if n and k in verbs])


_BECAME = {AGREES: "Replicates", DISAGREES: "Does not replicate", OPEN: "Undecided", VOID: "No answer"}


def _became(answer: Answer, found: Sequence[Answer]) -> str:
    """ "Partly replicates" where the headline's claim agrees, and another trained one disagrees at that protocol."""
    said = _BECAME.get(answer.direction) or answer.direction.capitalize()
    others = (a.direction == DISAGREES for a in found if a.evidence == TRAINED and a.full == answer.full)
    if answer.direction == AGREES and any(others):
        said = "Partly replicates"
    return said if answer.full or answer.direction not in JUDGED else f"{said} at a reduced budget"


def _effects(answer: Answer) -> str:
    effects = f"ours {answer.ours}, the paper {answer.theirs}" if answer.ours else ""
    said = "; ".join(filter(None, (effects, answer.n)))
    return f" ({said})" if said else ""


def rows(found: Sequence[Answer], contexts: Iterable[Context], width: int) -> list[Row]:
    """The forest plot's rows, sorted by document."""
    names = {c.paper_id: f"{c.paper.document} {c.paper.name or c.paper.title}" for c in contexts}
    return [
        Row(
            names[a.paper],
            cut(f"{a.claim}  {a.text}", width),
            a.link,
            a.direction,
            a.full,
            a.ratio,
            a.low,
            a.high,
            a.beside,
        )
        for paper in names
        for a in of_paper(found, paper)
        if a.ratio is not None
    ]


def plots(found: Sequence[Answer], contexts: Sequence[Context]) -> dict[str, str]:
    """The wide plot, and the narrow one for a phone."""
    return {
        "wide": forest(rows(found, contexts, _LABEL)),
        "narrow": forest(rows(found, contexts, _NARROW_LABEL), narrow=True),
    }


def strips(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """A strip a kind of evidence: the claims that the forest plot does not have, those that were run first."""
    out = []
    for words, kinds in STRIPS.items():
        some = [a for a in found if a.evidence in kinds and a.ratio is None]
        some.sort(key=lambda a: a.direction not in JUDGED)
        if some:
            out.append({"words": words, "answers": some, "counts": _tallied(some)})
    return out


def trust(tiers: Tiers, found: Sequence[Answer]) -> list[str]:
    """What the reader should know before believing: records, divergence, other readings, models that did not learn."""
    runs = [
        context.metrics.drop_duplicates(["experiment", "variant", "replica"]).status
        for contexts in tiers.values()
        for context in contexts.values()
    ]
    records, diverged = sum(map(len, runs)), sum(int((status == "diverged").sum()) for status in runs)
    flips, void = sum(a.flips for a in found), sum(a.direction == VOID for a in found)
    papers = [context.paper for context in next(iter(tiers.values())).values()]
    replaced = sorted({paper.document for paper in papers if any(d.data for d in paper.deviations.values())})
    said = [
        f"{fixed(records, 0)} run records, {diverged} of them diverged",
        f"{flips} of {len(found)} answers depend on a choice that the paper leaves open",
        f"{void} void, since a model did not learn",
    ]
    return [*said, f"other data stand in for documents {listed(replaced)}"] if replaced else said
