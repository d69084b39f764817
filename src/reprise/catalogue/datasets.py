"""The preparations that the configuration may name under `datasets: <name>: prepare:`, and their modules.

Each module states what a token of its text is (`TOKENS`) and its options (`OPTIONS`).
"""

from reprise.catalogue.stated import Entry, Stated


class Preparation(Entry):
    """A module of `reprise.data`; "" where there is no data."""

    tokens = Stated("TOKENS", none="")
    """The tokens of the text in words, for readers of a loss per token; "" where there is no such loss."""
    corpus = Stated("CORPUS", True, none=False)
    """Whether it leaves a corpus file: False for data made while training, batch by batch."""


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
