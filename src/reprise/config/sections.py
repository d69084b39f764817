"""An experiment's model, data and training fit the catalogue as they are written, before a tier changes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.mistakes import Places
from reprise.config.project import CONFIG, Project
from reprise.config.schema import Dataset, Experiment
from reprise.errors import UserError, require_known
from reprise.options import Options, check_option, check_options

SECTIONS = ("model", "data", "training")
PRECISIONS = ("float32", "float64")
Takes = Mapping[str, tuple[Options, str]]


def check_sections(project: Project, name: str, experiment: Experiment, file: str, places: Places) -> None:
    """Raises `UserError` where the experiment `name` has no section that it needs, or one that nothing can train.

    The key is the one that was written: in the experiment's entry, or in its family's.
    """

    def where(*keys: str) -> str:
        return f"{file}: key {places.of(name, *keys)}"

    for section in (*SECTIONS, "precision"):
        if getattr(experiment, section) is None:
            remedy = "add it, or name a family that has it with 'like'"
            raise UserError(f"{file}: key experiments.{name}.{section}: missing; {remedy}")
    check_option(experiment.precision.value, PRECISIONS, where("precision"))
    model, protocol = experiment.model.name, experiment.training.protocol
    find_dataset(project, experiment.data.dataset, where("data", "dataset"))
    require_known(model, MODELS, where("model", "name"), "model")
    require_known(protocol, PROTOCOLS, where("training", "protocol"), "protocol")
    trained = PROTOCOLS[protocol].models
    if model not in trained:
        remedy = f"write {' or '.join(trained)}, or add it to TRAINS in the file of the protocol"
        raise UserError(f"{where('model', 'name')}: the protocol {protocol} does not train '{model}'; {remedy}")
    for option in PROTOCOLS[protocol].model_options:
        if option not in MODELS[model].options:
            raise UserError(f"{MODELS[model].file}: OPTIONS: {protocol} needs the option '{option}' of it; add it")
    for section, (options, owner) in taken(project, experiment, experiment.data.dataset).items():
        values = {option: setting.value for option, setting in getattr(experiment, section).settings.items()}
        check_options(values, options, partial(where, section), owner)


def taken(project: Project, experiment: Experiment, dataset: str) -> Takes:
    """By section, the options that the experiment's parts take where it reads `dataset`, and whose they are."""
    model, protocol = experiment.model.name, experiment.training.protocol
    prepare = project.config.datasets[dataset].prepare
    return {
        "model": (MODELS[model].options, f"model {model}"),
        "data": (PREPARATIONS[prepare].options, f"dataset {dataset}"),
        "training": (PROTOCOLS[protocol].options, f"protocol {protocol}"),
    }


def find_dataset(project: Project, name: str, where: str) -> Dataset:
    """The dataset of config.yaml; `where` begins the `UserError` for one that is not there ("file: key data.dataset").

    An unknown preparation is reported where it stands, in config.yaml.
    """
    datasets: dict[str, Any] = project.config.datasets
    require_known(name, datasets, where, "dataset")
    dataset: Dataset = datasets[name]
    place = f"{project.root / CONFIG}: key datasets.{name}.prepare"
    require_known(dataset.prepare, PREPARATIONS, place, "preparation")
    return dataset
