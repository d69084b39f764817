"""How verdicts are decided, in words: the key above the claims, and of every claim its kind, margin and method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.config.claims import Bound, Claim
from reprise.evidence.verdicts import EQUIVALENCE_TAIL, TAIL
from reprise.evidence.verdicts.units import CLEAR
from reprise.evidence.words import margin_words, number, percent
from reprise.report.parts.words import sentence


def key() -> list[tuple[str, str]]:
    """Words and what they mean: a short glossary, then what each answer asks and how means are compared."""
    one, two, level = percent(TAIL), percent(EQUIVALENCE_TAIL), percent(1 - 2 * TAIL)
    return [
        ("Reading", "one way to fill in all that the paper leaves open."),
        ("As chosen", "the reading that was fixed before its results were known. Every other one is an alternative."),
        ("Mixed", "the comparisons of a claim differ in size: one may be smaller, another larger."),
        ("Holm", "a correction for testing several comparisons at once."),
        ("Void", "a model that is compared did not learn its task, by the rule that the claim states."),
        (
            "Replicates, partly, does not replicate, undecided",
            "a document's first word is the answer to its main claim. Replicates: more than half of the trained claims "
            "that were run agree as well. Partly: so they do, but one disagrees. Else only the main claim replicates.",
        ),
        (
            "Agrees",
            f"each comparison of the claim is established by a one-sided test at {one}, so that a two-sided {level} "
            f"interval excludes the opposite (equivalence: two tests at {two} each). All have to hold, so each is "
            "tested at the full level.",
        ),
        ("Disagrees", "the opposite of one comparison is established, all of them tested together after Holm."),
        ("Open", "the runs say neither. How many replicas would find the paper's own effect is in claims.json."),
        (
            "Not run, data not available here, not tested",
            "records are missing; the data cannot be had where these results were made; no record could decide it.",
        ),
        (
            "Consistent, smaller, larger, opposite",
            f"the size of our effect beside the paper's: its number lies in our {level} interval, or beyond it. A "
            "claim that allows a margin says instead whether the difference lies within it.",
        ),
        (
            "Differences",
            "are above 0 on the claim's side; those of perplexities are in per cent of what it calls the higher.",
        ),
        ("*", "the criterion (bound, margin or test) was set when its numbers were known."),
        ("†", "one seed or fold of a model, whose variance is borrowed from its family: models of its kind."),
        ("At a reduced budget", "the models were trained for less than in the paper. They are counted separately."),
        ("Holds under 5 of 6 readings", "the claim agrees under each of those 5."),
        (
            "Points the claim's way under 5 of 6 readings",
            "so many leave each comparison on the claim's side, but not all of them decide it.",
        ),
        (
            "Seeds, folds",
            "perplexities are compared by their logarithms. Seeds are independent replicas, whose variances are "
            "moderated by their family's (Smyth 2004); folds are paired, after Nadeau and Bengio. Intervals are over "
            "seeds or folds, not over the items of the test set.",
        ),
        (
            "Diverged",
            "a replica that diverged has no number. A comparison without it is at best open; a rank test and a share "
            "of replicas count it.",
        ),
        (
            "Unit",
            f"printed numbers fit a unit if they are off from ours by less than 1/{number(CLEAR)} as much, in "
            "logarithms, as in the other.",
        ),
    ]


def decided_by(claim: Claim, found: Mapping[str, Any]) -> str:
    """ "Superiority: at least 0.1 lower asked (ours: a tenth). Paired by fold, …. Criterion: …" of one claim.

    `found`: its entry in claims.json; empty where it was not judged.
    """
    kind, asked = claim.kind or ("identity" if claim.checks else ""), []
    if claim.share:
        what = f"of replicas that reach {number(claim.share.reaches)}"
        asked.append(f"one {what}" if claim.share.any else _bound(claim.share, f"share {what}"))
    if claim.level:
        asked.append(_bound(claim.level, "mean"))
    if claim.margin:
        asked.append(f"{margin_words(kind, claim.margin)} ({claim.margin.origin})")
    criterion = f"criterion: {claim.criterion}" if claim.criterion else ""
    late = f"set when its numbers were known: {claim.afterwards}" if claim.afterwards else ""
    said = (f"{kind}: {', '.join(asked)}" if asked else kind, found.get("method"), criterion, late)
    return " ".join(sentence(text[0].upper() + text[1:]) for text in said if text)


def _bound(bound: Bound, what: str) -> str:
    shown = percent if "share" in what else number
    if (exact := getattr(bound, "equals", None)) is not None:
        return f"{what} exactly {shown(exact)}"
    if None not in (bound.at_least, bound.at_most):
        return f"{what} from {shown(bound.at_least)} to {shown(bound.at_most)}"
    floor = bound.at_least is not None
    return f"{what} {'above' if floor else 'below'} {shown(bound.at_least if floor else bound.at_most)}"
