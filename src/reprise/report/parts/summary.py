"""Summarise the results for README and the page: a row per document, counts, and what limits the answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reprise.evidence import readings
from reprise.evidence.sensitivity import Sensitivity, examine_sensitivity
from reprise.evidence.stability import Stability, count_unstable
from reprise.evidence.verdicts import AGREES, JUDGED
from reprise.records.resolved import FULL
from reprise.report.parts.answers import (
    DECIDED_ANSWERS,
    Answer,
    Tiers,
    collect_answers,
    count_answers,
    filter_by_paper,
    select_judging_tiers,
)
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import format_significant
from reprise.report.parts.rows import BUDGETS
from reprise.report.parts.verdicts import is_judged, name_alternative, name_own_sds_test
from reprise.report.parts.wording import explain_symbols

DISTANCE_HEADERS = (
    "Document",
    "Numbers compared",
    "Median distance",
    "Largest distance",
    "In our 95 % prediction interval",
)
"""The column headers of the table of distances from the printed numbers."""
DISTANCE_MARKS = {
    "Numbers compared": (
        "those of trained models that the document reports and we measured. Diverged runs have none. The distance is "
        "that of our mean, in % of the number."
    ),
    "Prediction interval": (
        "where one more run of ours lies with a probability of 95 %. A single run has none, nor do equal runs."
    ),
    "×": "the unit of the numbers compared is in doubt. The factor brings ours nearest to them.",
}
"""The meaning of its headers and marks."""


@dataclass(frozen=True)
class Document:
    """Hold one paper and the answers to its claims; `main_answer` is that of its main claim."""

    context: Context
    main_answer: Answer | None
    answers: list[Answer]

    @property
    def id(self) -> str:
        """Return the id of the paper."""
        return self.context.paper_id

    @property
    def number(self) -> str:
        """Return the number of the document, "001"."""
        return self.context.paper.document

    @property
    def name(self) -> str:
        """Return a short name of the paper."""
        return self.context.paper.name or self.context.paper.title

    @property
    def trained_answers(self) -> list[Answer]:
        """Return the answers to claims about trained models."""
        return [answer for answer in self.answers if answer.is_trained]

    @property
    def counts_text(self) -> str:
        """Write "10 / 1 / 2": how many claims about trained models agree, disagree and are undecided."""
        counts = count_answers(self.trained_answers)
        return " / ".join(str(counts[answer]) for answer in DECIDED_ANSWERS)

    @property
    def counts_links(self) -> str:
        """Write the counts as links to the tables of claims: of the main claim's tier, and of others that count."""
        main_tier = self.main_answer.tier if self.main_answer else FULL
        tiers = Counter(answer.tier for answer in self.trained_answers if answer.answer in DECIDED_ANSWERS)
        texts = {main_tier: self.counts_text}
        texts |= {tier: f"{count} at the tier {tier}" for tier, count in tiers.items() if tier != main_tier}
        return ", of which ".join(
            f"[{text}](results/{tier}/tables/{self.id}-claims.md)" for tier, text in texts.items()
        )

    @property
    def remark(self) -> str:
        """Return the remark of the paper's file if its claims still have the answers that it states; else ""."""
        remark = self.context.paper.headline and self.context.paper.headline.remark
        if not remark:
            return ""
        answers = {answer.claim: answer.answer for answer in self.answers}
        answers |= {f"{a.claim}@{name}": one.answer for a in self.answers for name, one in a.alternatives}
        return remark.words if all(answers.get(key) == stated for key, stated in remark.while_.items()) else ""

    @property
    def reservations(self) -> str:
        """Write what limits the main answer, in brackets: a reduced budget, another answer without its family's SD."""
        if not self.main_answer or self.main_answer.answer not in DECIDED_ANSWERS:
            return ""
        decision = self.main_answer.decision
        reservations = list(filter(None, [BUDGETS[decision.budget] if decision else ""]))
        if decision and decision.own_sds and decision.own_sds != decision.answer:
            reservations.append(f"by {name_own_sds_test(decision)}: {decision.own_sds}")
        return f" ({'; '.join(reservations)})" if reservations else ""

    @property
    def row_texts(self) -> list[str]:
        """Return the texts in the row of the main claim."""
        return [*self.main_answer.cells.texts, self.reservations] if self.main_answer else []

    @property
    def symbols(self) -> str:
        """Explain the symbols in the row of the main claim."""
        cells = self.main_answer and self.main_answer.cells
        return explain_symbols(self.context.paper.symbols, f"{cells.claim} {cells.compared}") if cells else ""

    @property
    def unanswered_count(self) -> int:
        """Count the claims about trained models that have no such answer."""
        return sum(answer.answer not in DECIDED_ANSWERS for answer in self.trained_answers)


