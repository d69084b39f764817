"""Quotations are the papers' own words: each is looked up in the text of its document.

The texts are no part of the project: they lie in the folder that REPRISE_PAPERS names, or in ../shared/papers.
"""

import os
import re
import unicodedata
from pathlib import Path

import pytest

from reprise.config.project import load_project

ROOT = Path(__file__).resolve().parents[3]
PAPERS = Path(os.environ.get("REPRISE_PAPERS", ROOT.parent / "shared" / "papers"))


def letters(text: str) -> str:
    """Keep letters and digits alone: texts taken from a PDF differ in blanks, hyphens, ligatures and TeX commands."""
    plain = re.sub(r"\\[a-zA-Z]+", "", unicodedata.normalize("NFKC", text))
    return "".join(character for character in plain if character.isalnum())


def contains(text: str, quote: str) -> bool:
    """Tell whether the parts of a quotation stand in a text in their order; words in brackets are not its own."""
    text_letters, place = letters(text), 0
    for part in map(letters, re.split(r"\[[^\]]*\]|…", quote)):
        place = text_letters.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("the score falls as N grows", True),
        ("the score [of the text] falls", True),
        ("scores … as N grows", False),
        ("as N grows … the score", False),
        ("the score falls when N grows", False),
    ],
)
def test_a_quotation_stands_in_a_text_word_by_word_and_in_order(quote, stands):
    assert contains("Note: the \\mathbf{score} fal-\nls as $N$ grows.", quote) is stands


def test_every_quotation_of_the_committed_papers_stands_in_its_document():
    missing, texts = [], {}
    for paper, content in load_project(ROOT).papers.items():
        files = sorted(PAPERS.glob(f"{content.document}_*.txt"))
        if not files:
            pytest.skip(f"no text of document {content.document} in {PAPERS}; name its folder in REPRISE_PAPERS")
        text = texts.setdefault(paper, files[0].read_text(encoding="utf-8"))
        missing += [f"{paper}/{key}" for key, c in content.claims.items() if c.quote and not contains(text, c.quote)]
    assert texts
    assert missing == []
