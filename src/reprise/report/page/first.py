"""The page's first screen: a sentence a paper, the forest plot, a square a claim and the line on trust."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from reprise.evidence import readings, verdicts
from reprise.evidence.verdicts import (
    AGREES,
    ARITHMETIC,
    COUNTED,
    DISAGREES,
    EQUATION,
    JUDGED,
    NOT_JUDGED,
    TRAINED,
    UNDECIDED,
)
from reprise.evidence.words.forms import listed
from reprise.report.page.answers import Answer, Tiers, of_paper, tally
from reprise.report.page.forest import forest
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import fixed, plural

STRIPS = {
    f"{TRAINED}, not in the plot": (TRAINED,),
    COUNTED: (COUNTED,),
    "equations and arithmetic": (EQUATION, ARITHMETIC),
}
DIRECTIONS = {AGREES: "agree", DISAGREES: "disagree", UNDECIDED: "undecided"}
_BECAME = {AGREES: "Replicates", DISAGREES: "Does not replicate", UNDECIDED: "Undecided", NOT_JUDGED: "No answer"}
_ARE = {
    AGREES: ("replicates", "replicate"),
    DISAGREES: ("does not replicate", "do not replicate"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_JUDGED: ("has no answer", "have no answer"),
}


def overall(found: Sequence[Answer], contexts: Iterable[Context]) -> str:
    """ "Of 6 main claims 4 replicate, 1 does not replicate, 1 is undecided.": of the papers that name a main claim."""
    main = {(c.paper_id, c.paper.headline.claim) for c in contexts if c.paper.headline}
    count = tally(a for a in found if (a.paper, a.claim) in main)
    said = [
        f"{count[direction]} {words[count[direction] > 1]}" for direction, words in _ARE.items() if count[direction]
    ]
    return f"Of {plural(len(main), 'main claim')} {', '.join(said)}." if said else ""


def sentences(found: Sequence[Answer], contexts: Iterable[Context]) -> list[dict[str, Any]]:
    """A row a paper: document, name, authors and year, what was found, and its answers with their counts in words."""
    return [
        {
            "paper": context.paper_id,
            "document": context.paper.document,
            "name": context.paper.name or context.paper.title,
            "by": f"{context.paper.authors}, {context.paper.year}",
            "link": context.paper.link,
            "sentence": sentence(own, context),
            "reading": reading(context, own),
            "answers": own,
            "counts": counts(own),
        }
        for context in contexts
        for own in [of_paper(found, context.paper_id)]
    ]


def reading(context: Context, found: Sequence[Answer]) -> str:
    """How near the nearest reading is to the paper's numbers, where it is not the chosen one, at the full protocol."""
    if not any(a.full and a.evidence == TRAINED and a.ratio is not None for a in found):
        return ""
    best = next(iter(readings.distances(context.paper, context.runs)), None)
    if best is None or best.reading == readings.CHOSEN or best.rows < readings.LEAST:
        return ""
    names = best.reading, readings.CHOSEN
    off, chosen = (readings.off(*one, context.paper, context.runs) for one in zip(names, best.each, strict=True))
    return f"Under {best.reading}, found afterwards, geometric means against the paper's are {off}; as chosen {chosen}."


def sentence(found: Sequence[Answer], context: Context) -> str:
    """ "Replicates: the gain over the s-RNN (ours 9.6 %, the paper 10.6 %; 3 seeds)."; without a main claim, counts."""
    headline = context.paper.headline
    answer = next((a for a in found if headline and a.claim == headline.claim), None)
    if answer is None:
        return counts(found)
    effects = f"ours {answer.ours}, the paper {answer.theirs}" if answer.ours else ""
    beside = "; ".join(filter(None, (effects, answer.n, *answer.turned)))
    return f"{became(answer)}: {headline.words}{f' ({beside})' if beside else ''}."


