"""Multi30k, French to English: captions of pictures (Elliott et al. 2016 and 2017; the test is that of 2016, Flickr).

A line of an English file is the translation of the same line of the French one. Words are cut by the rule of
`mteval`; in French an elided word is one of its own ("l' homme", "qu' il"). Typographic apostrophes become
plain ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.data.corpus import Corpus
from reprise.data.pairs.mteval import words_13a
from reprise.data.pairs.pairs import SPLITS, TARGETS, Pair, parallel_corpus
from reprise.data.raw import read_lines
from reprise.errors import UserError
from reprise.options import COUNT, Options

TOKENS = TARGETS
OPTIONS: Options = {"pairs": COUNT, "lowercase": bool, "minimum_count": COUNT}
FILES = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
_ELISION = re.compile(r"(?<=\w)'(?=\w)")


def prepare(raw: Path, options: Mapping[str, Any]) -> Corpus:
    """Corpus of `raw/{train,val,test_2016_flickr}.{fr,en}.gz`, source French, target English; see `parallel_corpus`.

    Options: the first `pairs` of the training text, whether texts are set in lower case, how often a word has to stand
    in them (`minimum_count`) to be in the vocabulary. Fact `lines`: how many the files have. Raises UserError for
    more `pairs` than there are, and files that are missing, damaged or do not fit together.
    """
    lines = {split: _aligned(raw, name) for split, name in FILES.items()}
    if options["pairs"] > len(lines["train"]):
        raise UserError(
            f"dataset multi30k: option pairs: {options['pairs']:,} are more than the {len(lines['train']):,} of"
            f" {raw / FILES['train']}.fr.gz; lower it"
        )
    used = {**lines, "train": lines["train"][: options["pairs"]]}
    pairs = {split: [_pair(*both, options["lowercase"]) for both in used[split]] for split in SPLITS}
    corpus = parallel_corpus("multi30k", pairs, lines["test"], options["minimum_count"], options["lowercase"])
    corpus.facts["lines"] = {split: len(found) for split, found in lines.items()}
    return corpus


def _aligned(raw: Path, name: str) -> list[tuple[str, str]]:
    """The lines of both files, (French, English)."""
    french, english = raw / f"{name}.fr.gz", raw / f"{name}.en.gz"
    sources, targets = _lines(french), _lines(english)
    if len(sources) != len(targets):
        raise UserError(
            f"{english}: {len(targets):,} lines where {french.name} has {len(sources):,}; a line has to be the"
            " translation of the other's: fetch both again"
        )
    return list(zip(sources, targets, strict=True))


def _lines(path: Path) -> list[str]:
    lines = read_lines(path)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise UserError(f"{path}: line {number} is empty, so that its pair is none; fetch it again")
    return [line.strip() for line in lines]


def _pair(source: str, target: str, lowercase: bool) -> Pair:
    source, target = (text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for text in (source, target))
    if lowercase:
        source, target = source.lower(), target.lower()
    return words_13a(_ELISION.sub("' ", source)), words_13a(target)
