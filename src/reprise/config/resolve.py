"""Works out the experiments of a tier: reductions applied, variants written out, every name checked."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from reprise.catalogue.datasets import find_preparation
from reprise.catalogue.options import MODEL_OPTIONS, PREPARATION_OPTIONS, PROTOCOL_OPTIONS
from reprise.catalogue.options.base import Options, list_options
from reprise.catalogue.options.own import make_own_options
from reprise.catalogue.own import is_own, load_own, suggest_target
from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.displays import check_displays
from reprise.config.mistakes import complete_options
from reprise.config.project import CONFIG, Project
from reprise.config.references import check_references, check_same_text
from reprise.config.schema import Alternative, Experiment, Paper, TierEntry
from reprise.errors import UserError, locate_errors, require_known, suggest_name
from reprise.records.resolved import Resolved, compute_hash

SECTIONS = ("model", "data", "training")


@dataclass(frozen=True)
class _Entry:
    """One experiment, or variant of one, in one tier, before it is resolved."""

    key: str
    experiment: Experiment
    tier: str
    tier_entry: TierEntry
    where: Callable[..., str]  # of keys, "file: key experiments.<key>.<keys>": the beginning of every error
    assumption: str | None = None
    alternative: str | None = None
    choice: Alternative | None = None

    @property
    def name(self) -> str:
        return f"{self.key}@{self.assumption}={self.alternative}" if self.assumption else self.key


@dataclass(frozen=True)
class _Training:
    """What is resolved of an experiment's sections: fields of `Resolved`."""

    config: dict[str, Any]
    origins: dict[str, str]
    corpus: str | None
    defaults: dict[str, list[str]]


@dataclass(frozen=True)
class _Settings:
    """Settings of an experiment in a tier: values by section and option, origins by dotted name.

    `places` says where a value that the tier or the alternative changed is written, by dotted name.
    """

    values: dict[str, dict[str, Any]]
    origins: dict[str, str]
    places: dict[str, str]


def resolve_tier(project: Project, tier: str | None = None) -> list[Resolved]:
    """Resolve the experiments and variants of a tier (default: the configured one), in file order.

    Raises:
        UserError: See `resolve_all`.
    """
    return [e for e in resolve_all(project) if e.tier == (tier or project.config.tier)]


def resolve_other_tiers(project: Project) -> list[Resolved]:
    """Resolve the experiments and variants of all tiers but the configured one."""
    return [experiment for experiment in resolve_all(project) if experiment.tier != project.config.tier]


def resolve_all(project: Project) -> list[Resolved]:
    """Resolve the experiments of all tiers, so that a mistake in one that is not run now is reported now.

    Raises:
        UserError: An experiment names a missing model, dataset, protocol, check, display or assumption. It gives an
            option that is unknown or of another type. A variant is trained as the experiment itself is. Two that are
            compared read different texts in a tier. A figure or table could not be made.
    """
    experiments: list[Resolved] = []
    for paper in project.papers.values():
        place = partial(project.locate_key, paper.paper)
        check_references(paper, place)
        for key, experiment in paper.experiments.items():
            if experiment.check is None:
                _check_sections(project, experiment, partial(place, "experiments", key))
        resolved = {}
        for entry in _list_entries(paper, place):
            one = resolved[entry.name, entry.tier] = _resolve(project, paper, entry)
            base = resolved.get((entry.key, entry.tier))
            if entry.choice is not None and base is not None and base.config_hash == one.config_hash:
                keys = ("settings",) if entry.choice.settings else ("settings_of", entry.key)
                same = f"'{entry.key}' has these values already in the tier {entry.tier}"
                raise UserError(f"{entry.where(*keys)}: {same}; write others")
        check_same_text(paper, resolved.values(), place)
        experiments += resolved.values()
    check_displays(project.papers, project.root)
    return experiments


