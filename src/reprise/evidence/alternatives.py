"""Assumptions with consequences: what becomes of a claim under another choice of one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from reprise.config.claims import Claim
from reprise.config.schema import Paper
from reprise.evidence.contrasts import terms_of
from reprise.evidence.decide import decide, experiments_of, parts_of
from reprise.evidence.runs import Replica, Runs
from reprise.evidence.seed_spread import ENOUGH
from reprise.evidence.verdicts import NOT_RUN, Covered, Decision, everything
from reprise.evidence.wording import metric_name


def alternatives(claim: Claim, paper: Paper, runs: Mapping[str, Runs], chosen: Decision) -> dict[str, Any]:
    """The verdict under every alternative, on the comparisons whose experiments were all run under it.

    Experiments that do not rest on the assumption stay as they are. Where that leaves out a part of the claim, the
    verdict under the alternative is set against that on the same part under the choice, and the sentence says which
    experiments it leaves out. Readings never lend each other a deviation. Where it was run with fewer replicas, it
    is set against what the choice says with as few, which borrow from one another alone, and the sentence tells
    (`fewer`: that is another verdict than with all of its replicas): a verdict that fewer replicas cannot reach
    hangs on their number and not on the choice. Of a claim that rests on the assumption, but on nothing that was to
    be trained under the alternative, no part is looked at: "not run". An alternative that measures something else
    takes the same records, and all of the claim; it is "not run" where some of these records lack the other metric.
    """
    found = {}
    for name, assumption in paper.assumptions.items():
        for alternative, choice in assumption.alternatives.items():
            suffix = f"{name}={alternative}"
            if choice.metrics:
                if choice.metrics.keys() & {term.quantity[0] for term in terms_of(claim)}:
                    under = _measured_otherwise(claim, choice.metrics, runs)
                    found[suffix] = _entry(claim, under, chosen, everything, experiments_of(claim))
                continue
            variants = {e: variant for e in experiments_of(claim) if (variant := _at_tier(runs, f"{e}@{suffix}"))}
            resting = {e for e in experiments_of(claim) if _rests_on(runs[e], name, choice.changes(e))}
            covered = _Covered(frozenset(variants), frozenset(resting))
            left = [runs[e].title for e in experiments_of(claim) if e in resting - variants.keys()]
            untrained = f"Not trained under it, so not looked at: {'; '.join(left)}." if left else ""
            looked_at = [names for names in parts_of(claim) if covered(names)]
            if not looked_at:
                if untrained:
                    found[suffix] = _entry(claim, Decision(NOT_RUN, untrained), chosen, covered, [])
                continue
            both = {e: variant for e in paper.experiments if (variant := _at_tier(runs, f"{e}@{suffix}"))}
            picked = {e: fewer for e, variant in both.items() if (fewer := _as_few(runs[e], variant))}
            # One or two replicas borrow: those as chosen, as many, then have no more to borrow from than these do.
            as_few = {e: picked[e] for e in variants if e in picked and _poorer(variants[e], runs[e])}
            whole = before = chosen
            if len(looked_at) < len(parts_of(claim)):
                whole = before = decide(claim, runs, runs, covered)
            if as_few:
                there = {**runs, **{f"{e} as few": fewer for e, fewer in picked.items()}}
                before = decide(claim, {**runs, **{e: picked.get(e, runs[e]) for e in variants}}, there, covered)
            under = decide(claim, {**runs, **variants}, runs, covered)
            run = [e for e in variants if any(e in names for names in looked_at)]
            found[suffix] = _entry(claim, under, before, covered, run, fewer=before.verdict != whole.verdict)
            if as_few:
                found[suffix]["sentence"] += f" With as few replicas the choice is {before.verdict}."
            if untrained:
                found[suffix]["sentence"] += f" {untrained}"
    return found


def _entry(
    claim: Claim, under: Decision, before: Decision, covered: Covered, run: list[str], fewer: bool = False
) -> dict[str, Any]:
    parts = parts_of(claim)
    numbers = [_numbers(decision) for decision in (under, before)]
    return {
        "verdict": under.verdict,
        "sentence": under.sentence,
        "flips": under.verdict != before.verdict and NOT_RUN not in {under.verdict, before.verdict},
        "before": before.verdict,
        "parts": [sum(map(covered, parts)), len(parts)],
        "fewer": fewer,
        "same": bool(numbers[0]) and numbers[0] == numbers[1],
        "experiments": run,
    }


def _numbers(decision: Decision) -> list[float]:
    """The means that were compared: the same ones where the alternative cannot touch them."""
    return [term["mean"] for part in decision.parts for term in part.get("terms", [])]


@dataclass(frozen=True)
class _Covered:
    """Whether a part of a claim can be judged under an alternative: all of it that rests on the choice was run."""

    run: frozenset[str]
    resting: frozenset[str]

    def __call__(self, names: set[str]) -> bool:
        return bool(names & self.run) and names & self.resting <= self.run


def _at_tier(runs: Mapping[str, Runs], name: str) -> Runs | None:
    """The variant of that name; None where there is none, or the tier does not run it."""
    variant = runs.get(name)
    return variant if variant and variant.resolved else None


def _as_few(chosen: Runs, variant: Runs) -> Runs | None:
    """The replicas (of folds the same ones) that the variant has, a reading of their own; None where it has none."""
    there = {(r.number, r.fold) for r in variant.replicas}
    common = [r for r in chosen.replicas if (r.number, r.fold) in there]
    return replace(chosen, replicas=common, compared=f"as few as {variant.name.partition('@')[2]}") if common else None


def _poorer(variant: Runs, chosen: Runs) -> bool:
    return len(variant.replicas) < max(len(chosen.replicas), ENOUGH + 1)


def _rests_on(runs: Runs, assumption: str, changed: Collection[str]) -> bool:
    """Whether a setting comes from the assumption, also one that the tier's entry states again for its own dataset.

    Where the experiment has one of the settings that the alternative changes, these decide: what its paper fixes, the
    alternative leaves.
    """
    if runs.resolved is None:
        return False
    sections = {name: getattr(runs.entry, name) for name in ("model", "data", "training")}
    stated = {f"{name}.{k}": s.origin for name, given in sections.items() if given for k, s in given.settings.items()}
    there = runs.resolved.origins
    keys = [key for key in there if key.rpartition(".")[2] in changed] or list(there)
    return f"assumption {assumption}" in {origin for key in keys for origin in (there[key], stated.get(key))}


def renamed(value: Any, metrics: Mapping[str, str]) -> Any:
    """A claim, or a part of one, about other metrics: each name of `metrics` gives way to the one it stands beside."""
    if isinstance(value, list):
        return [renamed(entry, metrics) for entry in value]
    if not isinstance(value, BaseModel):
        return value
    update = {name: metrics.get(v, v) if name == "metric" else renamed(v, metrics) for name, v in value}
    return value.model_copy(update=update)


def _measured_otherwise(claim: Claim, metrics: Mapping[str, str], runs: Mapping[str, Runs]) -> Decision:
    """The decision on the claim about the other metrics; "not run" where a record has the claim's metric alone."""
    other = renamed(claim, metrics)
    lacking: dict[str, None] = {}
    for old, new in zip(terms_of(claim), terms_of(other), strict=True):
        there = runs[old.experiment]
        if any(old.quantity in r.metrics and new.quantity not in r.metrics for r in there.finished):
            lacking[f"{metric_name(new.quantity)} of {there.title}"] = None
    if lacking:
        return Decision(NOT_RUN, f"Not in every record: {'; '.join(lacking)}.")
    table = {name: _read_as(r, metrics) for name, r in runs.items()}
    return decide(other, table, table)


def _read_as(runs: Runs, metrics: Mapping[str, str]) -> Runs:
    """The same records beside the paper's numbers taken for those of the other metrics.

    Sizes stay those of the claim's metrics: a mean over lines counts lines, and units are converted by tokens.
    """
    reported = [r.model_copy(update={"metric": metrics.get(r.metric, r.metric)}) for r in runs.entry.reported]
    entry = runs.entry.model_copy(update={"reported": reported})
    return replace(runs, entry=entry, replicas=[_sized(replica, metrics) for replica in runs.replicas])


def _sized(replica: Replica, metrics: Mapping[str, str]) -> Replica:
    sizes = {(metrics[metric], split): n for (metric, split), n in replica.sizes.items() if metric in metrics}
    return replace(replica, sizes={**replica.sizes, **sizes})
