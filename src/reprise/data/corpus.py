"""A corpus: integer tokens with sentence bounds for every split, and the vocabulary."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from reprise.errors import UserError
from reprise.files import atomic_path, dump_canonical_json, read_whole

Word = TypeVar("Word", str, bytes)
SENTENCE_END = "</s>"
UNKNOWN = "<unk>"
SPLITS = ("train", "valid", "test")
"""The splits of most corpora."""
_FORMAT = "reprise-corpus-1"
_PREPARE = "run `python -m reprise prepare PAPER/EXPERIMENT` for an experiment that reads it"
_ANOTHER = f"name another, or, if Reprise made it, remove it and {_PREPARE}"


@dataclass(frozen=True)
class Split:
    """Sentence i is `tokens[offsets[i]:offsets[i + 1]]`; its `</s>`, if there is one, is last."""

    tokens: np.ndarray  # (n,) int32
    offsets: np.ndarray  # (s + 1,) int64, from 0 to n

    @classmethod
    def from_tokens(cls, tokens: Sequence[int] | np.ndarray) -> Split:
        """Return a text that is one stretch."""
        return cls(np.array(tokens, np.int32), np.array([0, len(tokens)], np.int64))

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sequence[str]], vocabulary: Iterable[str]) -> Split:
        """Return sentences of words; a word that the vocabulary lacks is `<unk>`."""
        ids = {word: i for i, word in enumerate(vocabulary)}
        unknown = ids[UNKNOWN]
        return cls.from_id_lists([[ids.get(word, unknown) for word in sentence] for sentence in sentences])

    @classmethod
    def from_id_lists(cls, sentences: Sequence[Sequence[int] | np.ndarray]) -> Split:
        """Return sentences of token ids, one after the other."""
        tokens = np.concatenate([np.zeros(0, np.int32), *(np.asarray(ids, np.int32) for ids in sentences)])
        return cls(tokens, compute_offsets(map(len, sentences)))

    @classmethod
    def from_ended_sentences(cls, tokens: np.ndarray, end: int) -> Split:
        """Return a text each of whose sentences ends with the token `end`."""
        ends = np.flatnonzero(tokens == end) + 1
        return cls(tokens.astype(np.int32), np.concatenate([[0], ends]).astype(np.int64))

    @property
    def sentence_count(self) -> int:
        """Count the sentences."""
        return len(self.offsets) - 1


def rank_by_count(counts: Mapping[Word, int]) -> dict[Word, int]:
    """Return words and their counts by decreasing count; ties keep the mapping's order, which is that of appearance."""
    return dict(sorted(counts.items(), key=itemgetter(1), reverse=True))


def compute_unk_shares(splits: Mapping[str, Split], vocabulary: Iterable[str]) -> dict[str, float]:
    """Return the share of `<unk>` in each split, to nine digits; an empty split has none."""
    unknown = [i for i, word in enumerate(vocabulary) if word == UNKNOWN]
    return {
        split: round(float(np.isin(data.tokens, unknown).mean()), 9)
        for split, data in splits.items()
        if len(data.tokens)
    }


def compute_offsets(lengths: Iterable[int] | np.ndarray) -> np.ndarray:
    """Return where sentences of these lengths begin and the last one ends, (s + 1,) int64."""
    return np.concatenate([[0], np.cumsum(np.fromiter(lengths, np.int64))]).astype(np.int64)


