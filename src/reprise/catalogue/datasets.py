"""The preparations that the configuration may name under `datasets: <name>: prepare:`, and their modules.

Their options are in `reprise.catalogue.options`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from reprise.catalogue.own import is_own, load_own, report_own, require_kind
from reprise.catalogue.wording import ByOption, Wording, get_source_path
from reprise.errors import UserError

SENTENCES = "words and a </s> at the end of every sentence"
_TARGETS = f"{SENTENCES} of the target text, rare words as <unk>"
_BOOK = "characters, blanks among them"
_LINES = ByOption(
    "tokens",
    {
        "characters": "small letters and spaces of a line, whose end is no token",
        "bigrams": "pairs of letters within a word, single ones left over, and spaces of a line, whose end is no token",
    },
)
_FRENCH = ByOption(
    "accounting",
    {
        "rows": "lower-cased words and ranges, and three @nil a sentence for the file's lines that are neither",
        "surface": "lower-cased words and ranges",
        "words": "lower-cased words",
    },
)


@dataclass(frozen=True)
class Preparation:
    """A module of `reprise.data`; "" where there is no data."""

    target: str
    tokens: Wording = ""
    """The tokens of the text in words, for readers of a loss per token; "" where there is no such loss."""
    corpus: bool = True
    """Whether it leaves a corpus file: False for data made while training, batch by batch."""

    @property
    def file(self) -> str:
        """Return the file of its function."""
        return self.target if is_own(self.target) else get_source_path(self.target)

    def prepare(self, raw: Path, options: Mapping[str, Any]) -> Any:
        """Make the corpus from the raw files in a folder."""
        if is_own(self.target):
            function = load_own(self.target)
            with report_own(self.target):
                corpus = function(raw, **options)
            require_kind(corpus, import_module("reprise.data.corpus").Corpus, self.target)
            try:
                corpus.check_arrays()
            except Exception as error:  # what is of another kind raises errors of many kinds
                raise UserError(f"{self.target}: returns no sound corpus ({error}); correct it") from error
            return corpus
        return import_module(self.target).prepare(raw, options)


def _make_preparation(module: str, tokens: Wording, corpus: bool = True) -> Preparation:
    return Preparation(f"reprise.data.{module}", tokens, corpus)


PREPARATIONS = {
    "none": Preparation("", corpus=False),
    "palindromes": _make_preparation("synthetic.palindromes", "digits", corpus=False),
    "names": _make_preparation("synthetic.names", "words", corpus=False),
    "ptb": _make_preparation("text.ptb", f"{SENTENCES}, <unk> and N among the words"),
    "text8": _make_preparation("text.text8", "words of running text without sentences, rare ones as <unk>"),
    "books": _make_preparation("text.books", _BOOK),
    "wsj_characters": _make_preparation("text.wsj_characters", _LINES),
    "ud_french": _make_preparation("treebank.ud_french", _FRENCH),
    "ud_tags": _make_preparation("treebank.ud_tags", "lower-cased words, rare ones as <unk>"),
    "multi30k": _make_preparation("pairs.multi30k", _TARGETS),
    "synthetic": _make_preparation("synthetic.synthetic", SENTENCES),
    "synthetic_lines": _make_preparation("synthetic.synthetic_lines", _LINES),
    "synthetic_pairs": _make_preparation("synthetic.synthetic_pairs", _TARGETS),
    "synthetic_prose": _make_preparation("synthetic.synthetic_prose", _BOOK),
    "synthetic_tagged": _make_preparation("synthetic.synthetic_tagged", "words, rare ones as <unk>"),
    "synthetic_tags": _make_preparation("synthetic.synthetic_tags", "words and a @nil at the end of every sentence"),
}
"""`prepare:` -> file in src/reprise/data/, and what its tokens are."""


def find_preparation(name: str) -> Preparation:
    """Look a preparation up: one of the catalogue, or one of one's own by its import path."""
    return Preparation(name, "tokens") if is_own(name) else PREPARATIONS[name]