def counts(found: Sequence[Answer]) -> str:
    """ "14 trained claims: agree 6, disagree 1, open 7; not run 11." at each protocol that has any."""
    trained = [a for a in found if a.evidence == TRAINED]
    said = []
    for full, words in ((True, ""), (False, " at a reduced budget")):
        some = [a for a in trained if a.full == full and a.direction in JUDGED]
        if some:
            said.append(f"{plural(len(some), 'trained claim')}{words}: {_tallied(some)}")
    for direction, missing in tally(a for a in trained if a.direction not in JUDGED).items():
        said.append(f"{direction} {missing}")
    return f"{'; '.join(said)}." if said else ""


def _tallied(found: Sequence[Answer]) -> str:
    """ "agree 6 (2 with a criterion set afterwards), disagree 1, open 7, not run 2"."""
    count = tally(found)
    said = {direction: f"{DIRECTIONS.get(direction, direction)} {count[direction]}" for direction in verdicts.ANSWERS}
    if late := sum(a.afterwards for a in found if a.direction == AGREES):
        said[AGREES] += f" ({late} with a criterion set afterwards)"
    if below := sum(a.decided_below for a in found):
        said[UNDECIDED] += f" ({below} decided in reduced runs)"
    return ", ".join(said[direction] for direction in verdicts.ANSWERS if count[direction])


def became(answer: Answer) -> str:
    """ "Replicates", "Undecided at a reduced budget": the answer to a document's main claim."""
    said = _BECAME.get(answer.direction) or answer.direction.capitalize()
    return said + ("" if answer.full or answer.direction not in JUDGED else " at a reduced budget")


def plot(found: Sequence[Answer], contexts: Iterable[Context], **how: bool) -> str:
    """The forest plot, sorted by document; `how` as `forest` has it."""
    names = {c.paper_id: f"{c.paper.document} {c.paper.name or c.paper.title}" for c in contexts}
    return forest({title: of_paper(found, paper) for paper, title in names.items()}, **how)


def strips(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """A strip a kind of evidence: the claims that the forest plot does not have, those that were run first."""
    kinds = {words: [a for a in found if a.evidence in kind and a.ratio is None] for words, kind in STRIPS.items()}
    return [
        {"words": words, "answers": sorted(some, key=lambda a: a.direction not in JUDGED), "counts": _tallied(some)}
        for words, some in kinds.items()
        if some
    ]


def trust(tiers: Tiers, found: Sequence[Answer]) -> list[str]:
    """What to know before believing trained claims: records, divergence, other readings, models that did not learn."""
    contexts = [context for papers in tiers.values() for context in papers.values()]
    records, diverged = 0, Counter[str]()
    for context in contexts:
        status = context.metrics.drop_duplicates(["experiment", "variant", "replica"]).status
        records += len(status)
        diverged[context.paper.name or context.paper.title] += int((status == "diverged").sum())
    found = [a for a in found if a.evidence == TRAINED]
    tried, agreeing = [a for a in found if a.tried], [a.afterwards for a in found if a.direction == AGREES]
    void = [a.afterwards for a in found if a.direction == NOT_JUDGED]
    opposite = [a.link for a in found if a.contradicted]
    where = f": {listed([name for name, n in diverged.items() if n])}" if diverged.total() else ""
    replaced = sorted({c.paper.document for c in contexts if any(d.data for d in c.paper.deviations.values())})
    said = [
        f"{fixed(records, 0)} run records, {diverged.total()} of them diverged{where}",
        f"{sum(bool(a.turned) for a in tried)} of the {len(tried)} answers that were tried under another choice than "
        "ours point the other way there, or are decided there alone",
        f"{sum(agreeing)} of the {len(agreeing)} answers that agree have a criterion set afterwards",
        f"{len(void)} claims are not judged, since a model did not learn; the level is set afterwards for {sum(void)}",
    ]
    said += [f"the reduced budget says the opposite of {listed(opposite)}"] if opposite else []
    rows = Counter(c.paper.document for c in next(iter(tiers.values())).values())
    twice = [document for document, n in rows.items() if n > 1]
    said += [f"document {listed(twice)} has two parts, a row each"] if twice else []
    if replaced:
        said.append(f"other data stand in for some of documents {listed(replaced)}; their deviations name them")
    return said
