"""Data: raw files become corpora of integer tokens. One dataset is one module with `prepare`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from reprise.catalogue.spec import DatasetSpec, how_to_fetch
from reprise.data.checksums import mismatch
from reprise.data.corpus import Corpus
from reprise.data.options import resolve
from reprise.errors import UserError, known, shortened

_REMEDY = "name one of PREPARATIONS of src/reprise/catalogue/datasets.py"


FOLDERS = ("text", "treebank", "pairs", "synthetic")


def _has(folder: str, module: str) -> bool:
    return (Path(__file__).parent / folder / f"{module}.py").is_file()


def prepare_corpus(dataset: DatasetSpec, options: Mapping[str, Any], raw_root: Path, path: Path) -> Corpus:
    """Prepares the dataset from `raw_root/<dataset>/`, saves it at `path` and returns it.

    Fills `provenance` with the dataset's name, the options given, the defaults that fill them up,
    and the raw files' checksums, which are verified first. Raises UserError for an unknown module
    or option, a missing or altered raw file, and facts that differ from the dataset's `expected`;
    nothing is then written to `path`.
    """
    module = preparation(dataset)
    resolved = resolve(options, module.OPTIONS, dataset.name)
    raw = dataset.raw_folder(raw_root)
    for file in dataset.files:
        place = raw / file.name
        if not place.is_file():
            raise UserError(f"{place}: no such raw file; {how_to_fetch(raw)}")
        if file.member and not file.member_digest:
            continue  # only its archive has a checksum, which `fetch` verified
        algorithm, digest = file.checksum.split(":")
        if problem := mismatch(place, algorithm, digest):
            raise UserError(f"{place}: {problem}; {how_to_fetch(raw)}")
    prepared = module.prepare(raw, resolved)
    difference = _difference(dataset.expected, prepared.facts)
    if difference:
        raise UserError(
            f"config/config.yaml: key datasets.{dataset.name}.expected.{difference}; correct the entry, or what "
            f"src/{module.__name__.replace('.', '/')}.py makes"
        )
    corpus = Corpus(
        name=dataset.name,
        splits=prepared.splits,
        vocabulary=prepared.vocabulary,
        counts=prepared.counts,
        facts=prepared.facts,
        provenance={
            "dataset": dataset.name,
            "options": dict(options),
            "defaults": {k: v for k, v in resolved.items() if k not in options},
            "raw": dataset.checksums(),
        },
        extra=prepared.extra,
    )
    corpus.save(path)
    return corpus


def preparation(dataset: DatasetSpec) -> ModuleType:
    """The module with the dataset's `OPTIONS` and `prepare`; UserError if there is none."""
    name = next(
        (f"reprise.data.{folder}.{dataset.prepare}" for folder in FOLDERS if _has(folder, dataset.prepare)),
        f"reprise.data.{dataset.prepare}",
    )
    place = f"config/config.yaml: key datasets.{dataset.name}.prepare: {dataset.prepare!r}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", dataset.prepare):
        raise UserError(f"{place} is not the name of a module; {_REMEDY}")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise UserError(f"{place}: there is no module {name}; {_REMEDY}") from None
        raise UserError(f"{place} needs the package {error.name}, which is not installed") from None
    if not callable(getattr(module, "prepare", None)) or not hasattr(module, "OPTIONS"):
        raise UserError(f"{place}: {name} does not prepare a corpus")
    return module


def _difference(expected: Mapping[str, Any], facts: Mapping[str, Any]) -> str | None:
    """The first key, dotted, whose fact differs from what is expected, and both values."""
    for key, value in expected.items():
        if isinstance(value, Mapping) and isinstance(facts.get(key), Mapping):
            if inner := _difference(value, facts[key]):
                return f"{key}.{inner}"
        elif key not in facts:
            return f"{key}: expected {shortened(value)}, got nothing ({known(key, facts)})"
        elif facts[key] != value:
            return f"{key}: expected {shortened(value)}, got {shortened(facts[key])}"
    return None
