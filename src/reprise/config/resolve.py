"""Works out the experiments of a tier: reductions applied, variants written out, every name checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.catalogue.checks import CHECKS
from reprise.catalogue.datasets import PREPARATIONS
from reprise.config.displays import check_displays
from reprise.config.mistakes import Places
from reprise.config.project import PAPERS, Project
from reprise.config.references import check_references, check_same_text
from reprise.config.schema import Alternative, Experiment, Paper, TierEntry
from reprise.config.sections import SECTIONS, Takes, check_sections, find_dataset, taken
from reprise.errors import UserError, known, require_known
from reprise.options import check_option, check_options
from reprise.records.resolved import Resolved, hash_of


@dataclass(frozen=True)
class _Entry:
    """One experiment, or variant of one, in one tier, before it is resolved."""

    key: str
    experiment: Experiment
    tier: str
    in_tier: TierEntry
    where: Callable[..., str]  # of keys, "file: key experiments.<key>.<keys>": the beginning of every error
    assumption: str | None = None
    alternative: str | None = None
    choice: Alternative | None = None

    @property
    def name(self) -> str:
        return f"{self.key}@{self.assumption}={self.alternative}" if self.assumption else self.key


def resolve_tier(project: Project, tier: str | None = None) -> list[Resolved]:
    """Every experiment and variant that has an entry for the tier (default: the configured one), in file order.

    Errors: see `_resolve_all`.
    """
    tier = tier or project.config.tier
    return [experiment for experiment in _resolve_all(project) if experiment.tier == tier]


def other_tiers(project: Project) -> list[Resolved]:
    """The experiments and variants of all tiers but the configured one."""
    return [experiment for experiment in _resolve_all(project) if experiment.tier != project.config.tier]


def _resolve_all(project: Project) -> list[Resolved]:
    """The experiments of all tiers, so that a mistake in one that is not run now is reported now.

    Errors: `UserError` where an experiment names a missing model, dataset, protocol, check, display or assumption,
    or gives an option that is unknown or of another type, where a tier has two that are compared read different texts,
    and where a figure or table could not be made.
    """
    found: list[Resolved] = []
    for paper in project.papers.values():
        file = str(project.root / PAPERS / f"{paper.paper}.yaml")
        places = project.places.get(paper.paper, Places())
        check_references(paper, file, places)
        for key, experiment in paper.experiments.items():
            if experiment.check is None:
                check_sections(project, key, experiment, file, places)
        resolved = [(entry, _resolve(project, paper, entry)) for entry in _entries(paper, file, places)]
        _check_variants(resolved)
        check_same_text(paper, [one for _, one in resolved], file)
        found += [one for _, one in resolved]
    check_displays(project.papers, project.root)
    return found


def _check_variants(resolved: Sequence[tuple[_Entry, Resolved]]) -> None:
    """Raises `UserError` at a variant that is trained as the experiment itself is: nothing would follow from it."""
    hashes = {(one.experiment, one.tier): one.config_hash for _, one in resolved}
    for entry, one in resolved:
        if entry.choice is not None and hashes.get((one.base, one.tier)) == one.config_hash:
            keys = ("settings",) if entry.choice.settings else ("settings_of", entry.key)
            raise UserError(
                f"{entry.where(*keys)}: '{entry.key}' has these values already in the tier {entry.tier}; write others"
            )


def corpus_path(dataset: str, options: Mapping[str, Any], raw: Mapping[str, str]) -> str:
    """Where a corpus lies: the name holds the hash of all that its content depends on."""
    digest = hash_of({"dataset": dataset, "options": dict(options), "raw": dict(raw)})
    return f"data/corpora/{dataset}-{digest}.npz"


def _entries(paper: Paper, file: str, places: Places) -> Iterator[_Entry]:
    def of_experiment(key: str) -> Callable[..., str]:
        return lambda *keys: f"{file}: key {places.of(key, *keys)}"

    def of_alternative(*place: str) -> Callable[..., str]:
        return lambda *keys: f"{file}: key {'.'.join((*place, *keys))}"

    for key, experiment in paper.experiments.items():
        for tier, in_tier in experiment.tiers.items():
            yield _Entry(key, experiment, tier, in_tier, of_experiment(key))
    for assumption, entry in paper.assumptions.items():
        for alternative, choice in entry.alternatives.items():
            where = of_alternative("assumptions", assumption, "alternatives", alternative)
            for key in choice.experiments:
                for tier in choice.tiers:
                    experiment, in_tier = paper.experiments[key], choice.in_tier(key, tier)
                    yield _Entry(key, experiment, tier, in_tier, where, assumption, alternative, choice)


def _resolve(project: Project, paper: Paper, entry: _Entry) -> Resolved:
    if entry.experiment.check is not None:
        config, origins, corpus = _check_config(entry), {}, None
    else:
        config, origins, corpus = _training_config(project, entry)
    return Resolved(
        paper=paper.paper,
        experiment=entry.name,
        tier=entry.tier,
        title=entry.experiment.title,
        replicas=entry.in_tier.replicas,
        config=config,
        origins=origins,
        corpus=corpus,
        engine=project.config.engine,
        device=project.config.device,
        assumption=entry.assumption,
        alternative=entry.alternative,
    )


def _check_config(entry: _Entry) -> dict[str, Any]:
    check = entry.experiment.check
    require_known(check.name, CHECKS, entry.where("check", "name"), "check")
    return {"check": check.name, "tolerance": check.tolerance}


def _training_config(project: Project, entry: _Entry) -> tuple[dict[str, Any], dict[str, str], str | None]:
    """The hashed configuration, the origin of each setting, and the path of the corpus if there is one."""
    experiment = entry.experiment
    name = experiment.data.dataset if entry.in_tier.dataset is None else entry.in_tier.dataset
    dataset = find_dataset(project, name, entry.where("tiers", entry.tier, "dataset"))
    takes = taken(project, experiment, name)
    values, origins = _settings(entry, takes)
    options = {
        section: check_options(values[section], kinds, entry.where(section), owner)
        for section, (kinds, owner) in takes.items()
    }
    raw = project.spec(name).checksums()
    config = {
        "model": {"name": experiment.model.name, "options": options["model"]},
        "data": {"dataset": name, "options": options["data"], "raw": raw},
        "training": {"protocol": experiment.training.protocol, "options": options["training"]},
        "precision": experiment.precision.value,
    }
    has_corpus = PREPARATIONS[dataset.prepare].corpus
    return config, origins, corpus_path(name, options["data"], raw) if has_corpus else None


def _settings(entry: _Entry, takes: Takes) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Values by section and origins by "section.option", with what the tier reduces and the variant changes."""
    settings = {section: getattr(entry.experiment, section).settings for section in SECTIONS}
    if entry.in_tier.dataset is not None:
        # Another dataset has options of its own, which the tier's entry gives.
        settings["data"] = {}
    values = {s: {k: setting.value for k, setting in settings[s].items()} for s in SECTIONS}
    origins = {f"{s}.{k}": setting.origin for s in SECTIONS for k, setting in settings[s].items()}
    origins["precision"] = entry.experiment.precision.origin
    changes = [(("tiers", entry.tier), f"tier {entry.tier}", entry.in_tier.reductions)]
    if entry.choice is not None:
        of_all, of_one = entry.choice.settings, entry.choice.settings_of.get(entry.key, {})
        origin = f"assumption {entry.assumption}"
        changes.append((("settings",), origin, {k: v for k, v in of_all.items() if k not in of_one}))
        changes.append((("settings_of", entry.key), origin, of_one))
    for keys, origin, given in changes:
        for option, value in given.items():
            place = entry.where(*keys, option)
            section = next((s for s in ("training", "model", "data") if option in takes[s][0]), None)
            if section is None:
                every = [k for kinds, _ in takes.values() for k in kinds]
                raise UserError(f"{place}: the experiment has no setting '{option}'; {known(option, every)}")
            values[section][option] = check_option(value, takes[section][0][option], place)
            origins[f"{section}.{option}"] = origin
    kinds, owner = takes["data"]
    for option in kinds:
        if option not in values["data"]:
            raise UserError(f"{entry.where('tiers', entry.tier)}: {owner} needs the option '{option}'; add it")
    return values, origins
