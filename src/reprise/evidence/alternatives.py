"""Assumptions with consequences: what becomes of a claim under another choice of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprise.config.claims import Claim
from reprise.config.schema import Paper
from reprise.evidence.decide import decide, experiments_of, parts_of
from reprise.evidence.runs import Runs
from reprise.evidence.verdicts import NOT_RUN, Decision


def alternatives(claim: Claim, paper: Paper, runs: Mapping[str, Runs], chosen: Decision) -> dict[str, Any]:
    """The verdict under every alternative, on the comparisons whose experiments were all run under it.

    Experiments that do not rest on the assumption stay as they are. Where that leaves out a part of the claim, the
    verdict under the alternative is set against that on the same part under the choice.
    """
    found = {}
    for name, assumption in paper.assumptions.items():
        for alternative in assumption.alternatives:
            suffix = f"{name}={alternative}"
            variants = {e: runs[f"{e}@{suffix}"] for e in experiments_of(claim) if f"{e}@{suffix}" in runs}
            resting = {e for e in experiments_of(claim) if _rests_on(runs[e], name)}
            covered = _Covered(frozenset(variants), frozenset(resting))
            parts = parts_of(claim)
            looked_at = [names for names in parts if covered(names)]
            if not looked_at:
                continue
            whole = len(looked_at) == len(parts)
            before = chosen if whole else decide(claim, runs, runs, covered)
            decision = decide(claim, {**runs, **variants}, runs, covered)
            found[suffix] = {
                "verdict": decision.verdict,
                "sentence": decision.sentence,
                "flips": decision.verdict != before.verdict and NOT_RUN not in {decision.verdict, before.verdict},
                "before": before.verdict,
                "parts": [len(looked_at), len(parts)],
                "experiments": [e for e in variants if any(e in names for names in looked_at)],
            }
    return found


@dataclass(frozen=True)
class _Covered:
    """Whether a part of a claim can be judged under an alternative: all of it that rests on the choice was run."""

    run: frozenset[str]
    resting: frozenset[str]

    def __call__(self, names: set[str]) -> bool:
        return bool(names & self.run) and names & self.resting <= self.run


def _rests_on(runs: Runs, assumption: str) -> bool:
    return runs.resolved is not None and f"assumption {assumption}" in runs.resolved.origins.values()
