"""What README and the page begin with, as numbers: a row a document, the counts, and what to know before believing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reprise.evidence import readings
from reprise.evidence.sensitivity import Sensitivity, examine_sensitivity
from reprise.evidence.stability import Stability, count_unstable
from reprise.evidence.verdicts import AGREES, JUDGED
from reprise.report.parts.answers import DECIDED, Answer, Tiers, answers, judging, of_paper, tally
from reprise.report.parts.context import Context
from reprise.report.parts.verdicts import setting_words
from reprise.report.parts.words import explain_symbols


@dataclass(frozen=True)
class Document:
    """One paper and the answers to its claims; `main` is its main claim."""

    context: Context
    main: Answer | None
    answers: list[Answer]

    @property
    def id(self) -> str:
        """The id of the paper."""
        return self.context.paper_id

    @property
    def number(self) -> str:
        """The number of the document, "001"."""
        return self.context.paper.document

    @property
    def name(self) -> str:
        """A few words that name the paper."""
        return self.context.paper.name or self.context.paper.title

    @property
    def trained(self) -> list[Answer]:
        """The answers to claims about trained models."""
        return [answer for answer in self.answers if answer.trained]

    @property
    def counts(self) -> str:
        """Write "10 / 1 / 2": how many claims about trained models agree, disagree and are undecided."""
        count = tally(self.trained)
        return " / ".join(str(count[answer]) for answer in DECIDED)

    @property
    def remark(self) -> str:
        """The sentence of the paper's file, if its claims still have the answers that it rests on; else ""."""
        remark, given = self.context.paper.headline and self.context.paper.headline.remark, {}
        if remark:
            given = {answer.claim: answer.answer for answer in self.answers if answer.claim in remark.while_}
        return remark.words if remark and given == remark.while_ else ""

    @property
    def reservations(self) -> str:
        """What limits the answer to the main claim, in brackets: a reduced budget, another answer by Welch's test."""
        if not self.main or self.main.answer not in DECIDED:
            return ""
        welch = self.main.decision and self.main.decision.welch
        limits = [] if self.main.full else ["reduced budget"]
        if welch and welch != self.main.answer:
            limits.append(f"Welch's test: {welch}")
        return f" ({'; '.join(limits)})" if limits else ""

    @property
    def symbols(self) -> str:
        """What the symbols in the row of the main claim mean."""
        cells = self.main and self.main.cells
        return explain_symbols(self.context.paper.symbols, f"{cells.claim} {cells.compared}") if cells else ""

    @property
    def unanswered(self) -> int:
        """How many claims about trained models have no such answer."""
        return sum(answer.answer not in DECIDED for answer in self.trained)


@dataclass(frozen=True)
class Nearest:
    """How near the paper's numbers an alternative setting comes, and our own choice on the same rows.

    The paper's numbers of the models `titles` lie within `within` %, and within `chosen` % as chosen. `far`: that of
    one more model, which is much further off, and by how much as chosen and under the setting, in %.
    """

    document: str
    setting: str
    titles: list[str]
    within: float
    chosen: float
    far: tuple[str, float, float] | None


@dataclass(frozen=True)
class Summary:
    """The facts of the first screen and of README's notes.

    Attributes:
        count: Of claims about trained models, by answer.
        others: Of all other claims, about equations, sizes and counts.
        contradicted: Claims to which a tier below gives the opposite answer, by document.
        replaced: What takes the place of a paper's data, by document.
        diverged: The training runs that diverged, by model and document.
        unstable: How many training runs finished, but became unstable.
        wrong: The experiments of a document with such training runs.
        doubtful: Claims that a paper's numbers are in the unit that it states, and that do not agree.
        sensitivity: How far the answers hang on how they are tested; claims as "001 R1".
    """

    documents: list[Document]
    answers: list[Answer]
    records: int
    diverged: dict[str, int]
    unstable: int
    wrong: list[tuple[str, Stability]]
    sensitivity: Sensitivity
    count: Counter[str]
    others: Counter[str]
    main: Counter[str]
    tried: int
    changed: int
    late: int
    contradicted: dict[str, list[str]]
    doubtful: list[str]
    replaced: dict[str, str]
    nearest: list[Nearest]

    @property
    def trained(self) -> int:
        """How many claims are about trained models."""
        return self.count.total()

    @property
    def unanswered(self) -> int:
        """How many of these have no answer."""
        return sum(n for answer, n in self.count.items() if answer not in DECIDED)

    @property
    def others_unanswered(self) -> int:
        """How many claims that are about no trained model have no answer."""
        return sum(n for answer, n in self.others.items() if answer not in DECIDED)

    @property
    def numbers(self) -> list[str]:
        """The documents, each once."""
        return sorted({document.number for document in self.documents})


