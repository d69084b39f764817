"""The counts of the real treebanks, and where their files come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reprise.config.project import load_project
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus
from reprise.data.fetch import fetch
from reprise.data.treebank.conllu_rows import read_treebank
from reprise.data.treebank.ud_french import tags_of, token_rows
from reprise.report.papers.loglinear.tables import PAPER_TAGS

ROOT = Path(__file__).parents[3]

PAPER = {"accounting": "rows", "validation": "last", "validation_sentences": 728}


@pytest.mark.slow
def test_release_1_3_dev_and_test_have_the_counts_of_the_paper(mirror):
    counts = {"test": (298, 7018, 192, 8104), "dev": (1596, 38726, 1211, 44725)}
    for part, (n, n_words, ranges, lines) in counts.items():
        treebank = read_treebank(mirror / "ud-french-gsd-r1.3" / f"fr-ud-{part}.conllu")
        rows, surface, words = (
            [row for sentence in treebank.sentences for row in token_rows(sentence, accounting)]
            for accounting in ("rows", "surface", "words")
        )
        assert (len(treebank.sentences), treebank.lines, len(rows)) == (n, lines, lines)
        assert (len(surface), len(words)) == (n_words + ranges, n_words)
        assert {tag for row in rows for tag in tags_of(row.upos, row.features)} <= set(PAPER_TAGS)


def prepared(name: str, folder: Path, shelf: Path) -> Corpus:
    """The corpus as `reprise prepare` makes it."""
    spec = load_project(ROOT).spec(name)
    fetch(spec, folder / "raw", shelf, lambda line: None)
    return prepare_corpus(spec, PAPER, folder / "raw", folder / "corpus.npz")


@pytest.mark.slow
def test_the_rebuilt_treebank_has_counts_of_its_own(mirror, tmp_path):
    corpus = prepared("ud-french-gsd-r2.5-rebuilt", tmp_path, mirror)
    assert corpus.facts["sentences"] == {"train": 13722, "valid": 728, "test1": 416, "test2": 1476}
    whole = corpus.facts["corpus"]
    assert (whole["sentences"], whole["tokens"], whole["types"]) == (16342, 400396 + 11025 + 3 * 16342, 42598)
    assert (len(corpus.facts["tags"]), len(corpus.vocabulary)) == (72, 42598)
    pairs = corpus.facts["agreement"]["pairs"]
    assert pairs["subject-verb"] == {"Number": {"near": 1049, "distant": 398}}
    assert len(corpus.extra["agreement_right"]) == sum(
        n for kind in pairs.values() for found in kind.values() for n in found.values()
    )
    sizes = np.diff(corpus.extra["tag_indptr"])
    assert sizes.min() >= 1
    assert (np.diff(corpus.extra["train_tag_indptr"]) <= sizes).all()
    assert ((np.diff(corpus.extra["train_tag_indptr"]) > 0) == (corpus.counts > 0)).all()


def test_release_1_3_has_exactly_the_papers_numbers(tmp_path, request):
    name = "ud-french-gsd-r1.3"
    here = ROOT / "data" / "raw" / name / "fr-ud-train.conllu"
    shelf = ROOT / "data" / "raw" if here.is_file() else request.getfixturevalue("mirror")
    if not (shelf / name / "fr-ud-train.conllu").is_file():
        pytest.skip(f"{name}/fr-ud-train.conllu is neither in data/raw nor in the mirror")
    corpus = prepared(name, tmp_path, shelf)
    assert corpus.facts["sentences"] == {"train": 13826, "valid": 728, "test1": 298, "test2": 1596}
    whole = corpus.facts["corpus"]
    assert (whole["sentences"], whole["tokens"], whole["types"]) == (16448, 463069, 42894)
    assert (round(whole["average_sentence_length"], 2), round(whole["token_type_ratio"], 2)) == (28.15, 10.80)
    assert set(corpus.facts["tags"]) == set(PAPER_TAGS)
