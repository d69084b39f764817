"""Characters of the Wall Street Journal text of the Penn Treebank, from Mikolov's preprocessing of it.

Document 000 (section 4) reads the licensed raw text, 49,689 lines; `ldc_wsj` prepares that one. Here the three files of
Mikolov's text (Interspeech 2011), 49,199 lines, are put one after the other and normalised as the paper says. Their
own preprocessing leaves traces that make the text easier: a rare word is `<unk>` and becomes the word "unk", a number
is `N` and becomes the word "n", `n't` and `'s` stand apart and become "n t" and "s", punctuation is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.data.corpus import Corpus
from reprise.data.text import character_lines, words

OPTIONS = character_lines.OPTIONS
FILES = ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt")


def prepare(raw: Path, options: Mapping[str, Any]) -> Corpus:
    """Corpus of `raw/ptb.{train,valid,test}.txt`, in this order; options as in `character_lines.corpus_of`.

    Raises UserError for missing or empty files and for unknown options.
    """
    return character_lines.corpus_of("wsj-characters", b"".join(_read(raw / name) for name in FILES), options)


def _read(path: Path) -> bytes:
    text = words.read_text(path)
    return text if text.endswith(b"\n") else text + b"\n"
