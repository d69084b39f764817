"""What is compared reads the same text at every tier, unless the paper's file itself gives it different ones.

A tier may swap the text of an experiment. Done to one of two that a claim compares, or to an experiment and not to its
variant, that would decide a claim by the difference of two texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from reprise.config.claims import Claim, Side, Term
from reprise.config.schema import Paper
from reprise.errors import UserError
from reprise.records.resolved import Resolved


def check_same_text(paper: Paper, experiments: Iterable[Resolved], file: str) -> None:
    """Raises `UserError` at the first two of a paper's experiments, of all tiers, that a tier sets apart."""
    there = {(e.tier, e.experiment): e for e in experiments if not e.is_check}
    for key, claim in paper.claims.items():
        for one, other in _compared(claim):
            for tier in dict.fromkeys(tier for tier, name in there if name == one):
                if (tier, other) in there:
                    _check_two(paper, there[tier, one], there[tier, other], f"claims.{key}", file)
    for (tier, _), variant in there.items():
        base = there.get((tier, variant.base))
        if variant.assumption and base:
            _check_variant(paper, variant, base, file)


def _compared(claim: Claim) -> Iterator[tuple[str, str]]:
    """The pairs of experiments that the statistic sets beside each other."""
    groups = [[c.lower, c.higher] for c in claim.comparisons]
    groups.append([side for entry in claim.order or [] for side in (entry if isinstance(entry, list) else [entry])])
    groups += [*(claim.equal or []), *(claim.optimum or [])]
    if claim.unit and claim.unit.reference:
        groups += [[name, claim.unit.reference] for name in claim.unit.experiments]
    for group in groups:
        yield from combinations([_name(side) for side in group], 2)


def _name(side: Side) -> str:
    return side.experiment if isinstance(side, Term) else side


def _check_two(paper: Paper, one: Resolved, other: Resolved, claim: str, file: str) -> None:
    own = [paper.experiments[e.base].data for e in (one, other)]
    if own[0] is None or own[1] is None or own[0].dataset != own[1].dataset:
        return
    values = [{option: setting.value for option, setting in data.settings.items()} for data in own]
    alike = values[0] == values[1] and not (one.assumption or other.assumption)
    if (option := _apart(one, other, alike)) is None:
        return
    # The line is about the one that the tier changes; where it changes both, about the first.
    swapped, kept = (one, other) if _states(paper, one, option) else (other, one)
    raise UserError(
        f"{file}: key {_tier_key(swapped)}.{option}: {claim} compares it with '{kept.experiment}', which "
        f"{_reads(kept, option)} at this tier; give both the same"
    )


def _check_variant(paper: Paper, variant: Resolved, base: Resolved, file: str) -> None:
    alternative = paper.assumptions[str(variant.assumption)].alternatives[str(variant.alternative)]
    if alternative.changes(variant.base).keys() & variant.config["data"]["options"].keys():
        return
    if (option := _apart(variant, base, alike=True)) is None:
        return
    raise UserError(
        f"{file}: key {_tier_key(variant)}.{option}: '{base.experiment}' itself {_reads(base, option)} at this tier, "
        f"and this {_reads(variant, option)}; give both the same"
    )


def _apart(one: Resolved, other: Resolved, alike: bool) -> str | None:
    """ "dataset", or, of what is `alike` before the tier, the first option of it that differs; None where none does."""
    first, second = one.config["data"], other.config["data"]
    if first["dataset"] != second["dataset"]:
        return "dataset"
    differing = (name for name, value in first["options"].items() if second["options"][name] != value)
    return next(differing, None) if alike else None


def _reads(experiment: Resolved, option: str) -> str:
    data = experiment.config["data"]
    return f"reads {data['dataset']}" if option == "dataset" else f"has {option} {data['options'][option]}"


def _states(paper: Paper, experiment: Resolved, option: str) -> bool:
    """Whether the tier's entry changes this of it."""
    if experiment.assumption:
        alternative = paper.assumptions[experiment.assumption].alternatives[str(experiment.alternative)]
        entry = alternative.in_tier(experiment.base, experiment.tier)
    else:
        entry = paper.experiments[experiment.base].tiers[experiment.tier]
    return entry.dataset is not None if option == "dataset" else option in entry.reductions


def _tier_key(experiment: Resolved) -> str:
    where = f"experiments.{experiment.base}"
    if experiment.assumption:
        where = f"assumptions.{experiment.assumption}.alternatives.{experiment.alternative}"
    return f"{where}.tiers.{experiment.tier}"