def _check_sections(project: Project, experiment: Experiment, where: Callable[..., str]) -> None:
    """Refuse an experiment that lacks a section, or has one that the catalogue does not know.

    `where` tells the key that was written: in the experiment's entry, or in its family's.
    """
    for section in (*SECTIONS, "precision"):
        if getattr(experiment, section) is None:
            raise UserError(f"{where(section)}: missing; add it, or name a family that has it with 'like'")
    model, protocol = experiment.model.name, experiment.training.protocol
    trained = PROTOCOLS[protocol].models
    if is_own(model) != PROTOCOLS[protocol].any_module or (model not in trained and not is_own(model)):
        trained = trained or ("<module>:<Class>",)
        remedy = f"write {' or '.join(trained)}, or add it to the protocol's row in src/reprise/catalogue/protocols.py"
        raise UserError(f"{where('model', 'name')}: the protocol {protocol} does not train '{model}'; {remedy}")
    dataset = experiment.data.dataset
    prepare = _find_preparation(project, dataset, where("data", "dataset"))
    values = {option: setting.value for option, setting in experiment.data.settings.items()}
    options = _find_options(prepare, PREPARATION_OPTIONS, "raw", _locate_preparation(project, dataset))
    complete_options(options, prepare, values, partial(where, "data"))


def make_corpus_path(dataset: str, options: Mapping[str, Any], raw: Mapping[str, str]) -> str:
    """Return where a corpus lies: the name holds the hash of all that its content depends on."""
    digest = compute_hash({"dataset": dataset, "options": dict(options), "raw": dict(raw)})
    return f"data/corpora/{dataset}-{digest}.npz"


def _list_entries(paper: Paper, place: Callable[..., str]) -> Iterator[_Entry]:
    for key, experiment in paper.experiments.items():
        for tier, tier_entry in experiment.tiers.items():
            yield _Entry(key, experiment, tier, tier_entry, partial(place, "experiments", key))
    for assumption, entry in paper.assumptions.items():
        for alternative, choice in entry.alternatives.items():
            where = partial(place, "assumptions", assumption, "alternatives", alternative)
            for key in choice.experiments:
                for tier in choice.tiers:
                    experiment, tier_entry = paper.experiments[key], choice.get_tier_entry(key, tier)
                    yield _Entry(key, experiment, tier, tier_entry, where, assumption, alternative, choice)


def _resolve(project: Project, paper: Paper, entry: _Entry) -> Resolved:
    if (check := entry.experiment.check) is not None:
        training = _Training({"check": check.name, "tolerance": check.tolerance}, {}, None, {})
    else:
        training = _resolve_training(project, entry)
    return Resolved(
        paper=paper.paper,
        experiment=entry.name,
        tier=entry.tier,
        title=entry.experiment.title,
        replicas=entry.tier_entry.replicas,
        **asdict(training),
        engine=project.config.engine,
        device=project.config.device,
        assumption=entry.assumption,
        alternative=entry.alternative,
        weights=entry.experiment.weights and entry.experiment.weights.keep,
    )


def _find_preparation(project: Project, dataset: str, where: str) -> str:
    """Look up the name of a dataset's preparation.

    `where` begins the `UserError` for a dataset that is not there; an unknown preparation is reported in config.yaml.
    """
    require_known(dataset, project.config.datasets, where, "dataset")
    prepare = project.config.datasets[dataset].prepare
    if not is_own(prepare):
        place = _locate_preparation(project, dataset)
        require_known(prepare, PREPARATION_OPTIONS, place, "preparation", suggest_target)
    return prepare


def _locate_preparation(project: Project, dataset: str) -> str:
    """Return where the preparation of a dataset stands, as error messages begin."""
    return f"{project.root / CONFIG}: key datasets.{dataset}.prepare"


def _find_options(name: str, options: Mapping[str, type[Options]], passed: str, where: str) -> type[Options]:
    """Look up the options of a model or preparation; one of the user's own is `passed` this argument by Reprise.

    An error begins with `where` the name stands.
    """
    if not is_own(name):
        return options[name]
    with locate_errors(where):
        return make_own_options(name, load_own(name), passed)


