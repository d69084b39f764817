"""What became of every claim: its decision at the fullest tier that has one, for page, README and forest plot."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprise.evidence.decisions import Alternative, Decision, Estimated, Ranks
from reprise.evidence.verdicts import AGREES, DISAGREES, JUDGED, NO_DATA, NOT_JUDGED, NOT_RUN, TRAINED, UNDECIDED
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context
from reprise.report.parts.rows import Cells, claim_cells, is_sized

Tiers = Mapping[str, Mapping[str, Context]]
"""Contexts by tier and paper."""
DECIDED = {AGREES: "agree", DISAGREES: "disagree", UNDECIDED: "undecided"}
"""The answers that are counted, and how they are called in a count."""


@dataclass(frozen=True)
class Answer:
    """A claim's answer at one tier; `lesser` are its decisions at the tiers below."""

    paper: str
    claim: str
    title: str
    tier: str
    decision: Decision | None
    lesser: tuple[Decision, ...] = ()

    @property
    def link(self) -> str:
        """Its place on the page."""
        return f"{self.paper}/{self.claim}"

    @property
    def full(self) -> bool:
        """Whether the answer is of the paper's own protocol."""
        return self.tier == FULL

    @property
    def answer(self) -> str:
        """The answer in one word, "not run" without a decision."""
        return self.decision.answer if self.decision else NOT_RUN

    @property
    def trained(self) -> bool:
        """Whether trained models decide it."""
        return self.decision is None or self.decision.evidence == TRAINED

    @property
    def kind(self) -> str:
        """The class of its colour: its answer, or "not-run" whatever the reason."""
        return self.answer.replace(" ", "-") if self.answer in JUDGED else "not-run"

    @property
    def cells(self) -> Cells:
        """The row of the claim."""
        return claim_cells(self.claim, self.title, self.decision)

    @property
    def plotted(self) -> Estimated | None:
        """The weakest comparison with an effect in the paper; None where a margin or a rank test decides the claim."""
        decision = self.decision
        if decision is None or decision.answer not in JUDGED or not is_sized(decision):
            return None
        return None if any(isinstance(one, Ranks) for one in decision.comparisons) else decision.rated

    @property
    def contradicted(self) -> bool:
        """Whether a tier below answers the opposite."""
        return {AGREES, DISAGREES} <= {self.answer, *(one.answer for one in self.lesser)}

    @property
    def alternatives(self) -> list[tuple[str, Alternative]]:
        """Every alternative setting that was judged, here or at a tier below that gives the same answer."""
        decisions = [d for d in (self.decision, *self.lesser) if d and d.answer == self.answer]
        pairs = [(name, one) for d in reversed(decisions) for name, one in d.alternatives.items()]
        return list({name: (name, one) for name, one in pairs if one.answer in JUDGED - {NOT_JUDGED}}.values())


def judging(tiers: Tiers) -> Tiers:
    """Choose the tiers that answer claims: the quick one only where there is no other."""
    return {tier: contexts for tier, contexts in tiers.items() if tier != "quick"} or tiers


def answers(tiers: Tiers) -> list[Answer]:
    """Answer every claim once, in the order of the papers' files; `tiers` from the fullest on."""
    made = []
    for paper, context in next(iter(tiers.values())).items():
        for key, claim in context.paper.claims.items():
            decisions = {tier: contexts[paper].claims.get(key) for tier, contexts in tiers.items()}
            made.append(answer_of(paper, key, claim.label, decisions))
    return made


def answer_of(paper: str, key: str, title: str, decisions: Mapping[str, Decision | None]) -> Answer:
    """Choose the tier that answers a claim: the fullest that judged it, else the fullest that has its data."""
    order = list(decisions)
    stated = [one.answer if one else None for one in decisions.values()]
    judged = [tier for tier, answer in zip(order, stated, strict=True) if answer in JUDGED]
    possible = [tier for tier, answer in zip(order, stated, strict=True) if answer != NO_DATA]
    tier = [*judged, *possible, *order][0]
    lesser = tuple(filter(None, (decisions[other] for other in order[order.index(tier) + 1 :])))
    return Answer(paper, key, title, tier, decisions[tier], lesser)


def tally(every: Iterable[Answer]) -> Counter[str]:
    """Count the answers."""
    return Counter(answer.answer for answer in every)


def of_paper(every: Sequence[Answer], paper: str) -> list[Answer]:
    """Choose the answers of one paper."""
    return [answer for answer in every if answer.paper == paper]
