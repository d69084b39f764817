"""A corpus: integer tokens with sentence bounds for every split, and the vocabulary."""

from __future__ import annotations

import errno
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from reprise.errors import UserError
from reprise.files import atomic_path, canonical_json

SENTENCE_END = "</s>"
UNKNOWN = "<unk>"
_FORMAT = "reprise-corpus-1"
_PREPARE = "run `python -m reprise prepare PAPER/EXPERIMENT` for an experiment that reads it"


@dataclass(frozen=True)
class Split:
    """Sentence i is `tokens[offsets[i]:offsets[i + 1]]`; its `</s>`, if there is one, is last."""

    tokens: np.ndarray  # (n,) int32
    offsets: np.ndarray  # (s + 1,) int64, from 0 to n

    @property
    def sentences(self) -> int:
        """Number of sentences s."""
        return len(self.offsets) - 1

    def share_of(self, token: int) -> float:
        """The share of this token, to nine digits; 0 in an empty text."""
        return round(float(np.mean(self.tokens == token)), 9) if len(self.tokens) else 0.0


def offsets_of(lengths: Iterable[int] | np.ndarray) -> np.ndarray:
    """Where sentences of these lengths begin and the last one ends, (s + 1,) int64."""
    return np.concatenate([[0], np.cumsum(np.fromiter(lengths, np.int64))]).astype(np.int64)


@dataclass(frozen=True)
class Corpus:
    """A prepared dataset.

    Word corpora sort `vocabulary` by decreasing training frequency, ties by first appearance, so
    that a token id is the word's rank minus 1; treebanks by the frequency in the entire corpus.
    `facts` are numbers known or counted (tokens, sentences and characters a split, vocabulary size,
    entropies in nats); `provenance` says what the corpus was made from (dataset, options, raw =
    {file: checksum}).
    """

    name: str
    splits: dict[str, Split]
    vocabulary: list[str]
    counts: np.ndarray  # (V,) int64, training counts
    facts: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def boundaries(self) -> str:
        """The token that ends a sentence, `</s>`; `none` where none does; `line` where sentences are lines of symbols.

        `UserError` where the preparation does not say.
        """
        if "boundaries" not in self.facts:
            raise UserError(f"corpus {self.name}: no fact 'boundaries'; its preparation has to say </s>, none or line")
        return self.facts["boundaries"]

    def check(self) -> None:
        """Raises ValueError where the parts do not fit together."""
        size = len(self.vocabulary)
        _require(len(set(self.vocabulary)) == size, "a word stands twice in the vocabulary")
        _require_array(self.counts, np.int64, "counts")
        _require(len(self.counts) == size, "counts and vocabulary differ in length")
        for name, split in self.splits.items():
            tokens, offsets = split.tokens, split.offsets
            _require_array(tokens, np.int32, f"tokens of {name}")
            _require_array(offsets, np.int64, f"offsets of {name}")
            bounds = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(tokens)
            _require(bounds, f"offsets of {name} do not run from 0 to its number of tokens")
            _require(bool(np.all(np.diff(offsets) >= 0)), f"offsets of {name} decrease")
            inside = len(tokens) == 0 or (tokens.min() >= 0 and tokens.max() < size)
            _require(bool(inside), f"tokens of {name} lie outside the vocabulary")

    def save(self, path: Path | str) -> None:
        """Writes one `.npz` without pickles, whole or not at all; equal corpora give equal bytes.

        Raises ValueError where the parts do not fit together or facts hold NaN.
        """
        self.check()
        header = {
            "format": _FORMAT,
            "name": self.name,
            "splits": list(self.splits),
            "vocabulary": self.vocabulary,
            "facts": self.facts,
            "provenance": self.provenance,
            "extra": list(self.extra),
        }
        arrays = {"header": np.frombuffer(canonical_json(header).encode(), np.uint8)}
        arrays["counts"] = self.counts
        for name, split in self.splits.items():
            arrays[f"tokens.{name}"] = split.tokens
            arrays[f"offsets.{name}"] = split.offsets
        for name, array in self.extra.items():
            _require(array.dtype != object, f"extra {name} holds Python objects")
            arrays[f"extra.{name}"] = array
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Path | str) -> Corpus:
        """Reads what `save` wrote.

        Raises UserError for a missing, damaged or foreign file, and OSError for one that cannot be read, which is no
        damage.
        """
        path = Path(path)
        if not path.is_file():
            raise UserError(f"{path}: no such corpus; {_PREPARE}")
        try:
            corpus = _read(path)
            corpus.check()
        except _Foreign:
            raise UserError(f"{path}: not a corpus of this version of Reprise; remove it and {_PREPARE}") from None
        except Exception as error:  # a damaged archive raises errors of many kinds
            # Without a number, or for a place that no file has, it comes from a directory of the archive that is wrong.
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise OSError(error.errno, error.strerror, str(path)) from error
            if isinstance(error, MemoryError):
                raise
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"{path}: damaged corpus ({reason}); remove it and {_PREPARE}") from None
        return corpus


class _Foreign(Exception):
    pass


def _read(path: Path) -> Corpus:
    # Opened here: numpy leaves a file open that it cannot read.
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("not a complete .npz file")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            header = json.loads(arrays["header"].tobytes().decode()) if "header" in arrays.files else None
            if not isinstance(header, dict) or header.get("format") != _FORMAT:
                raise _Foreign
            return Corpus(
                name=header["name"],
                splits={name: Split(arrays[f"tokens.{name}"], arrays[f"offsets.{name}"]) for name in header["splits"]},
                vocabulary=header["vocabulary"],
                counts=arrays["counts"],
                facts=header["facts"],
                provenance=header["provenance"],
                extra={name: arrays[f"extra.{name}"] for name in header["extra"]},
            )


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(problem)


def _require_array(array: np.ndarray, dtype: type, name: str) -> None:
    _require(array.ndim == 1 and array.dtype == dtype, f"{name}: not a row of {dtype.__name__}")
