"""The decision on one claim: which statistic it takes, and whether there is anything to take it of."""

from reprise.config.claims import Claim
from reprise.evidence import verdicts
from reprise.evidence.contrasts import list_hypotheses, list_terms
from reprise.evidence.decisions import Listed, Reason, Verdict
from reprise.evidence.runs import Runs, Table, trains
from reprise.evidence.verdicts import kinds, means


def list_experiments(claim: Claim) -> list[str]:
    """Return the experiments and checks that decide a claim, each once, in its order."""
    names = [term.experiment for _, term in claim.list_sides()]
    return list(dict.fromkeys([*names, *claim.checks, *claim.corrections]))


def list_parts(claim: Claim) -> list[set[str]]:
    """Return the experiments that each part of a claim is about."""
    if claim.checks:
        return [{*claim.checks, *claim.corrections}]
    if claim.share:
        return [{name} for name in claim.share.experiments]
    if claim.unit:
        return [kinds.list_unit_experiments(claim.unit, name) for name in claim.unit.experiments]
    if claim.optimum:
        return [{name for sweep in claim.optimum for name in sweep}]
    if claim.ranks:
        return [{claim.ranks.higher, name} for name in claim.ranks.lower]
    return [{term.experiment for test in s.tests for _, term in test.weights} for s in list_hypotheses(claim)]


def decide(claim: Claim, table: Table) -> Verdict:
    """Decide a claim, or say why that cannot be."""
    if not (parts := list_parts(claim)):
        reason = claim.reason or "No statistic is entered for it yet."
        return Verdict(answer=verdicts.NOT_TESTED, notes=(Reason(kind="reason", why=reason),))
    looked_at = set().union(*filter(table.covered, parts))
    needed = [name for name in list_experiments(claim) if name in looked_at]
    absent = [name for name in needed if not table.runs[name].replicas]
    missing = _list_absent([table.runs[name] for name in absent])
    if absent and (not claim.unit or _must_wait(claim, table, needed, absent)):
        away = list(dict.fromkeys(filter(None, (table.runs[name].unavailable for name in absent))))
        if away:
            return Verdict(answer=verdicts.NO_DATA, notes=(Reason(kind="unavailable", why=" ".join(away)),))
        return Verdict(answer=verdicts.NOT_RUN, notes=missing)
    if claim.checks:
        return kinds.decide_checks(claim, table)
    if claim.share:
        return kinds.decide_shares(claim, table)
    if claim.ranks:
        return kinds.decide_ranks(claim, table)
    if claim.unit:
        verdict = kinds.decide_unit(claim, table)
        return verdict.model_copy(update={"notes": (*verdict.notes, *missing)})
    return kinds.decide_optimum(claim, table) if claim.optimum else means.decide_means(claim, table)


def classify_evidence(claim: Claim, table: Table) -> str:
    """Return what kind of evidence decides a claim: trained models, counts, or equations that were worked out."""
    if claim.evidence or claim.checks:
        return claim.evidence or verdicts.EQUATION
    quantities = [(table.runs[term.experiment], term.quantity) for term in list_terms(claim)]
    chance = any(runs.learns and not runs.is_exact([quantity]) for runs, quantity in quantities)
    return verdicts.TRAINED if chance else verdicts.COUNTED


def _must_wait(claim: Claim, table: Table, needed: list[str], absent: list[str]) -> bool:
    """Tell whether a question of unit has to wait.

    All numbers of a table have one unit, so the models that were run can decide it. But the reference has to be there,
    and what an alternative changes.
    """
    models = {name for name in needed if name in claim.unit.experiments}
    return models <= set(absent) or any(
        name == claim.unit.reference or table.runs[name].name != name for name in absent
    )


def _list_absent(absent: list[Runs]) -> tuple[Listed, ...]:
    titles: dict[str, list[str]] = {"not-at-tier": [], "not-trained": [], "not-evaluated": [], "not-run": []}
    for runs in absent:
        to_train = "not-evaluated" if runs.evaluated else "not-trained"
        waits = runs.resolved and (to_train if trains(runs.resolved) else "not-run")
        titles[waits or "not-at-tier"].append(runs.title)
    return tuple(Listed(kind=kind, titles=tuple(some)) for kind, some in titles.items() if some)
