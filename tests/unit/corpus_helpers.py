"""What the tests of corpora share: files to make them from, and their texts as one reads them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from reprise.data.corpus import Corpus, Split


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    """`folder` with these files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def ptb_files(train: str, valid: str = "a\n", test: str = "a\n") -> dict[str, str]:
    return {"ptb.train.txt": train, "ptb.valid.txt": valid, "ptb.test.txt": test}


def read(corpus: Corpus, split: str, between: str = " ") -> list[str]:
    """The sentences of a split, spelled."""
    return spelled(corpus.splits[split], corpus.vocabulary, between)


def spelled(split: Split, vocabulary: list[str], between: str = " ") -> list[str]:
    words = [vocabulary[i] for i in split.tokens]
    return [between.join(words[a:b]) for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True)]


def split_of(lines: Iterable[Sequence[int]]) -> Split:
    """These lines of token ids."""
    lines = list(lines)
    tokens = np.concatenate([np.array(line, np.int32) for line in lines])
    return Split(tokens, np.concatenate([[0], np.cumsum([len(line) for line in lines])]))


def random_split(symbols: int, lengths: Sequence[int]) -> Split:
    """Lines of random symbols with so many tokens each."""
    random = np.random.default_rng(0)
    return split_of(random.integers(0, symbols, length) for length in lengths)
