"""The counts that are known of the real texts: from the papers, the author's log, or counted independently."""

from pathlib import Path

import numpy as np
import pytest
from corpus_helpers import read

from reprise.config.project import load_project
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus
from reprise.data.fetch import fetch_file
from reprise.data.treebank.conllu_rows import read_treebank
from reprise.data.treebank.ud_french import list_tags, select_rows
from reprise.report.papers.loglinear.tables import PAPER_TAGS

ROOT = Path(__file__).parents[3]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FOLDS = {"folds": 5, "fold_seed": 0}
ROWS = {"accounting": "rows", "validation": "last", "validation_sentences": 728}
TAGS = {"minimum_count": 2, "validation_sentences": 728}
UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"

# As the author's log prints them.
SYMBOLS = {
    "book-grimm": f" !(),-.0123456789:;?{LETTERS}",
    "book-quijote": f" !'(),-.0123456789:;?{LETTERS}¿ÁÉÍÑÓÚáéíñóúü",
}
WSJ = {
    "dropped_lines": 0,
    "shortening_by_bigrams": 0.357798165,
    "observed_symbols": {"characters": 27, "bigrams": 492},
    "words": 1_039_573,
    "word_types": 9_611,
    "long_words": {"share_of_words": 0.001814206, "share_of_types": 0.007387369},
}
REBUILT = {
    "sentences": {"train": 13722, "valid": 728, "test1": 416, "test2": 1476},
    "corpus": {"sentences": 16342, "tokens": 400396 + 11025 + 3 * 16342, "types": 42596},
    "agreement": {"pairs": {"subject-verb": {"Number": {"near": 1049, "distant": 398}}}},
}
RELEASE_1_3 = {
    "sentences": {"train": 13826, "valid": 728, "test1": 298, "test2": 1596},
    "corpus": {"sentences": 16448, "tokens": 463069, "types": 42894},
    "tags": sorted(PAPER_TAGS, key=lambda tag: (not tag.startswith("POS:"), tag)),
}
MULTI30K = {"pairs": {"train": 10000, "valid": 1014, "test": 1000}, "vocabulary": 3343, "source_vocabulary": 3567}
SEQUOIA = {"agreement": {"pairs": {"noun-adjective": {"Gender": {"near": 245, "distant": 14}}}}}
TEXTS = [
    ("ptb", {}, {"sentences": {"train": 42_068, "valid": 3_370, "test": 3_761}, "vocabulary": 10_000}),
    ("wsj-characters", {**FOLDS, "tokens": "characters"}, WSJ),
    ("wsj-characters", {**FOLDS, "tokens": "bigrams"}, WSJ | {"tokens": {"lines": 3_600_127}}),
    # What K = 88 of the tier "reduced" follows from (arithmetic parity-text8-prefix of document 001).
    ("text8-prefix", {"vocabulary_rule": "train-at-least-10", "minimum_count": 10}, {"vocabulary": 8711}),
    ("book-grimm", {}, {"words": {"different": 5138}}),
    ("book-quijote", {}, {"words": {"different": 23590}}),
    ("multi30k", {"pairs": 10000, "lowercase": True, "minimum_count": 2}, MULTI30K),
    ("ud-french-sequoia", {**ROWS, "validation_sentences": 112}, SEQUOIA),
    pytest.param("ud-french-gsd-r2.5-rebuilt", ROWS, REBUILT, marks=pytest.mark.slow),
    pytest.param("ud-french-gsd-r2.5-tags", TAGS, {"tags": UPOS.split()}, marks=pytest.mark.slow),
    ("ud-french-gsd-r1.3", ROWS, RELEASE_1_3),
]


@pytest.mark.parametrize(("name", "options", "facts"), TEXTS)
def test_a_real_text_has_its_known_counts(mirror, tmp_path, name, options, facts):
    spec = load_project(ROOT).find_dataset(name)
    if not all((mirror / spec.mirror_folder / file.name).is_file() for file in spec.files):
        pytest.skip(f"REPRISE_MIRROR has not all of {spec.mirror_folder}")
    for file in spec.files:
        fetch_file(spec, file, tmp_path, mirror, lambda line: None)
    known = spec.model_copy(update={"expected": {**spec.expected, **facts}})
    corpus = prepare_corpus(known, options, tmp_path, tmp_path / "c.npz")
    if "agreement" in corpus.facts:
        pairs_stand_where_they_say(corpus)
    if name in SYMBOLS:
        assert "".join(corpus.vocabulary) == SYMBOLS[name]
        text, (begin, end) = read(corpus, "train", "")[0], corpus.extra["licence"]
        assert text[:begin].endswith("START OF THIS PROJECT GUTENBERG EBOOK")
        assert text[end:].startswith("End of Project Gutenberg")


def pairs_stand_where_they_say(corpus: Corpus) -> None:
    """The right word at its place in the test, the word that tells its form in the same sentence before it."""
    extra = corpus.extra
    for number, split in enumerate(corpus.facts["agreement"]["splits"]):
        of_split = extra["agreement_split"] == number
        tokens, where = corpus.splits[split].tokens, extra["agreement_position"][of_split]
        assert of_split.any()
        assert (tokens[where] == extra["agreement_right"][of_split]).all()
        starts = corpus.splits[split].offsets[:-1]
        start = starts[np.searchsorted(starts, where, side="right") - 1]
        assert (where - extra["agreement_distance"][of_split] >= start).all()
    assert (extra["agreement_right"] != extra["agreement_wrong"]).all()
    assert extra["agreement_distance"].min() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "sentences", "words", "ranges", "lines"),
    [("test", 298, 7018, 192, 8104), ("dev", 1596, 38726, 1211, 44725)],
)
def test_parts_of_release_1_3_have_the_counts_of_the_paper(mirror, part, sentences, words, ranges, lines):
    treebank = read_treebank(mirror / "ud-french-gsd-r1.3" / f"fr-ud-{part}.conllu")
    rows = {
        accounting: [row for sentence in treebank.sentences for row in select_rows(sentence, accounting)]
        for accounting in ("rows", "surface", "words")
    }
    counted = {accounting: len(selected) for accounting, selected in rows.items()}
    assert (len(treebank.sentences), treebank.lines) == (sentences, lines)
    assert counted == {"rows": lines, "surface": words + ranges, "words": words}
    assert {tag for row in rows["rows"] for tag in list_tags(row.upos, row.features)} <= set(PAPER_TAGS)
