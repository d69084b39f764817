"""What became of every claim, in one shape for page, README and forest plot: read from claims.json of both tiers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprise.evidence.decisions import Alternative, Decision, Estimated
from reprise.evidence.verdicts import AGREES, DISAGREES, JUDGED, NO_DATA, NOT_JUDGED, NOT_RUN, TRAINED, UNDECIDED
from reprise.evidence.words.forms import number, unit_words
from reprise.evidence.words.sentences import MARGIN_KINDS, effect, established, is_ranked, size_words
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import interval

Tiers = Mapping[str, Mapping[str, Context]]
"""Contexts by tier and paper."""


@dataclass(frozen=True)
class Answer:
    """A claim's answer at the best tier that has one: the full protocol, else the reduced one.

    `ratio` is our effect over the paper's, with its 95 % interval, of a claim that the difference itself decides: not
    one with a margin, nor a rank test. Of several comparisons it is the least sure, as `ours` and `theirs`, the effects
    themselves in words. `n` says on how many seeds or folds it rests; `kind` is how it is coloured: its direction, or
    "not-run" whatever the reason. `afterwards`: its rule was set when its numbers were known; `contradicted`: the
    reduced budget answers the opposite; `decided_below`: it agrees or disagrees where the full protocol is undecided.
    `tried`: whether an alternative to a choice answers it too; `turned`: those that change the answer; `co_primary`:
    the directions under readings of equal rank.
    """

    paper: str
    claim: str
    link: str
    text: str
    full: bool
    direction: str
    kind: str
    size: str
    evidence: str
    ratio: float | None
    low: float | None
    high: float | None
    ours: str
    theirs: str
    n: str
    tried: bool
    turned: tuple[str, ...]
    co_primary: Mapping[str, str]
    afterwards: bool
    contradicted: bool
    decided_below: bool

    @property
    def name(self) -> str:
        """ "R1"; "R3*" of a rule that was set afterwards."""
        return f"{self.claim}{'*' if self.afterwards else ''}"


def judging(tiers: Tiers) -> Tiers:
    """Those that answer claims: the quick one only where there is no other."""
    return {tier: contexts for tier, contexts in tiers.items() if tier != "quick"} or tiers


def answers(tiers: Tiers) -> list[Answer]:
    """Every claim once, in the order of the papers' files; `tiers` from the fullest on."""
    found = []
    for name, context in next(iter(tiers.values())).items():
        for key in context.paper.claims:
            there = [(contexts[name], contexts[name].claims.get(key)) for contexts in tiers.values()]
            said = [decision.answer if decision else None for _, decision in there]
            ran = [i for i, verdict in enumerate(said) if verdict in JUDGED]
            could = [i for i, verdict in enumerate(said) if verdict != NO_DATA]
            at = [*ran, *could, 0][0]
            found.append(
                _answer(there[at][0], key, set(said), [decision for _, decision in there[at + 1 :] if decision])
            )
    return found


def _answer(context: Context, key: str, said: set[str | None], below: Sequence[Decision]) -> Answer:
    """The answer that the context has; `said` are the directions at all tiers, `below` the entries of lesser ones."""
    claim, found = context.paper.claims[key], context.claims.get(key)
    direction, size = (found.answer, size_words(found)) if found else (NOT_RUN, "")
    plainly = found and found.kind not in MARGIN_KINDS and not is_ranked(found)
    part = found.rated if plainly else None
    unit = unit_words(part.unit) if part and part.scale != "log" else ""
    ours, theirs = (effect(x, None, part) for x in (part.estimate, part.paper_here)) if part else ("", "")
    converted = part and unit and part.paper_unit not in (None, part.unit)
    printed = f", from {number(part.paper)}{unit_words(part.paper_unit)}" if converted else ""
    several = [one for one in found.comparisons if isinstance(one, Estimated) and one.ratio] if part else []
    hold = f", of which {established(several)} hold" if direction != AGREES else ""
    least = f"the least sure of {len(several)} comparisons{hold}" if len(several) > 1 else ""
    # Alternatives may have been run at a lesser tier alone: what they turn there counts where that tier says the same.
    under: dict[str, tuple[Alternative, str]] = {}
    for decision in filter(None, (found, *(one for one in below if one.answer == direction))):
        budget = "" if decision is found else " at a reduced budget"
        for name, one in decision.alternatives.items():
            if one.answer in JUDGED - {NOT_JUDGED}:
                under.setdefault(name, (one, budget))
    return Answer(
        paper=context.paper_id,
        claim=key,
        link=f"{context.paper_id}/{key}",
        text=claim.label,
        full=context.tier == FULL,
        direction=direction,
        kind=direction if direction in JUDGED else "not-run",
        size=size,
        evidence=found.evidence if found else TRAINED,
        ratio=part and part.ratio.value,
        low=part and part.ratio.low,
        high=part and part.ratio.high,
        ours=ours,
        theirs=f"{theirs}{unit}{printed}",
        n="; ".join(filter(None, (least, found and counted(found)))),
        tried=bool(under),
        turned=tuple(f"{one.answer} under {name}{budget}" for name, (one, budget) in under.items() if one.flips),
        co_primary={name: one.answer for name, one in found.co_primary.items()} if found else {},
        afterwards=bool(found and found.afterwards),
        contradicted={AGREES, DISAGREES} <= said,
        decided_below=direction == UNDECIDED and bool({AGREES, DISAGREES} & said),
    )


def counted(found: Decision) -> str:
    """ "3 seeds", "2–10 folds": on how many the experiments of a claim rest; "" of what is counted or worked out."""
    counts = found.n.values()
    if found.evidence != TRAINED or not any(counts):
        return ""
    noun = "fold" if found.counts == "folds" else "seed"
    return f"{interval(min(counts), max(counts))} {noun}{'' if max(counts) == 1 else 's'}"


def tally(found: Iterable[Answer]) -> Counter[str]:
    """How many answers have each direction."""
    return Counter(answer.direction for answer in found)


def of_paper(found: Sequence[Answer], paper: str) -> list[Answer]:
    return [answer for answer in found if answer.paper == paper]
