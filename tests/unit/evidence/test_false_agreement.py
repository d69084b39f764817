"""How often a claim agrees where it is false, and where the paper's numbers are true: drawn with n as in the records.

Replicas of one experiment and the members of its family are drawn anew around given means, times exp of a normal error;
folds share a difficulty. Run with -s to see the shares, also with the SDs that were observed.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from claims_helpers import claim, curves, decide, runs
from config_helpers import experiments, project
from scipy import stats

from reprise.config.claims import Claim
from reprise.evidence.contrasts import list_hypotheses, list_terms
from reprise.evidence.load import load_runs
from reprise.evidence.runs import Runs, Table
from reprise.evidence.verdicts import AGREES, EQUIVALENCE_TAIL, TAIL
from reprise.evidence.verdicts.decide import decide as judge

DRAWS, CENTRE = 500, 100.0
FOLDS = 0.05  # how far one fold is harder than another
MOST = 0.05
"""False agreement is to be no more frequent."""
KINDS = {
    "superiority, seeds": ("rrntn", "R1"),
    "superiority, seeds, means of several": ("rrntn", "R5"),
    "non-inferiority, seeds": ("rrntn", "R3"),
    "trend, seeds": ("rrntn", "R4"),
    "equivalence, seeds": ("rrntn", "R6"),
    "gap, seeds": ("rrntn", "R20"),
    "superiority, folds": ("gso", "G3"),
    "gap, folds": ("gso", "G4"),
    "ordering, folds": ("gso", "G1"),
    "non-inferiority, folds": ("gso", "G8"),
    "equivalence, folds": ("gso", "G3-tanh"),
    "optimum, folds": ("gso", "G10-same"),
    "curvature, seeds": ("llrnn", "L3"),
}
TIERS = {"llrnn": "reduced"}
"""Where the claims of a paper have their answers, if not at `paper`."""


@cache
def recorded(paper: str) -> dict[str, Runs]:
    return load_runs(project(), experiments(TIERS.get(paper, "paper")))[paper]


def spread_of(runs: Runs, quantity) -> float | None:
    """The SD of the logarithm from replica to replica; None where one replica shows none."""
    values = [math.log(x) for x in runs.combine([(1.0, quantity)]).values()]
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def false_means(claim: Claim, names: set[str], table: Table) -> dict[str, float]:
    """Means at the edge of the claim: no difference, or just the margin that it allows or asks."""
    means = dict.fromkeys(names, CENTRE)
    if claim.optimum:
        # Each sweep has its own lowest place, by just the margin.
        return means | {sweep[i]: CENTRE / (1 + claim.margin.value) for i, sweep in enumerate(claim.optimum)}
    for hypothesis in list_hypotheses(claim) if claim.margin else ():
        test = hypothesis.tests[0]
        ((low, weight),) = [(term, w) for w, term in hypothesis.effect.weights if w < 0]
        others = {term: CENTRE for term in test.merge_terms() if term != low}
        rest = sum(test.merge_terms()[t] * (math.log(x) if test.log else x) for t, x in others.items()) + test.offset
        edge = -rest / test.merge_terms()[low]
        means[low.experiment] = math.exp(edge) if test.log else edge
    return means


def drawn(runs: Runs, quantities, mean: float, sd: float, difficulty, rng) -> Runs:
    """The experiment with other numbers of these quantities, all with one error."""
    replicas = []
    for replica in runs.finished:
        factor = math.exp(rng.normal(0.0, sd) + (0.0 if replica.fold is None else difficulty[str(replica.fold)]))
        replicas.append(replace(replica, metrics=replica.metrics | dict.fromkeys(quantities, mean * factor)))
    return replace(runs, replicas=replicas)


def agreement(paper: str, key: str, means: dict[str, float], own: bool, draws: int) -> float:
    """The share of draws in which the claim agrees; `own`: each experiment with its own SD, else all with one."""
    claim, experiments = project().papers[paper].claims[key], recorded(paper)
    quantities, rng = sorted({term.quantity for term in list_terms(claim)}), np.random.default_rng(7)
    first = quantities[0]
    families = {experiments[name].family for name in means}
    members = [runs for runs in experiments.values() if runs.family in families and runs.combine([(1.0, first)])]
    sds = [sd for runs in members if (sd := spread_of(runs, first))]
    pooled = math.sqrt(sum(sd**2 for sd in sds) / len(sds))
    agreed = 0
    for _ in range(draws):
        difficulty = {str(fold): rng.normal(0.0, FOLDS) for fold in range(5)}
        table = {
            runs.name: drawn(
                *(runs, quantities, means.get(runs.name, CENTRE)),
                (spread_of(runs, first) if own else None) or pooled,
                *(difficulty, rng),
            )
            for runs in members
        }
        agreed += judge(claim, Table(table)).answer == AGREES
    return agreed / draws


def names_of(paper: str, key: str) -> set[str]:
    """The experiments whose numbers decide the claim."""
    claim = project().papers[paper].claims[key]
    tested = {term.experiment for s in list_hypotheses(claim) for test in s.tests for _, term in test.weights}
    return tested or {term.experiment for term in list_terms(claim)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_false_claim_agrees_at_most_as_often_as_its_level_says(kind):
    paper, key = KINDS[kind]
    claim, names = project().papers[paper].claims[key], names_of(paper, key)
    false = false_means(claim, names, Table(recorded(paper)))
    share = agreement(paper, key, false, own=False, draws=DRAWS)
    observed = agreement(paper, key, false, own=True, draws=DRAWS // 5)
    quantity = list_terms(claim)[0].quantity
    printed = {name: recorded(paper)[name].get_reported_in_our_unit(quantity) for name in names}
    power = "no number" if None in printed.values() else agreement(paper, key, printed, own=True, draws=DRAWS // 5)
    print(
        f"\n{kind} ({key}): false agreement {share:.1%}, with SDs as observed {observed:.0%}; paper's effect: {power}"
    )
    # An equivalence at its edge has just 5 %, of which 500 draws may have a little more.
    tail = EQUIVALENCE_TAIL if claim.kind == "equivalence" else TAIL
    assert share <= max(MOST, stats.binom.ppf(0.999, DRAWS, tail) / DRAWS)


@pytest.mark.slow
def test_shares_levels_and_ranks_that_are_false_agree_at_most_as_often():
    rng, most = np.random.default_rng(11), MOST * DRAWS
    share = claim("threshold", share={"experiments": ["a"], "reaches": 1.0, "at_least": 0.5})
    share = share.model_copy(update={"metric": "accuracy", "split": "train"})
    level = claim("threshold", level={"experiments": ["a"], "at_most": 100.0})
    ranks = claim("ordering", ranks={"lower": ["b", "c"], "higher": "a"})
    agreed = dict.fromkeys(("share", "level", "ranks"), 0)
    for _ in range(DRAWS):
        agreed["share"] += decide(share, curves("a", rng.binomial(1, 0.5, 20))).answer == AGREES
        a, b = rng.normal(100, 3, (2, 10))
        agreed["level"] += decide(level, runs("a", list(a[:3]))).answer == AGREES
        # Far above C, and of one distribution with B.
        experiments = runs("a", list(a)), runs("b", list(b[:3])), runs("c", [50.0, 51.0, 52.0])
        agreed["ranks"] += decide(ranks, *experiments).answer == AGREES
    print(f"\nfalse agreement in {DRAWS} draws: {agreed}")
    assert all(count <= most for count in agreed.values()), agreed
    assert sum(agreed.values()) > 0
