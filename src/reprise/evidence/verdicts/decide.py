"""The decision on one claim: which statistic it takes, and whether there is anything to take it of."""

from __future__ import annotations

from dataclasses import replace

from reprise.config.claims import Claim, UnitQuestion
from reprise.evidence import verdicts
from reprise.evidence.contrasts import statements, terms_of
from reprise.evidence.runs import Runs, trains
from reprise.evidence.verdicts import Covered, Decision, Table, kinds, means, units


def experiments_of(claim: Claim) -> list[str]:
    """The experiments and checks that decide a claim, each once, in its order."""
    names = [term.experiment for _, term in claim.sides()]
    return list(dict.fromkeys([*names, *claim.checks, *claim.corrections]))


def parts_of(claim: Claim) -> list[set[str]]:
    """The experiments that each part of a claim is about."""
    if claim.checks:
        return [{*claim.checks, *claim.corrections}]
    if claim.share:
        return [{name} for name in claim.share.experiments]
    if claim.unit:
        return [units.part(claim.unit, name) for name in claim.unit.experiments]
    if claim.optimum:
        return [{name for sweep in claim.optimum for name in sweep}]
    if claim.ranks:
        return [{claim.ranks.higher, name} for name in claim.ranks.lower]
    return [{term.experiment for test in s.tests for _, term in test.weights} for s in statements(claim)]


def decide(
    claim: Claim, table: Table, covered: Covered = verdicts.everything, changed: frozenset[str] = frozenset()
) -> Decision:
    """The decision on a claim, or why there is none.

    `covered` says which parts of the claim are looked at, `changed` which experiments are under an alternative.
    """
    if claim.reason or not parts_of(claim):
        return Decision(verdicts.NOT_TESTED, notes=(("reason", {"why": claim.reason}),))
    parts = [names for names in parts_of(claim) if covered(names)]
    needed = [name for name in experiments_of(claim) if any(name in names for names in parts)]
    absent = [name for name in needed if not table.runs[name].replicas]
    missing = _absence([table.runs[name] for name in absent])
    if absent and (not claim.unit or _undecidable(claim.unit, needed, absent, changed)):
        away = list(dict.fromkeys(filter(None, (table.runs[name].unavailable for name in absent))))
        if away:
            return Decision(verdicts.NOT_AVAILABLE, notes=(("unavailable", {"why": away}),))
        return Decision(verdicts.NOT_RUN, notes=missing)
    if claim.checks:
        return kinds.of_checks(claim, table)
    if claim.share:
        return kinds.of_shares(claim, table, covered)
    if claim.ranks:
        return kinds.of_ranks(claim, table, covered)
    if claim.unit:
        found = units.decide(claim, table, covered)
        return replace(found, notes=(*found.notes, *missing))
    if claim.optimum:
        return kinds.of_optimum(claim, table)
    return means.decide(claim, table, covered)


def evidence_of(claim: Claim, table: Table) -> str:
    """What kind of evidence decides a claim: models that were trained, counts, or equations that were worked out."""
    if claim.evidence or claim.checks:
        return claim.evidence or verdicts.EQUATION
    terms = terms_of(claim)
    chance = any(table.runs[t.experiment].learns and not table.runs[t.experiment].counted([t.quantity]) for t in terms)
    return verdicts.TRAINED if chance else verdicts.COUNTED


def _undecidable(asked: UnitQuestion, needed: list[str], absent: list[str], changed: frozenset[str]) -> bool:
    """Whether a question of unit has to wait. A unit is one for all numbers of a table, so that the models that were
    run say which; but the reference has to be there, and what an alternative changes.
    """
    models = [name for name in needed if name in asked.experiments]
    return set(models) <= set(absent) or any(name == asked.reference or name in changed for name in absent)


def _absence(absent: list[Runs]) -> tuple[tuple[str, dict[str, list[str]]], ...]:
    said: dict[str, list[str]] = {"not-at-tier": [], "not-trained": [], "not-run": []}
    for runs in absent:
        waits = runs.resolved and ("not-trained" if trains(runs.resolved) else "not-run")
        said[waits or "not-at-tier"].append(runs.title)
    return tuple((key, {"which": titles}) for key, titles in said.items() if titles)