def _resolve_training(project: Project, entry: _Entry) -> _Training:
    """Work out the configuration of one experiment in one tier.

    A setting's value is that of the experiment, then what the tier reduces, then what the variant changes.
    """
    experiment, tier = entry.experiment, entry.tier
    dataset = experiment.data.dataset if entry.tier_entry.dataset is None else entry.tier_entry.dataset
    names = {
        "training": experiment.training.protocol,
        "model": experiment.model.name,
        "data": _find_preparation(project, dataset, entry.where("tiers", tier, "dataset")),
    }
    kinds = {
        "training": PROTOCOL_OPTIONS[names["training"]],
        "model": _find_options(names["model"], MODEL_OPTIONS, "vocabulary", entry.where("model", "name")),
        "data": _find_options(names["data"], PREPARATION_OPTIONS, "raw", _locate_preparation(project, dataset)),
    }
    settings = _collect_settings(entry, kinds)
    options, defaults = _complete_settings(entry, kinds, names, settings)
    raw = project.find_dataset(dataset).list_checksums()
    config = {
        "model": {"name": names["model"], "options": options["model"]},
        "data": {"dataset": dataset, "options": options["data"], "raw": raw},
        "training": {"protocol": names["training"], "options": options["training"]},
        "precision": experiment.precision.value,
    }
    hashed = {option: value for option, value in options["data"].items() if option not in defaults.get("data", ())}
    corpus = make_corpus_path(dataset, hashed, raw) if find_preparation(names["data"]).corpus else None
    return _Training(config, settings.origins, corpus, defaults)


def _collect_settings(entry: _Entry, kinds: Mapping[str, type[Options]]) -> _Settings:
    """Collect what the experiment states, changed by what the tier and the alternative change."""
    sections = {section: getattr(entry.experiment, section).settings for section in SECTIONS}
    if entry.tier_entry.dataset is not None:
        sections["data"] = {}  # another dataset has options of its own, which the tier's entry gives
    values = {s: {k: setting.value for k, setting in sections[s].items()} for s in SECTIONS}
    origins = {f"{s}.{k}": setting.origin for s in SECTIONS for k, setting in sections[s].items()}
    origins["precision"] = entry.experiment.precision.origin
    places: dict[str, str] = {}
    for keys, origin, changes in _list_changes(entry):
        for option, value in changes.items():
            place = entry.where(*keys, option)
            section = next((s for s, kind in kinds.items() if option in list_options(kind)), None)
            if section is None:
                options = [option for kind in kinds.values() for option in list_options(kind)]
                raise UserError(f"{place}: the experiment has no setting '{option}'; {suggest_name(option, options)}")
            values[section][option] = value
            origins[f"{section}.{option}"] = origin
            places[f"{section}.{option}"] = place
    return _Settings(values, origins, places)


def _complete_settings(
    entry: _Entry, kinds: Mapping[str, type[Options]], names: Mapping[str, str], settings: _Settings
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """Check the settings and add the defaults, with their origin.

    Returns:
        By section all options with their values, and those whose value is the default.
    """
    options, defaults = {}, {}
    for section in SECTIONS:
        values = settings.values[section]
        find_place = partial(_find_place, entry, settings, section)
        options[section], unhashed = complete_options(kinds[section], names[section], values, find_place)
        if unhashed:
            defaults[section] = unhashed
            settings.origins.update({f"{section}.{k}": "default" for k in unhashed if k not in values})
    return options, defaults


def _find_place(entry: _Entry, settings: _Settings, section: str, option: str) -> str:
    """Return where an option is written, or would have to be, as errors begin."""
    if option in settings.values[section]:
        return settings.places.get(f"{section}.{option}") or entry.where(section, option)
    is_of_tier = section == "data" and entry.tier_entry.dataset is not None
    return f"{entry.where(*(('tiers', entry.tier) if is_of_tier else (section,)))}.{option}"


def _list_changes(entry: _Entry) -> Iterator[tuple[tuple[str, ...], str, Mapping[str, Any]]]:
    """Yield what the tier and the alternative change: the keys of the place, the origin, and values by option."""
    yield ("tiers", entry.tier), f"tier {entry.tier}", entry.tier_entry.reductions
    if entry.choice is not None:
        of_one = entry.choice.settings_of.get(entry.key, {})
        of_all = {option: value for option, value in entry.choice.settings.items() if option not in of_one}
        yield ("settings",), f"assumption {entry.assumption}", of_all
        yield ("settings_of", entry.key), f"assumption {entry.assumption}", of_one
