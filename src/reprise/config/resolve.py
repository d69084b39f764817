"""Works out the experiments of a tier: reductions applied, variants written out, every name checked."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from reprise.catalogue.checks import CHECKS
from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.displays import check_displays
from reprise.config.project import CONFIG, Project
from reprise.config.references import check_references, check_same_text
from reprise.config.schema import Alternative, Experiment, Paper, TierEntry
from reprise.errors import UserError, known, require_known
from reprise.options import Options, check_option, check_options
from reprise.records.resolved import Resolved, hash_of

SECTIONS = ("model", "data", "training")
PRECISIONS = ("float32", "float64")


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
    return [e for e in _resolve_all(project) if e.tier == (tier or project.config.tier)]


def other_tiers(project: Project) -> list[Resolved]:
    """The experiments and variants of all tiers but the configured one."""
    return [experiment for experiment in _resolve_all(project) if experiment.tier != project.config.tier]


def _resolve_all(project: Project) -> list[Resolved]:
    """The experiments of all tiers, so that a mistake in one that is not run now is reported now.

    Errors: `UserError` where an experiment names a missing model, dataset, protocol, check, display or assumption,
    or gives an option that is unknown or of another type, where a variant is trained as the experiment itself is, where
    a tier has two that are compared read different texts, and where a figure or table could not be made.
    """
    found: list[Resolved] = []
    for paper in project.papers.values():
        place = partial(project.place, paper.paper)
        check_references(paper, place)
        for key, experiment in paper.experiments.items():
            if experiment.check is None:
                _check_sections(project, experiment, partial(place, "experiments", key))
        resolved = {}
        for entry in _entries(paper, place):
            one = resolved[entry.name, entry.tier] = _resolve(project, paper, entry)
            own = resolved.get((entry.key, entry.tier))
            if entry.choice is not None and own is not None and own.config_hash == one.config_hash:
                keys = ("settings",) if entry.choice.settings else ("settings_of", entry.key)
                same = f"'{entry.key}' has these values already in the tier {entry.tier}"
                raise UserError(f"{entry.where(*keys)}: {same}; write others")
        check_same_text(paper, resolved.values(), place)
        found += resolved.values()
    check_displays(project.papers, project.root)
    return found


def _check_sections(project: Project, experiment: Experiment, where: Callable[..., str]) -> None:
    """Raises `UserError` where the experiment lacks a section, or has one that the catalogue does not know.

    `where` tells the key that was written: in the experiment's entry, or in its family's.
    """
    for section in (*SECTIONS, "precision"):
        if getattr(experiment, section) is None:
            raise UserError(f"{where(section)}: missing; add it, or name a family that has it with 'like'")
    check_option(experiment.precision.value, PRECISIONS, where("precision"))
    model, protocol = experiment.model.name, experiment.training.protocol
    if model not in MODELS:
        listed = "(a model of your own: add it to src/reprise/catalogue/models.py)"
        raise UserError(f"{where('model', 'name')}: no model '{model}'; {known(model, MODELS)} {listed}")
    require_known(protocol, PROTOCOLS, where("training", "protocol"), "protocol")
    trained = PROTOCOLS[protocol].models
    if model not in trained:
        remedy = f"write {' or '.join(trained)}, or add it to TRAINS in {PROTOCOLS[protocol].file}"
        raise UserError(f"{where('model', 'name')}: the protocol {protocol} does not train '{model}'; {remedy}")
    for option in PROTOCOLS[protocol].model_options:
        if option not in MODELS[model].options:
            raise UserError(f"{MODELS[model].file}: OPTIONS: {protocol} needs the option '{option}' of it; add it")
    own = experiment.data.dataset
    for section, (kinds, owner) in _options(project, experiment, own, where("data", "dataset")).items():
        values = {option: setting.value for option, setting in getattr(experiment, section).settings.items()}
        check_options(values, kinds, partial(where, section), owner)


def corpus_path(dataset: str, options: Mapping[str, Any], raw: Mapping[str, str]) -> str:
    """Where a corpus lies: the name holds the hash of all that its content depends on."""
    digest = hash_of({"dataset": dataset, "options": dict(options), "raw": dict(raw)})
    return f"data/corpora/{dataset}-{digest}.npz"


def _entries(paper: Paper, place: Callable[..., str]) -> Iterator[_Entry]:
    for key, experiment in paper.experiments.items():
        for tier, in_tier in experiment.tiers.items():
            yield _Entry(key, experiment, tier, in_tier, partial(place, "experiments", key))
    for assumption, entry in paper.assumptions.items():
        for alternative, choice in entry.alternatives.items():
            where = partial(place, "assumptions", assumption, "alternatives", alternative)
            for key in choice.experiments:
                for tier in choice.tiers:
                    experiment, in_tier = paper.experiments[key], choice.in_tier(key, tier)
                    yield _Entry(key, experiment, tier, in_tier, where, assumption, alternative, choice)


def _resolve(project: Project, paper: Paper, entry: _Entry) -> Resolved:
    if (check := entry.experiment.check) is not None:
        require_known(check.name, CHECKS, entry.where("check", "name"), "check")
        config, origins, corpus = {"check": check.name, "tolerance": check.tolerance}, {}, None
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
        weights=entry.experiment.weights and entry.experiment.weights.keep,
    )


def _options(project: Project, experiment: Experiment, dataset: str, where: str) -> dict[str, tuple[Options, str]]:
    """By section, the options that the experiment's parts take where it reads `dataset`, and whose they are.

    `where` begins the `UserError` for a dataset that is not there; an unknown preparation is reported in config.yaml.
    """
    require_known(dataset, project.config.datasets, where, "dataset")
    prepare = project.config.datasets[dataset].prepare
    place = f"{project.root / CONFIG}: key datasets.{dataset}.prepare"
    require_known(prepare, PREPARATIONS, place, "preparation")
    model, protocol = experiment.model.name, experiment.training.protocol
    return {
        "model": (MODELS[model].options, f"model {model}"),
        "data": (PREPARATIONS[prepare].options, f"dataset {dataset}"),
        "training": (PROTOCOLS[protocol].options, f"protocol {protocol}"),
    }


def _training_config(project: Project, entry: _Entry) -> tuple[dict[str, Any], dict[str, str], str | None]:
    """The hashed configuration, the origin of each setting, and the path of the corpus if there is one.

    A setting's value is that of the experiment, then what the tier reduces, then what the variant changes.
    """
    experiment, tier = entry.experiment, entry.tier
    name = experiment.data.dataset if entry.in_tier.dataset is None else entry.in_tier.dataset
    takes = _options(project, experiment, name, entry.where("tiers", tier, "dataset"))
    settings = {section: getattr(experiment, section).settings for section in SECTIONS}
    if entry.in_tier.dataset is not None:
        settings["data"] = {}  # another dataset has options of its own, which the tier's entry gives
    values = {s: {k: setting.value for k, setting in settings[s].items()} for s in SECTIONS}
    origins = {f"{s}.{k}": setting.origin for s in SECTIONS for k, setting in settings[s].items()}
    origins["precision"] = experiment.precision.origin
    changes = [(("tiers", tier), f"tier {tier}", entry.in_tier.reductions)]
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
    for option in takes["data"][0]:
        if option not in values["data"]:
            place = entry.where("tiers", tier)
            raise UserError(f"{place}: {takes['data'][1]} needs the option '{option}'; add it")
    made = {s: check_options(values[s], kinds, entry.where(s), owner) for s, (kinds, owner) in takes.items()}
    raw = project.spec(name).checksums()
    config = {
        "model": {"name": experiment.model.name, "options": made["model"]},
        "data": {"dataset": name, "options": made["data"], "raw": raw},
        "training": {"protocol": experiment.training.protocol, "options": made["training"]},
        "precision": experiment.precision.value,
    }
    has_corpus = PREPARATIONS[project.config.datasets[name].prepare].corpus
    return config, origins, corpus_path(name, made["data"], raw) if has_corpus else None