@dataclass(frozen=True)
class NumberDistance:
    """Compare the numbers that a document prints with ours.

    Attributes:
        document: The document.
        distance: The distances of our numbers, as chosen or under a setting of equal rank.
        setting: The name of that setting; "" as chosen.
        is_declared_afterwards: Whether results of our choice were known when the setting was declared.
    """

    document: Document
    distance: readings.Distance
    setting: str = ""
    is_declared_afterwards: bool = False

    @property
    def label(self) -> str:
        """Name the row: its setting, or its document, with the factor of a unit that is in doubt."""
        if self.setting:
            return f"· {self.setting}{', tried later' if self.is_declared_afterwards else ''}"
        factor = "" if self.distance.factor == 1 else f", ours × {format_significant(self.distance.factor)}"
        return f"{self.document.number} {self.document.name}{factor}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the texts below `DISTANCE_HEADERS`."""
        one = self.distance
        farthest = f"{one.gaps[one.farthest]:.1f} % ({self.document.context.get_title(one.farthest.experiment)})"
        return self.label, str(one.rows), f"{one.median:.1f} %", farthest, f"{one.covered} of {one.predicted}"


@dataclass(frozen=True)
class Summary:
    """Hold the facts of the first screen and of README's notes.

    Attributes:
        documents: The documents, with their answers.
        record_count: The number of run records.
        failed_runs: The experiments with training runs that diverged or became unstable, by document.
        sensitivity: How the answers depend on the statistical test; claims as "001 R1".
        number_distances: How far our numbers are from the printed ones, a row a document, and one under its nearest
            setting of equal rank.
    """

    documents: list[Document]
    record_count: int
    failed_runs: list[tuple[str, Stability]]
    sensitivity: Sensitivity
    number_distances: list[NumberDistance]

    @property
    def document_numbers(self) -> list[str]:
        """List the numbers of the documents, each once."""
        return sorted({document.number for document in self.documents})

    @property
    def diverged_runs(self) -> dict[str, int]:
        """Count the training runs that diverged, by document; documents without any are left out."""
        diverged_runs = Counter[str]()
        for document, counts in self.failed_runs:
            diverged_runs[document] += counts.diverged
        return dict(+diverged_runs)

    @property
    def unstable_count(self) -> int:
        """Count the training runs that finished, but became unstable."""
        return sum(counts.unstable for _, counts in self.failed_runs)

    @property
    def trained_answers(self) -> list[Answer]:
        """List the answers to claims about trained models."""
        return [answer for document in self.documents for answer in document.trained_answers]

    @property
    def trained_counts(self) -> Counter[str]:
        """Count the claims about trained models, by answer."""
        return count_answers(self.trained_answers)

    @property
    def other_counts(self) -> Counter[str]:
        """Count all other claims, about equations, sizes and counts, by answer."""
        answers = (answer for document in self.documents for answer in document.answers)
        return count_answers(answer for answer in answers if not answer.is_trained)

    @property
    def main_counts(self) -> Counter[str]:
        """Count the main claims, by answer."""
        return count_answers(document.main_answer for document in self.documents if document.main_answer)

    @property
    def trained_count(self) -> int:
        """Count the claims about trained models."""
        return self.trained_counts.total()

    @property
    def unanswered_count(self) -> int:
        """Count the claims about trained models that have no answer."""
        return sum(document.unanswered_count for document in self.documents)

    @property
    def other_unanswered_count(self) -> int:
        """Count the claims about no trained model that have no answer."""
        return sum(n for answer, n in self.other_counts.items() if answer not in DECIDED_ANSWERS)

    @property
    def answers_with_alternatives(self) -> list[Answer]:
        """List the answers about trained models with an alternative setting."""
        return [answer for answer in self.trained_answers if answer.answer in JUDGED and answer.alternatives]

    @property
    def alternatives_tried(self) -> int:
        """Count the answers with an alternative setting."""
        return len(self.answers_with_alternatives)

    @property
    def alternatives_changed(self) -> int:
        """Count the answers that an alternative setting changes."""
        return sum(any(one.flips for _, one in answer.alternatives) for answer in self.answers_with_alternatives)

    @property
    def alternatives_undecided(self) -> int:
        """Count the decided answers that an alternative setting leaves undecided, and none reverses."""
        return sum(
            any(is_judged(one) and one.answer != one.before for _, one in answer.alternatives)
            and not any(one.flips for _, one in answer.alternatives)
            for answer in self.answers_with_alternatives
        )

    @property
    def contradicted_claims(self) -> dict[str, list[str]]:
        """List the claims to which a lower tier gives the opposite answer, by document."""
        claims: dict[str, list[str]] = {}
        for document in self.documents:
            for answer in document.trained_answers:
                if answer.is_contradicted:
                    claims.setdefault(document.number, []).append(answer.claim)
        return claims

    @property
    def doubtful_units(self) -> list[str]:
        """List the claims about the unit of a paper's numbers that do not agree."""
        return [
            f"document {document.number} ({answer.claim})"
            for document in self.documents
            for answer in document.answers
            if answer.decision and answer.decision.kind == "unit" and answer.answer != AGREES
        ]

    @property
    def replaced_data(self) -> list[tuple[str, str]]:
        """List the deviations by which data are replaced, each with the number of its document."""
        return [
            (document.number, deviation.title)
            for document in self.documents
            for deviation in document.context.paper.deviations.values()
            if deviation.data
        ]