def pack_sparse_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the column indices of the ones in a boolean matrix (V, K), as CSR.

    indptr (V + 1,) is int64, indices int32. Row t has the columns indices[indptr[t]:indptr[t + 1]], increasing.
    """
    return compute_offsets(matrix.sum(axis=1)), np.nonzero(matrix)[1].astype(np.int32)


@dataclass(frozen=True)
class Corpus:
    """A prepared dataset.

    Word corpora sort `vocabulary` by decreasing training frequency, ties by first appearance. So a token id is the
    word's rank minus 1. Treebanks sort it by the frequency in the entire corpus. `facts` are numbers known or counted:
    tokens, sentences and characters a split, vocabulary size, entropies in nats. `provenance` says what the corpus was
    made from: dataset, options, raw = {file: checksum}.
    """

    name: str
    splits: dict[str, Split]
    vocabulary: list[str]
    counts: np.ndarray  # (V,) int64, training counts
    facts: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_counts(
        cls,
        name: str,
        splits: dict[str, Split],
        counts: Mapping[str, int],
        boundaries: str,
        facts: Mapping[str, Any],
        extra: dict[str, np.ndarray] | None = None,
        sentences: str = "sentences",
    ) -> Corpus:
        """Return the corpus whose vocabulary is the words of `counts`, in their order.

        Add to `facts`: `boundaries`, the vocabulary size, and tokens and sentences of each split. `sentences` is the
        key of the last.
        """
        common_facts = {
            "boundaries": boundaries,
            "vocabulary": len(counts),
            "tokens": {split: len(data.tokens) for split, data in splits.items()},
            sentences: {split: data.sentence_count for split, data in splits.items()},
        }
        training_counts = np.array(list(counts.values()), np.int64)
        return cls(name, splits, list(counts), training_counts, common_facts | dict(facts), extra=extra or {})

    @property
    def boundaries(self) -> str:
        """Return the token that ends a sentence: `</s>`, `none`, or `line` if sentences are lines of symbols.

        `UserError` where the preparation does not say.
        """
        if "boundaries" not in self.facts:
            raise UserError(f"corpus {self.name}: no fact 'boundaries'; its preparation has to say </s>, none or line")
        return self.facts["boundaries"]

    def find_part_without_targets(self) -> str | None:
        """Return which split, or which lines of a fold, has no token that a model predicts; None if each has one.

        In a text with `</s>` every token is predicted. Every tag is predicted too. In other texts the first token of
        each split or line is not.
        """
        for split, data in self.splits.items():
            all_predicted = self.boundaries == SENTENCE_END or f"tags.{split}" in self.extra
            if len(data.tokens) < (1 if all_predicted else 2):
                return f"the split {split}"
            predicted = np.diff(data.offsets) > 1
            for fold, parts in enumerate(self.extra.get("part", ())):
                for number, name in enumerate(SPLITS):
                    if not predicted[parts == number].any():
                        return f"the part {name} of fold {fold}"
        return None

    def check_arrays(self) -> None:
        """Raise ValueError where the parts do not fit together."""
        size = len(self.vocabulary)
        fits = {
            "name, facts or provenance are of another kind": isinstance(self.name, str)
            and isinstance(self.facts, dict)
            and isinstance(self.provenance, dict),
            "a word of the vocabulary is no text": all(isinstance(word, str) for word in self.vocabulary),
            "a word stands twice in the vocabulary": len(set(self.vocabulary)) == size,
            "counts and vocabulary differ": _is_row(self.counts, np.int64) and len(self.counts) == size,
        }
        for name, split in self.splits.items():
            tokens, offsets = split.tokens, split.offsets
            rows = _is_row(tokens, np.int32) and _is_row(offsets, np.int64) and len(offsets) > 0
            bounds = rows and offsets[0] == 0 and offsets[-1] == len(tokens) and np.all(np.diff(offsets) >= 0)
            fits[f"tokens or offsets of {name} are no rows of int32 and int64"] = rows
            fits[f"offsets of {name} do not run up from 0 to its number of tokens"] = bounds
            inside = rows and (len(tokens) == 0 or (tokens.min() >= 0 and tokens.max() < size))
            fits[f"tokens of {name} lie outside the vocabulary"] = inside
        for name, array in self.extra.items():
            fits[f"extra {name} holds Python objects"] = array.dtype != object
        if problem := next((problem for problem, holds in fits.items() if not holds), None):
            raise ValueError(problem)

    def save(self, path: Path | str) -> None:
        """Write one `.npz` without pickles, whole or not at all; equal corpora give equal bytes.

        Raises:
            ValueError: The parts do not fit together or facts hold NaN.
        """
        self.check_arrays()
        header = {
            "format": _FORMAT,
            "name": self.name,
            "splits": list(self.splits),
            "vocabulary": self.vocabulary,
            "facts": self.facts,
            "provenance": self.provenance,
            "extra": list(self.extra),
        }
        arrays = {"header": np.frombuffer(dump_canonical_json(header).encode(), np.uint8), "counts": self.counts}
        for name, split in self.splits.items():
            arrays |= {f"tokens.{name}": split.tokens, f"offsets.{name}": split.offsets}
        arrays |= {f"extra.{name}": array for name, array in self.extra.items()}
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Path | str) -> Corpus:
        """Read what `save` wrote.

        Raises:
            UserError: The file is missing, damaged or foreign.
            OSError: It cannot be read, which is no damage.
        """
        path = Path(path)
        if not path.is_file():
            raise UserError(f"{path}: no such corpus; {_PREPARE}")
        content = io.BytesIO(read_whole(path))
        try:
            if not zipfile.is_zipfile(content):
                raise ValueError("not a complete .npz file")
            with np.load(content, allow_pickle=False) as arrays:
                header = json.loads(arrays["header"].tobytes()) if "header" in arrays.files else {}
                if header.get("format") != _FORMAT:
                    raise UserError(f"{path}: not a corpus of this version of Reprise; {_ANOTHER}")
                splits = {n: Split(arrays[f"tokens.{n}"], arrays[f"offsets.{n}"]) for n in header["splits"]}
                extra = {n: arrays[f"extra.{n}"] for n in header["extra"]}
                described = (header[key] for key in ("facts", "provenance"))
                corpus = cls(header["name"], splits, header["vocabulary"], arrays["counts"], *described, extra)
            corpus.check_arrays()
        except (UserError, MemoryError):
            raise
        except Exception as error:  # a damaged archive raises errors of many kinds
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"{path}: damaged corpus ({reason}); {_ANOTHER}") from None
        return corpus


def _is_row(array: Any, dtype: type) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == dtype
