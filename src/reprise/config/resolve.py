"""Works out the experiments of a tier: reductions applied, variants written out, every name checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.config.options import Options, check_options
from reprise.config.project import CONFIG, PAPERS, Project
from reprise.config.references import check_references
from reprise.config.resolved import Resolved, hash_of
from reprise.config.schema import Dataset, Experiment, Paper, Setting, TierEntry
from reprise.data.registry import PREPARATIONS
from reprise.errors import UserError, known
from reprise.evaluation.checks import CHECKS
from reprise.models import MODELS
from reprise.training import PROTOCOLS

SECTIONS = ("model", "data", "training")


def resolve_tier(project: Project, tier: str | None = None) -> list[Resolved]:
    """Every experiment and variant that has an entry for the tier (default: the configured one), in file order.

    Errors: `UserError` where an experiment names a missing model, dataset, protocol, check, display or assumption,
    or gives an option that is unknown or of another type.
    """
    tier = tier or project.config.tier
    found = []
    for name, paper in project.papers.items():
        file = str(project.root / PAPERS / f"{name}.yaml")
        check_references(paper, file)
        for key, experiment in paper.experiments.items():
            # All tiers are resolved, so that a mistake in one that is not run now is told now.
            for entry_tier, entry in experiment.tiers.items():
                resolved = _resolve(project, paper, key, experiment, entry_tier, entry, file)
                if entry_tier == tier:
                    found.append(resolved)
        found += [v for v in _variants(project, paper, file) if v.tier == tier]
    return found


def _resolve(
    project: Project,
    paper: Paper,
    key: str,
    experiment: Experiment,
    tier: str,
    entry: TierEntry,
    file: str,
    changed: Mapping[str, Any] | None = None,
    variant: tuple[str, str] | None = None,
) -> Resolved:
    where = f"{file}: key experiments.{key}"
    name = key if variant is None else f"{key}@{variant[0]}={variant[1]}"
    common = {
        "paper": paper.paper,
        "experiment": name,
        "tier": tier,
        "title": experiment.title,
        "replicas": entry.replicas,
        "engine": project.config.engine,
        "device": project.config.device,
        "assumption": variant and variant[0],
        "alternative": variant and variant[1],
    }
    if experiment.check is not None:
        if experiment.check.name not in CHECKS:
            name = experiment.check.name
            raise UserError(f"{where}.check.name: no check '{name}'; {known(name, CHECKS)}")
        config = {"check": experiment.check.name, "tolerance": experiment.check.tolerance}
        return Resolved(config=config, origins={}, corpus=None, **common)
    for section in (*SECTIONS, "precision"):
        if getattr(experiment, section) is None:
            raise UserError(f"{where}.{section}: missing; add it, or name a family that has it with 'like'")
    settings = {s: getattr(experiment, s).settings for s in SECTIONS}
    dataset = entry.dataset or experiment.data.dataset
    origins = {f"{s}.{k}": v.origin for s in SECTIONS for k, v in settings[s].items()}
    values = {s: {k: v.value for k, v in settings[s].items()} for s in SECTIONS}
    origins["precision"] = experiment.precision.origin
    for label, changes in ((f"tiers.{tier}", entry.reductions), ("variant", changed or {})):
        if entry.dataset and label != "variant":
            values["data"] = {}
            origins = {k: v for k, v in origins.items() if not k.startswith("data.")}
        for option, value in changes.items():
            section = _section_of(option, settings, entry, f"{where}.{label}.{option}")
            values[section][option] = value
            origins[f"{section}.{option}"] = (
                label.replace("tiers.", "tier ") if label != "variant" else f"variant {name}"
            )
    model, data, protocol = (
        experiment.model.name,
        _dataset(project, dataset, where),
        experiment.training.protocol,
    )
    if model not in MODELS:
        raise UserError(f"{where}.model.name: no model '{model}'; {known(model, MODELS)}")
    if protocol not in PROTOCOLS:
        raise UserError(f"{where}.training.protocol: no protocol '{protocol}'; {known(protocol, PROTOCOLS)}")
    preparation = PREPARATIONS[data.prepare]
    checks: list[tuple[str, Options, str]] = [
        ("model", MODELS[model].options, f"model {model}"),
        ("data", preparation.options, f"dataset {dataset}"),
        ("training", PROTOCOLS[protocol].options, f"protocol {protocol}"),
    ]
    options = {s: check_options(values[s], kinds, f"{where}.{s}", owner) for s, kinds, owner in checks}
    raw = data.spec(dataset).checksums()
    config = {
        "model": {"name": model, "options": options["model"]},
        "data": {"dataset": dataset, "options": options["data"], "raw": raw},
        "training": {"protocol": protocol, "options": options["training"]},
        "precision": experiment.precision.value,
    }
    corpus = None
    if preparation.corpus:
        corpus = corpus_path(dataset, options["data"], raw)
    return Resolved(config=config, origins=origins, corpus=corpus, **common)


def corpus_path(dataset: str, options: Mapping[str, Any], raw: Mapping[str, str]) -> str:
    """Where a corpus lies: the name holds the hash of all that its content depends on."""
    return f"data/corpora/{dataset}-{hash_of({'dataset': dataset, 'options': dict(options), 'raw': dict(raw)})}.npz"


def _dataset(project: Project, name: str, where: str) -> Dataset:
    if name not in project.config.datasets:
        raise UserError(f"{where}.data.dataset: no dataset '{name}'; {known(name, project.config.datasets)}")
    dataset = project.config.datasets[name]
    if dataset.prepare not in PREPARATIONS:
        raise UserError(
            f"{project.root / CONFIG}: key datasets.{name}.prepare: no preparation '{dataset.prepare}'; "
            f"{known(dataset.prepare, PREPARATIONS)}"
        )
    return dataset


def _section_of(
    option: str, settings: Mapping[str, Mapping[str, Setting]], entry: TierEntry, where: str
) -> str:
    for section in ("training", "model", "data"):
        if option in settings[section]:
            return section
    if entry.dataset:
        return "data"
    every = {k: v for s in settings.values() for k, v in s.items()}
    raise UserError(f"{where}: the experiment has no setting '{option}'; {known(option, every)}")


def _variants(project: Project, paper: Paper, file: str) -> list[Resolved]:
    found = []
    for assumption, entry in paper.assumptions.items():
        for alternative, choice in entry.alternatives.items():
            for key in choice.experiments:
                for tier, tier_entry in choice.tiers.items():
                    found.append(
                        _resolve(
                            project,
                            paper,
                            key,
                            paper.experiments[key],
                            tier,
                            tier_entry,
                            file,
                            changed=choice.settings,
                            variant=(assumption, alternative),
                        )
                    )
    return found