def summarise(tiers: Tiers) -> Summary:
    """Count what was found at all tiers."""
    tiers = judging(tiers)
    every = answers(tiers)
    contexts = list(next(iter(tiers.values())).values())
    documents = []
    for context in contexts:
        own, headline = of_paper(every, context.paper_id), context.paper.headline
        main = next((a for a in own if headline and a.claim == headline.claim), None)
        documents.append(Document(context, main, own))
    read = [context for papers in tiers.values() for context in papers.values()]
    stability = [(c.paper.document, one) for c in read for one in count_unstable(c.runs.values())]
    diverged = Counter[str]()
    for document, one in stability:
        diverged[f"{one.title.partition(',')[0]} of document {document}"] += one.diverged
    trained = [answer for answer in every if answer.trained]
    tried = [answer for answer in trained if answer.answer in JUDGED and answer.alternatives]
    documents_of = {document.id: document.number for document in documents}
    replaced = {c.paper.document: d.title for c in contexts for d in c.paper.deviations.values() if d.data}
    return Summary(
        documents=documents,
        answers=every,
        records=sum(len(runs.replicas) for context in read for runs in context.runs.values()),
        diverged=dict(+diverged),
        unstable=sum(one.unstable for _, one in stability),
        wrong=[(document, one) for document, one in stability if one.diverged or one.unstable],
        sensitivity=examine_sensitivity(
            {f"{documents_of[a.paper]} {a.claim}": a.decision for a in every if a.decision}
        ),
        count=tally(trained),
        others=tally(answer for answer in every if not answer.trained),
        main=tally(document.main for document in documents if document.main),
        tried=len(tried),
        changed=sum(any(one.flips for _, one in answer.alternatives) for answer in tried),
        late=sum(bool(a.decision and a.decision.afterwards) for a in trained if a.answer == AGREES),
        contradicted={
            document.number: keys
            for document in documents
            if (keys := [a.claim for a in document.trained if a.contradicted])
        },
        doubtful=[
            f"document {documents_of[a.paper]} ({a.claim})"
            for a in every
            if a.decision and a.decision.kind == "unit" and a.answer != AGREES
        ],
        replaced=replaced,
        nearest=[one for document in documents if (one := _nearest(document.context, document.answers))],
    )


def _nearest(context: Context, own: Sequence[Answer]) -> Nearest | None:
    """Sum up the nearest setting of equal rank at the full protocol; None without one, or on too few numbers."""
    if not any(answer.full and answer.trained and answer.plotted for answer in own):
        return None
    equal = {f"{assumption}={name}" for assumption, name, choice in context.paper.choices() if choice.co_primary}
    best = next((one for one in readings.distances(context.paper, context.runs) if one.reading in equal), None)
    if best is None or best.rows < readings.LEAST:
        return None
    setting, chosen = best.each
    rows, within, _ = readings.off(setting)
    order = sorted(setting, key=setting.__getitem__)
    near, last = order[:rows], order[-1]
    return Nearest(
        context.paper.document,
        setting_words(context.paper, best.reading),
        [context.title(term.experiment) for term in setting if term in near],
        within,
        max(chosen[term] for term in near),
        None if last in near else (context.title(last.experiment), chosen[last], setting[last]),
    )
