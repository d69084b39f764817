"""The decision on one claim: which statistic it takes, and whether there is anything to take it of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reprise.config.claims import Claim, Term, UnitQuestion
from reprise.evidence import comparisons, identities, optima, shares, unit_audit
from reprise.evidence.contrasts import statements
from reprise.evidence.runs import Runs, trains
from reprise.evidence.verdicts import NOT_RUN, NOT_TESTED, Covered, Decision, everything


def experiments_of(claim: Claim) -> list[str]:
    """The experiments and checks that decide a claim, each once, in its order."""
    names = [side.experiment if isinstance(side, Term) else side for _, side in claim.sides()]
    return list(dict.fromkeys([*names, *claim.checks, *claim.corrections]))


def parts_of(claim: Claim) -> list[set[str]]:
    """The experiments that each part of a claim is about."""
    if claim.checks:
        return [{*claim.checks, *claim.corrections}]
    if claim.share:
        return [{name} for name in claim.share.experiments]
    if claim.unit:
        return [unit_audit.part(claim.unit, name) for name in claim.unit.experiments]
    if claim.optimum:
        return [{name for sweep in claim.optimum for name in sweep}]
    return [{term.experiment for _, term in s.plain.weights} for s in statements(claim)]


def decide(
    claim: Claim, runs: Mapping[str, Runs], everyone: Mapping[str, Runs], covered: Covered = everything
) -> Decision | None:
    """The decision on a claim; `runs` are `everyone`, or the same under an alternative.

    `covered` says which parts of the claim are looked at; None where it is none.
    """
    parts = [names for names in parts_of(claim) if covered(names)]
    if claim.reason or not parts_of(claim):
        return Decision(NOT_TESTED, claim.reason or "No statistic is entered for it yet.")
    needed = [name for name in experiments_of(claim) if any(name in names for names in parts)]
    absent = [name for name in needed if not runs[name].replicas]
    missing = _absence([runs[name] for name in absent])
    if absent and (not claim.unit or _undecidable(claim.unit, needed, absent, runs, everyone)):
        return Decision(NOT_RUN, missing)
    if claim.checks:
        return identities.decide(claim, runs)
    if claim.share:
        return shares.decide(claim, runs, covered)
    if claim.unit:
        found = unit_audit.decide(claim, runs, covered)
        return replace(found, sentence=f"{found.sentence} {missing}".strip())
    if claim.optimum:
        return optima.decide(claim, runs, everyone)
    return comparisons.decide(claim, runs, everyone, covered)


def _undecidable(
    asked: UnitQuestion, needed: list[str], absent: list[str], runs: Mapping[str, Runs], everyone: Mapping[str, Runs]
) -> bool:
    """Whether a question of unit has to wait. A unit is one for all numbers of a table, so that the models that were
    run say which; but the reference has to be there, and what an alternative changes.
    """
    models = [name for name in needed if name in asked.experiments]
    return set(models) <= set(absent) or any(
        name == asked.reference or runs[name] is not everyone[name] for name in absent
    )


def _absence(absent: list[Runs]) -> str:
    said: dict[str, list[str]] = {"Not run at this tier": [], "Not trained yet": [], "Not run yet": []}
    for runs in absent:
        waits = runs.resolved and ("Not trained yet" if trains(runs.resolved) else "Not run yet")
        said[waits or "Not run at this tier"].append(runs.title)
    return " ".join(f"{words}: {'; '.join(titles)}." for words, titles in said.items() if titles)
