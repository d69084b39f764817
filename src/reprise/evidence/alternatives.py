"""Assumptions with consequences: what becomes of a claim under another choice of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reprise.config.claims import Claim, Term
from reprise.config.schema import Paper
from reprise.evidence.decide import decide, experiments_of, parts_of
from reprise.evidence.runs import Replica, Runs
from reprise.evidence.verdicts import NOT_RUN, Covered, Decision, everything


def alternatives(claim: Claim, paper: Paper, runs: Mapping[str, Runs], chosen: Decision) -> dict[str, Any]:
    """The verdict under every alternative, on the comparisons whose experiments were all run under it.

    Experiments that do not rest on the assumption stay as they are. Where that leaves out a part of the claim, the
    verdict under the alternative is set against that on the same part under the choice, and the sentence says which
    experiments it leaves out. An alternative that measures something else takes the same records, and all of the claim.
    """
    found = {}
    for name, assumption in paper.assumptions.items():
        for alternative, choice in assumption.alternatives.items():
            suffix = f"{name}={alternative}"
            if choice.metrics:
                if _metrics_of(claim) & choice.metrics.keys():
                    other = {key: _measured_as(r, choice.metrics) for key, r in runs.items()}
                    under = decide(claim, other, other)
                    found[suffix] = _entry(claim, under, chosen, everything, experiments_of(claim))
                continue
            variants = {e: runs[f"{e}@{suffix}"] for e in experiments_of(claim) if f"{e}@{suffix}" in runs}
            resting = {e for e in experiments_of(claim) if _rests_on(runs[e], name)}
            covered = _Covered(frozenset(variants), frozenset(resting))
            looked_at = [names for names in parts_of(claim) if covered(names)]
            if not looked_at:
                continue
            before = chosen if len(looked_at) == len(parts_of(claim)) else decide(claim, runs, runs, covered)
            under = decide(claim, {**runs, **variants}, runs, covered)
            run = [e for e in variants if any(e in names for names in looked_at)]
            found[suffix] = _entry(claim, under, before, covered, run)
            left = [runs[e].title for e in experiments_of(claim) if e in resting - variants.keys()]
            if left:
                found[suffix]["sentence"] += f" Not trained under it, so not looked at: {'; '.join(left)}."
    return found


def _entry(claim: Claim, under: Decision, before: Decision, covered: Covered, run: list[str]) -> dict[str, Any]:
    parts = parts_of(claim)
    return {
        "verdict": under.verdict,
        "sentence": under.sentence,
        "flips": under.verdict != before.verdict and NOT_RUN not in {under.verdict, before.verdict},
        "before": before.verdict,
        "parts": [sum(map(covered, parts)), len(parts)],
        "experiments": run,
    }


@dataclass(frozen=True)
class _Covered:
    """Whether a part of a claim can be judged under an alternative: all of it that rests on the choice was run."""

    run: frozenset[str]
    resting: frozenset[str]

    def __call__(self, names: set[str]) -> bool:
        return bool(names & self.run) and names & self.resting <= self.run


def _rests_on(runs: Runs, assumption: str) -> bool:
    return runs.resolved is not None and f"assumption {assumption}" in runs.resolved.origins.values()


def _metrics_of(claim: Claim) -> set[str]:
    own = {side.metric for _, side in claim.sides() if isinstance(side, Term) and side.metric}
    return own | ({claim.metric} if claim.metric else set())


def _measured_as(runs: Runs, metrics: Mapping[str, str]) -> Runs:
    """The same records with the number of another metric in the place of each; without it where they lack that."""
    return replace(runs, replicas=[_replaced(replica, metrics) for replica in runs.replicas])


def _replaced(replica: Replica, metrics: Mapping[str, str]) -> Replica:
    numbers = {quantity: value for quantity, value in replica.metrics.items() if quantity[0] not in metrics}
    for old, new in metrics.items():
        splits = {split for metric, split in replica.metrics if metric == new}
        numbers |= {(old, split): replica.metrics[new, split] for split in splits}
    return replace(replica, metrics=numbers)