def summarise(tiers: Tiers) -> Summary:
    """Summarise the results of all tiers."""
    tiers = select_judging_tiers(tiers)
    answers = collect_answers(tiers)
    documents = [_make_document(context, answers) for context in next(iter(tiers.values())).values()]
    all_contexts = [context for papers in tiers.values() for context in papers.values()]
    stability = [
        (context.paper.document, counts) for context in all_contexts for counts in count_unstable(context.runs.values())
    ]
    numbers = {document.id: document.number for document in documents}
    return Summary(
        documents=documents,
        record_count=sum(len(runs.replicas) for context in all_contexts for runs in context.runs.values()),
        failed_runs=[(document, counts) for document, counts in stability if counts.diverged or counts.unstable],
        sensitivity=examine_sensitivity({f"{numbers[a.paper]} {a.claim}": a.decision for a in answers if a.decision}),
        number_distances=[row for document in documents for row in _list_number_distances(document)],
    )


def _make_document(context: Context, answers: Sequence[Answer]) -> Document:
    """Make a document of its answers, with the one to its main claim."""
    own_answers, headline = filter_by_paper(answers, context.paper_id), context.paper.headline
    main = next((a for a in own_answers if headline and a.claim == headline.claim), None)
    return Document(context, main, own_answers)


def _list_number_distances(document: Document) -> list[NumberDistance]:
    """List the distances from a document's numbers as chosen, and under the nearest setting of equal rank.

    Return nothing where the tier `paper` was not run, or has too few numbers to compare.
    """
    paper = document.context.paper
    if document.context.tier != FULL:
        return []
    ranked = [one for one in document.context.readings if one.rows >= readings.MIN_ROWS]
    equal_rank = {
        f"{assumption}={name}": choice for assumption, name, choice in paper.list_choices() if choice.co_primary
    }
    chosen = [NumberDistance(document, one) for one in ranked if one.reading == readings.CHOSEN]
    nearest = [
        NumberDistance(document, one, name_alternative(paper, one.reading), equal_rank[one.reading].declared_afterwards)
        for one in ranked
        if one.reading in equal_rank
    ]
    return chosen + nearest[:1]
