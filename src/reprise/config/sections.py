"""An experiment's model, data and training are held to the registries as they are written, before a tier changes them.

What is wrong in a family would else be told of the tier that changes it, and of every experiment that is like it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.places import Places
from reprise.config.project import CONFIG, Project
from reprise.config.schema import Dataset, Experiment
from reprise.errors import UserError, known
from reprise.options import Options, check_option, check_options

SECTIONS = ("model", "data", "training")
PRECISIONS = ("float32", "float64")
_MODELS = "MODELS of src/reprise/catalogue/models.py"
_PROTOCOLS = "PROTOCOLS of src/reprise/catalogue/protocols.py"
Takes = Mapping[str, tuple[Options, str]]


def check_sections(project: Project, name: str, experiment: Experiment, file: str, places: Places) -> None:
    """Raises `UserError` where the experiment `name` has no section that it needs, or one that is not as registered.

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
    if model not in MODELS:
        raise UserError(f"{where('model', 'name')}: no model '{model}' in {_MODELS}; {known(model, MODELS)}")
    if protocol not in PROTOCOLS:
        raise UserError(
            f"{where('training', 'protocol')}: no protocol '{protocol}' in {_PROTOCOLS}; {known(protocol, PROTOCOLS)}"
        )
    if model not in (trained := PROTOCOLS[protocol].models):
        remedy = "write none: it trains no model"
        if PROTOCOLS[protocol].trains:
            remedy = f"name {' or '.join(trained)}, or add it to {protocol} in src/reprise/catalogue/protocols.py"
        raise UserError(f"{where('model', 'name')}: '{model}' with the protocol {protocol}; {remedy}")
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

    One whose preparation is not registered is told in config.yaml.
    """
    datasets: dict[str, Any] = project.config.datasets
    if name not in datasets:
        raise UserError(f"{where}: no dataset '{name}'; {known(name, datasets)}")
    dataset: Dataset = datasets[name]
    if dataset.prepare not in PREPARATIONS:
        raise UserError(
            f"{project.root / CONFIG}: key datasets.{name}.prepare: no preparation '{dataset.prepare}' in "
            f"PREPARATIONS of src/reprise/catalogue/datasets.py; {known(dataset.prepare, PREPARATIONS)}"
        )
    return dataset
