"""How verdicts are decided, in words: the key above the claims, and of every claim its kind, margin and method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.config.claims import Bound, Claim
from reprise.evidence.seed_spread import DOUBT
from reprise.evidence.unit_audit import CLEAR
from reprise.evidence.verdicts import (
    CONTRADICTED,
    DIRECTION,
    EQUIVALENCE_TAIL,
    INCONCLUSIVE,
    NEGLIGIBLE,
    NOT,
    NOT_RUN,
    NOT_TESTED,
    REPRODUCED,
    TAIL,
)
from reprise.evidence.wording import margin_words, number, percent
from reprise.report.parts.words import sentence


def key() -> list[tuple[str, str]]:
    """What each verdict means, what each kind of claim asks, and how means are compared: words and explanations."""
    one, two, level = percent(TAIL), percent(EQUIVALENCE_TAIL), percent(1 - 2 * TAIL)
    return [
        (
            REPRODUCED,
            f"every comparison of the claim is established by a one-sided test at {one}, so that a two-sided {level} "
            f"interval excludes the opposite (equivalence: two tests at {two} each). Several are tested together after "
            "Holm.",
        ),
        (
            DIRECTION,
            "not that sure, but every comparison lies on the claim's side by more than a standard error (by anything, "
            "where no deviation is known); or a difference is established, but not that it is as large as asked.",
        ),
        (
            NOT,
            "the opposite of a comparison is established in the same way, or what can be left of one that is not "
            f"established is, at {level}, less than {percent(NEGLIGIBLE)} of the paper's.",
        ),
        (INCONCLUSIVE, "anything else: the runs say neither. The sentence says how many replicas might."),
        (CONTRADICTED, "the paper, or its author's log, says otherwise itself; what our records alone say is added."),
        (f"{NOT_RUN}, {NOT_TESTED}", "records are missing; or no record could decide it, and why stands beside it."),
        (
            "Superiority, ordering",
            "one mean is below another, or several ascend; which is lower if the claim is true is part of it. With a "
            "margin it is lower by that much at least; of neighbours in an order it may then be higher by less.",
        ),
        (
            "Non-inferiority, equivalence",
            "a mean is at most so much higher than another, or differs by less than so much either way. Sweeps have "
            "one optimum where all of them are that good at the same place, compared with each of the others.",
        ),
        (
            "Threshold",
            "a mean, or the share of replicas that get somewhere, lies above or below a bound; shares by the "
            "binomial test, with the interval of Clopper and Pearson.",
        ),
        (
            "Identity, unit",
            "computed errors are within a tolerance; or printed numbers fit one unit: they are off from ours by less "
            f"than 1/{number(CLEAR)} as much, in logarithms, as in the other.",
        ),
        (
            "Seeds, folds",
            "seeds are independent replicas, their degrees of freedom after Welch and Satterthwaite; one or two "
            "borrow the deviation of their family (same model, dataset and task), that of a perplexity as a share of "
            f"it; where Bartlett's test finds that its members' own differ (p below {DOUBT:g}), the sentence says so. "
            "Folds are paired, their variance after Nadeau and Bengio. ± in tables is from the same.",
        ),
        (
            "Diverged",
            "a replica that diverged, or finished without the metric, has no number. A comparison without it is at "
            "best direction only (an equivalence or a non-inferiority inconclusive); in a share it counts by what it "
            "reached before.",
        ),
    ]


def decided_by(claim: Claim, found: Mapping[str, Any]) -> str:
    """ "Superiority: at least 0.1 lower asked (ours: a tenth). Paired by fold, …. Criterion: …" of one claim.

    `found`: its entry in claims.json; empty where it was not judged.
    """
    kind = claim.kind or ("identity" if claim.checks else "")
    asked = [_bound(claim.share, "share of replicas that reach " + number(claim.share.reaches))] if claim.share else []
    asked += [_bound(claim.level, "mean")] if claim.level else []
    if claim.margin:
        asked.append(f"{margin_words(kind, claim.margin)} ({claim.margin.origin})")
    head = f"{kind}: {', '.join(asked)}" if asked else kind
    sentences = [head, found.get("method") or ""]
    sentences += [f"criterion: {claim.criterion}"] if claim.criterion else []
    return " ".join(sentence(text[0].upper() + text[1:]) for text in sentences if text)


def _bound(bound: Bound, what: str) -> str:
    shown = percent if "share" in what else number
    if (exact := getattr(bound, "equals", None)) is not None:
        return f"{what} exactly {shown(exact)}"
    if None not in (bound.at_least, bound.at_most):
        return f"{what} from {shown(bound.at_least)} to {shown(bound.at_most)}"
    floor = bound.at_least is not None
    return f"{what} {'above' if floor else 'below'} {shown(bound.at_least if floor else bound.at_most)}"
