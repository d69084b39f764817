"""Select the answer of every claim for page, README and forest plot: that of the fullest tier that has one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprise.evidence.decisions import Alternative, Decision, Estimated, Ranks
from reprise.evidence.verdicts import AGREES, DISAGREES, JUDGED, NO_DATA, NOT_JUDGED, NOT_RUN, TRAINED, UNDECIDED
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context
from reprise.report.parts.rows import Cells, has_effect_size, make_claim_cells

Tiers = Mapping[str, Mapping[str, Context]]
"""Contexts by tier and paper."""
DECIDED_ANSWERS = {AGREES: "agree", DISAGREES: "disagree", UNDECIDED: "undecided"}
"""The answers that are counted, with the verb of a count."""


@dataclass(frozen=True)
class Answer:
    """Hold a claim's answer at one tier; `lower_decisions` are its decisions at the tiers below."""

    paper: str
    claim: str
    title: str
    tier: str
    decision: Decision | None
    lower_decisions: tuple[Decision, ...] = ()

    @property
    def link(self) -> str:
        """Return its address on the page."""
        return f"{self.paper}/{self.claim}"

    @property
    def is_full_tier(self) -> bool:
        """Return whether the answer is from the tier `paper`."""
        return self.tier == FULL

    @property
    def answer(self) -> str:
        """Return the answer in one word; "not run" without a decision."""
        return self.decision.answer if self.decision else NOT_RUN

    @property
    def is_trained(self) -> bool:
        """Return whether trained models decide the claim."""
        return self.decision is None or self.decision.evidence == TRAINED

    @property
    def css_class(self) -> str:
        """Return the class of its colour: its answer, or "not-run" for every reason of having none."""
        return self.answer.replace(" ", "-") if self.answer in JUDGED else "not-run"

    @property
    def cells(self) -> Cells:
        """Return the row of the claim."""
        return make_claim_cells(self.claim, self.title, self.decision)

    @property
    def plotted_comparison(self) -> Estimated | None:
        """Return the weakest comparison with an effect in the paper.

        Return None if a margin or a rank test decides the claim.
        """
        decision = self.decision
        if decision is None or decision.answer not in JUDGED or not has_effect_size(decision):
            return None
        return None if any(isinstance(comparison, Ranks) for comparison in decision.comparisons) else decision.rated

    @property
    def is_contradicted(self) -> bool:
        """Return whether a lower tier gives the opposite answer."""
        return {AGREES, DISAGREES} <= {self.answer, *(decision.answer for decision in self.lower_decisions)}

    @property
    def alternatives(self) -> list[tuple[str, Alternative]]:
        """List every alternative setting judged at this tier, or at a lower tier with the same answer."""
        decisions = [
            decision
            for decision in (self.decision, *self.lower_decisions)
            if decision and decision.answer == self.answer
        ]
        pairs = [
            (name, alternative)
            for decision in reversed(decisions)
            for name, alternative in decision.alternatives.items()
        ]
        return list(
            {
                name: (name, alternative) for name, alternative in pairs if alternative.answer in JUDGED - {NOT_JUDGED}
            }.values()
        )


def select_judging_tiers(tiers: Tiers) -> Tiers:
    """Select the tiers that answer claims; the quick tier only if there is no other."""
    return {tier: contexts for tier, contexts in tiers.items() if tier != "quick"} or tiers


def collect_answers(tiers: Tiers) -> list[Answer]:
    """Collect one answer for every claim, in the order of the papers' files; `tiers` begin with the fullest."""
    answers = []
    for paper, context in next(iter(tiers.values())).items():
        for key, claim in context.paper.claims.items():
            decisions = {tier: contexts[paper].claims.get(key) for tier, contexts in tiers.items()}
            answers.append(select_answer(paper, key, claim.label, decisions))
    return answers


def select_answer(paper: str, key: str, title: str, decisions: Mapping[str, Decision | None]) -> Answer:
    """Select the tier that answers a claim: the fullest that judged it, else the fullest that has its data."""
    order = list(decisions)
    answers = [decision.answer if decision else None for decision in decisions.values()]
    judged_tiers = [tier for tier, answer in zip(order, answers, strict=True) if answer in JUDGED]
    tiers_with_data = [tier for tier, answer in zip(order, answers, strict=True) if answer != NO_DATA]
    tier = [*judged_tiers, *tiers_with_data, *order][0]
    lower_tiers = order[order.index(tier) + 1 :]
    lower_decisions = tuple(filter(None, (decisions[lower_tier] for lower_tier in lower_tiers)))
    return Answer(paper, key, title, tier, decisions[tier], lower_decisions)


def count_answers(answers: Iterable[Answer]) -> Counter[str]:
    """Count the answers by name."""
    return Counter(answer.answer for answer in answers)


def filter_by_paper(answers: Sequence[Answer], paper: str) -> list[Answer]:
    """Return the answers of one paper."""
    return [answer for answer in answers if answer.paper == paper]
