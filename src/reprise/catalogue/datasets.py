"""The preparations that the configuration may name under `datasets: <name>: prepare:`, and their modules.

Each module states what a token of its text is (`TOKENS`) and its options (`OPTIONS`).
"""

from __future__ import annotations

from dataclasses import dataclass

from reprise.catalogue.stated import stated
from reprise.catalogue.wording import Wording
from reprise.options import Options
from reprise.registered import source_of


@dataclass(frozen=True)
class Preparation:
    """A module of `reprise.data`; "" where there is no data."""

    module: str

    @property
    def file(self) -> str:
        return source_of(self.module)

    @property
    def tokens(self) -> Wording:
        """The tokens of the text in words, for readers of a loss per token; "" where there is no such loss."""
        return stated(self.module, "TOKENS") if self.module else ""

    @property
    def options(self) -> Options:
        """Every option with its type; an experiment states all of them."""
        return stated(self.module, "OPTIONS") if self.module else {}

    @property
    def corpus(self) -> bool:
        """Whether it leaves a corpus file: False for data made while training, batch by batch (`CORPUS`)."""
        return bool(self.module) and stated(self.module, "CORPUS", True)


_MODULES = {
    "none": "",
    "palindromes": "synthetic.palindromes",
    "names": "synthetic.names",
    "ptb": "text.ptb",
    "text8": "text.text8",
    "books": "text.books",
    "wsj_characters": "text.wsj_characters",
    "ud_french": "treebank.ud_french",
    "ud_tags": "treebank.ud_tags",
    "multi30k": "pairs.multi30k",
    "synthetic": "synthetic.synthetic",
    "synthetic_lines": "synthetic.synthetic_lines",
    "synthetic_pairs": "synthetic.synthetic_pairs",
    "synthetic_prose": "synthetic.synthetic_prose",
    "synthetic_tagged": "synthetic.synthetic_tagged",
    "synthetic_tags": "synthetic.synthetic_tags",
}
"""`prepare:` -> file in src/reprise/data/."""

PREPARATIONS = {name: Preparation(module and f"reprise.data.{module}") for name, module in _MODULES.items()}
