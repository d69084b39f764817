"""Multi30k, French to English: captions of pictures (Elliott et al. 2016 and 2017; the test is that of 2016, Flickr).

A line of an English file is the translation of the same line of the French one. Words are cut by the rule of
`mteval`; in French an elided word is one of its own ("l' homme", "qu' il"). Typographic apostrophes become
plain ones.
"""

import re
from pathlib import Path

from reprise.data.corpus import Corpus
from reprise.data.pairs.mteval import tokenise_13a
from reprise.data.pairs.pairs import Pair, make_parallel_corpus
from reprise.data.raw import make_unreadable_error, read_lines
from reprise.errors import UserError
from reprise.options import Values

FILES = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
_ELISION = re.compile(r"(?<=\w)'(?=\w)")


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the parallel corpus of `raw/{train,val,test_2016_flickr}.{fr,en}.gz`: source French, target English.

    Options: `pairs` is how many of the training text are read, from the first on. `lowercase` says whether texts are
    set in lower case. `minimum_count` is how often a word of the vocabulary stands in them. The fact `lines` counts the
    lines of the files.

    Raises:
        UserError: The files have fewer than `pairs`, are missing or damaged, or do not fit together.
    """
    lines = {split: _read_aligned_lines(raw, name) for split, name in FILES.items()}
    aligned, pair_count = len(lines["train"]), options["pairs"]
    if pair_count > aligned:
        source = raw / f"{FILES['train']}.fr.gz"
        raise UserError(
            f"dataset multi30k: option pairs: {pair_count:,} are more than the {aligned:,} of {source}; lower it"
        )
    used = {**lines, "train": lines["train"][:pair_count]}
    pairs = {split: [_make_pair(*both, options["lowercase"]) for both in texts] for split, texts in used.items()}
    corpus = make_parallel_corpus("multi30k", pairs, lines["test"], options["minimum_count"], options["lowercase"])
    corpus.facts["lines"] = {split: len(texts) for split, texts in lines.items()}
    return corpus


def _read_aligned_lines(raw: Path, name: str) -> list[tuple[str, str]]:
    """Return the lines of both files, (French, English)."""
    paths = raw / f"{name}.fr.gz", raw / f"{name}.en.gz"
    sources, targets = ([line.strip() for line in read_lines(path)] for path in paths)
    for path, lines in zip(paths, (sources, targets), strict=True):
        if "" in lines:
            number = lines.index("") + 1
            raise make_unreadable_error(path, "empty, so that the other language's line has no translation", number)
    if len(sources) != len(targets):
        problem = f"{len(targets):,} lines, but {paths[0].name} has {len(sources):,} and each needs its translation"
        raise make_unreadable_error(paths[1], problem)
    return list(zip(sources, targets, strict=True))


def _make_pair(source: str, target: str, lowercase: bool) -> Pair:
    return cut_french(source, lowercase), tokenise_13a(_normalise(target, lowercase))


def cut_french(line: str, lowercase: bool) -> list[str]:
    """Return the words of a line of French."""
    return tokenise_13a(_ELISION.sub("' ", _normalise(line, lowercase)))


def _normalise(line: str, lowercase: bool) -> str:
    line = line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return line.lower() if lowercase else line
