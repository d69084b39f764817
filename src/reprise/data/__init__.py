"""Data: raw files become corpora of integer tokens. A dataset is a module with `prepare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprise.catalogue.datasets import find_preparation
from reprise.data.corpus import Corpus
from reprise.data.raw import describe_fetching, find_mismatch
from reprise.errors import UserError, shorten, suggest_name
from reprise.options import Values

if TYPE_CHECKING:  # training imports this package, and has no pydantic
    from reprise.config.datasets import NamedDataset


def prepare_corpus(dataset: NamedDataset, options: Values, raw_root: Path, path: Path) -> Corpus:
    """Prepare the dataset from `raw_root/<dataset>/`, save it at `path` and return it.

    Fills `provenance` with the dataset's name, the options, and the raw files' checksums, which are verified first.

    Raises:
        UserError: A raw file is missing or altered, a part of the text has no token to predict, or facts differ from
            the dataset's `expected`. Nothing is then written to `path`.
    """
    preparation = find_preparation(dataset.prepare)
    raw = dataset.get_raw_folder(raw_root)
    for file in dataset.files:
        if not (raw / file.name).is_file():
            raise UserError(f"{raw / file.name}: no such raw file; {describe_fetching(raw)}")
        # Of a member its archive alone may have a checksum, which `fetch` verified.
        if file.own_digest and (problem := find_mismatch(raw / file.name, *file.own_digest)):
            raise UserError(f"{raw / file.name}: {problem}; {describe_fetching(raw)}")
    prepared = preparation.prepare(raw, options)
    if empty := prepared.find_part_without_targets():
        raise UserError(f"{raw}: {empty} has no token to predict; use more text, or choose other sizes")
    if difference := _find_difference(dataset.expected, prepared.facts):
        place = f"config/config.yaml: key datasets.{dataset.name}.expected"
        raise UserError(f"{place}.{difference}; correct the entry, or what {preparation.file} makes")
    provenance = {"dataset": dataset.name, "options": dict(options), "raw": dataset.list_checksums()}
    corpus = replace(prepared, name=dataset.name, provenance=provenance)
    corpus.save(path)
    return corpus


def _find_difference(expected: Mapping[str, Any], facts: Mapping[str, Any]) -> str | None:
    """Return the first key, dotted, whose fact differs from what is expected, and both values."""
    for key, value in expected.items():
        if isinstance(value, Mapping) and isinstance(facts.get(key), Mapping):
            if inner := _find_difference(value, facts[key]):
                return f"{key}.{inner}"
        elif key not in facts:
            return f"{key}: expected {shorten(value)}, got nothing ({suggest_name(key, facts)})"
        elif facts[key] != value:
            return f"{key}: expected {shorten(value)}, got {shorten(facts[key])}"
    return None
