"""A paper's file fits itself: its names lead somewhere, and what is compared reads the same text."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations

from reprise.config.claim_checks import check_arithmetic, check_claims, check_measured
from reprise.config.claims import Claim
from reprise.config.schema import Alternative, Experiment, Paper
from reprise.errors import UserError, require_known
from reprise.records.resolved import Resolved

Place = Callable[..., str]
"""Of keys: "<file>: key <dotted key>", where the key was written, in an experiment's entry or in its family's."""


def check_references(paper: Paper, place: Place) -> None:
    """Refuse the first name in `paper` that stands for nothing."""
    displays = {**paper.figures, **paper.tables}
    origins = {"assumption": paper.assumptions, "deviation": paper.deviations}
    for key, experiment in paper.experiments.items():
        where = partial(place, "experiments", key)
        _check_reported(experiment, where)
        for name in experiment.cited_by:
            require_known(name, displays, where("cited_by"), "figure or table")
        for keys, origin in _list_origins(experiment):
            kind, _, name = origin.partition(" ")
            if kind in origins:
                require_known(name, origins[kind], where(*keys, "from"), kind)
    for key, assumption in paper.assumptions.items():
        if not (assumption.alternatives or assumption.unrun):
            raise UserError(f"{place('assumptions', key, 'unrun')}: missing; say why no alternative is run, or add one")
        for name, alternative in assumption.alternatives.items():
            _check_alternative(paper, alternative, place("assumptions", key, "alternatives", name))
    if paper.headline:
        require_known(paper.headline.claim, paper.claims, place("headline", "claim"), "claim")
        for key in paper.headline.remark.while_ if paper.headline.remark else ():
            _check_remark(paper, key, place("headline", "remark.while"))
    check_claims(paper, place)
    check_arithmetic(paper, place)


def _check_remark(paper: Paper, key: str, where: str) -> None:
    """Check what a remark rests on: a claim, or `<claim>@<assumption>=<alternative>`."""
    claim, at, setting = key.partition("@")
    require_known(claim, paper.claims, where, "claim")
    if at:
        assumption, _, alternative = setting.partition("=")
        require_known(assumption, paper.assumptions, where, "assumption")
        require_known(alternative, paper.assumptions[assumption].alternatives, where, "alternative")


def _check_reported(experiment: Experiment, where: Place) -> None:
    """Allow one number a metric and split; what runs in no tier is there for a number that the paper left out."""
    if not experiment.tiers and not any(r.value is None for r in experiment.reported):
        remedy = "name one, or say with 'value: null' under reported that the paper did not run it"
        raise UserError(f"{where('tiers')}: it runs in no tier; {remedy}")
    names = set()
    for i, reported in enumerate(experiment.reported):
        name = (reported.metric, reported.split)
        if name in names:
            raise UserError(f"{where('reported', str(i))}: '{' '.join(name)}' stands twice; keep one of the two")
        names.add(name)
        check_measured(experiment, *name, where("reported", str(i)))
        if reported.unit and "entropy" not in reported.metric:
            raise UserError(f"{where('reported', str(i), 'unit')}: '{reported.metric}' has no unit; remove it")


def _check_alternative(paper: Paper, alternative: Alternative, where: str) -> None:
    """Check that an alternative changes settings of experiments, or measures something else of the same records."""
    keys = ("settings", "settings_of", "experiments", "tiers", "replicas_of")
    training_keys = [key for key in keys if getattr(alternative, key)]
    claimed_metrics = {term.metric for claim in paper.claims.values() for _, term in claim.list_sides() if term.metric}
    for metric in alternative.metrics:
        require_known(metric, claimed_metrics, f"{where}.metrics", "claim about a metric")
    if alternative.metrics and training_keys:
        raise UserError(f"{where}.{training_keys[0]}: another metric trains nothing; remove it, or 'metrics'")
    if alternative.metrics:
        return
    for key in ("experiments", "tiers"):
        if key not in training_keys:
            raise UserError(f"{where}.{key}: missing; say what is trained under it, or name other 'metrics'")
    for name in alternative.experiments:
        require_known(name, paper.experiments, f"{where}.experiments", "experiment")
        if not alternative.get_changes(name):
            raise UserError(f"{where}.settings: nothing is changed for '{name}'; say what, or remove it")
    for key in ("settings_of", "replicas_of"):
        for name in getattr(alternative, key):
            require_known(name, alternative.experiments, f"{where}.{key}", "experiment")


def _list_origins(experiment: Experiment) -> Iterator[tuple[tuple[str, ...], str]]:
    for section in ("model", "data", "training"):
        content = getattr(experiment, section)
        for name, setting in content.settings.items() if content else ():
            yield (section, name), setting.origin
    if experiment.precision:
        yield ("precision",), experiment.precision.origin


def check_same_text(paper: Paper, experiments: Iterable[Resolved], place: Place) -> None:
    """Refuse two of a paper's experiments that are compared and that a tier gives different texts.

    A claim would be decided by the difference of the texts. Two may differ where the experiments themselves say so.
    """
    by_tier = {(e.tier, e.experiment): e for e in experiments if not e.is_check}
    compared = [(pair, ("claims", key)) for key, claim in paper.claims.items() for pair in _list_compared_pairs(claim)]
    for name, base, alternative in paper.list_variants():
        assumption = name.partition("@")[2].partition("=")[0]
        compared.append(((base, name), ("assumptions", assumption, "alternatives", alternative)))
    for pair, keys in compared:
        for tier in dict.fromkeys(tier for tier, _ in by_tier):
            pair_experiments = [by_tier[tier, name] for name in pair if (tier, name) in by_tier]
            if len(pair_experiments) == 2 and (option := _find_text_difference(paper, *pair_experiments)):
                one, other = (
                    f"'{e.experiment}' ({option} {e.config['data'].get(option) or e.config['data']['options'][option]})"
                    for e in pair_experiments
                )
                remedy = f"give both the same under tiers.{tier}"
                raise UserError(f"{place(*keys)}: compares {one} with {other} at the tier {tier}; {remedy}")


def _list_compared_pairs(claim: Claim) -> Iterator[tuple[str, str]]:
    """Yield the pairs of experiments that the statistic compares."""
    for group, sides in claim.group_sides().items():
        names = [term.experiment for _, term in sides]
        if group == "unit" and claim.unit.reference:
            yield from ((name, claim.unit.reference) for name in claim.unit.experiments)
        elif group not in ("share", "level", "unit"):
            yield from combinations(names, 2)


def _find_text_difference(paper: Paper, one: Resolved, other: Resolved) -> str | None:
    """Return what of the data a tier makes differ: "dataset" or the first such option; None where nothing does."""
    own_data = [paper.experiments[e.base].data for e in (one, other)]
    if own_data[0].dataset != own_data[1].dataset:
        return None
    variants = [(paper.assumptions[e.assumption].alternatives[e.alternative], e) for e in (one, other) if e.assumption]
    changed_options = {option for alternative, e in variants for option in alternative.get_changes(e.base)}
    first, second = one.config["data"], other.config["data"]
    if one.base == other.base and changed_options & first["options"].keys():
        return None
    if first["dataset"] != second["dataset"]:
        return "dataset"
    values = [{option: setting.value for option, setting in data.settings.items()} for data in own_data]
    if values[0] != values[1] or (one.base != other.base and (one.assumption or other.assumption)):
        return None
    return next((name for name, value in first["options"].items() if second["options"][name] != value), None)
