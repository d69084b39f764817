"""UD French: what is a token, which tags a type bears, which sentences are held out."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from corpus_helpers import read
from treebank_helpers import LA, LA_CHATTE, LE_CHAT, text, toy_corpus, write_parts

from reprise.data.corpus import Corpus
from reprise.data.treebank import ud_french


def tags_of(corpus: Corpus, form: str, prefix: str = "tag") -> set[str]:
    indptr, indices = corpus.extra[f"{prefix}_indptr"], corpus.extra[f"{prefix}_indices"]
    i = corpus.vocabulary.index(form)
    return {corpus.facts["tags"][j] for j in indices[indptr[i] : indptr[i + 1]]}


def test_the_parts_of_a_treebank_are_found_by_their_names(tmp_path):
    raw = write_parts(tmp_path, train=[LE_CHAT, LA], test=[LA])
    (raw / "toy-ud-dev.conllu.gz").write_bytes(gzip.compress(text([LA_CHATTE]).encode()))
    (raw / "toy-ud-dev.conllu.txt").write_text("notes")
    options = {"accounting": "rows", "validation": "last", "validation_sentences": 1}
    assert read(ud_french.prepare(raw, options), "test2") == ["@nil @nil la chatte @nil"]


@pytest.mark.parametrize(
    ("accounting", "train", "test"),
    [
        ("rows", ["@nil @nil le chat dort @nil", "@nil @nil du de le lait @nil"], ["@nil @nil la @nil"]),
        ("surface", ["le chat dort", "du de le lait"], ["la"]),
        ("words", ["le chat dort", "de le lait"], ["la"]),
    ],
)
def test_tokens_are_rows_or_words_with_ranges_or_words(tmp_path, accounting, train, test):
    corpus = toy_corpus(tmp_path, accounting=accounting)
    facts, lines = corpus.facts, {"train": 18, "test": 4, "dev": 6}
    assert (read(corpus, "train"), read(corpus, "test1")) == (train, test)
    assert facts["sentences"] == {"train": 2, "valid": 1, "test1": 1, "test2": 1}
    assert facts["words"] == {"train": 6, "valid": 2, "test1": 1, "test2": 3}
    assert ("POS:NIL" in facts["tags"], "POS:_" in facts["tags"]) == (accounting == "rows", accounting != "words")
    # A line a word, one for the range, and three more a sentence.
    sentences = {"train": 3, "test": 1, "dev": 1}
    assert facts["treebank"] == {"sentences": sentences, "lines": lines, "words": 12, "ranges": 1}
    if accounting == "rows":
        assert (facts["corpus"]["tokens"], facts["corpus"]["nil"]) == (sum(lines.values()), 15)


def test_types_stand_by_their_frequency_in_the_entire_corpus(tmp_path):
    corpus = toy_corpus(tmp_path, accounting="words")
    # le 3 times, chat, dort and la twice; la is seen first in a validation sentence.
    assert corpus.vocabulary == ["le", "chat", "dort", "la", "de", "lait", "chatte"]
    assert corpus.extra["corpus_counts"].tolist() == [3, 2, 2, 2, 1, 1, 1]
    assert corpus.counts.tolist() == [2, 1, 1, 0, 1, 1, 0]
    assert corpus.extra["corpus_counts"].dtype == corpus.counts.dtype == np.int64
    assert corpus.facts["unseen_tokens"] == {"train": 0, "valid": 2, "test1": 1, "test2": 0}
    assert corpus.facts["corpus"] == {
        "sentences": 5,
        "tokens": 12,
        "nil": 0,
        "types": 7,
        "average_sentence_length": 2.4,
        "token_type_ratio": round(12 / 7, 9),
        "types_outside_training": 2,
    }


def test_a_type_bears_the_tags_of_all_its_tokens(tmp_path):
    corpus = toy_corpus(tmp_path)
    assert corpus.facts["tags"] == [
        *("POS:ADP", "POS:DET", "POS:NIL", "POS:NOUN", "POS:VERB", "POS:_"),
        *("Gender:Fem", "Gender:Masc", "Number:Sing", "VerbForm:Fin"),
    ]
    # La, a determiner in a validation sentence, and la, a noun in a test sentence.
    assert tags_of(corpus, "la") == {"POS:DET", "POS:NOUN", "Gender:Fem", "Gender:Masc", "Number:Sing"}
    assert tags_of(corpus, "@nil") == tags_of(corpus, "@nil", "train_tag") == {"POS:NIL"}
    assert tags_of(corpus, "du") == {"POS:_"}
    assert tags_of(corpus, "la", "train_tag") == tags_of(corpus, "chatte", "train_tag") == set()
    assert tags_of(corpus, "chat", "train_tag") == {"POS:NOUN", "Gender:Masc", "Number:Sing"}
    assert corpus.facts["tag_tokens"]["Gender:Fem"] == 2
    assert corpus.facts["tag_tokens"]["POS:NIL"] == 15
    assert corpus.facts["tag_types"]["POS:NOUN"] == 4  # chat, lait, chatte, la
    for prefix in ("tag", "train_tag"):
        indptr, indices = corpus.extra[f"{prefix}_indptr"], corpus.extra[f"{prefix}_indices"]
        assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)
        assert (len(indptr), indptr[-1]) == (len(corpus.vocabulary) + 1, len(indices))


def test_validation_sentences_are_the_last_or_a_fixed_draw(tmp_path):
    everything = [f"w{i}" for i in range(40)]
    raw = write_parts(tmp_path, train=[f"{word} {word} NOUN" for word in everything], test=[LA], dev=[LA])
    options = {"accounting": "words", "validation_sentences": 10}
    last = ud_french.prepare(raw, {**options, "validation": "last"})
    drawn = ud_french.prepare(raw, {**options, "validation": "random"})
    assert (read(last, "train"), read(last, "valid")) == (everything[:30], everything[30:])
    # What was drawn once is drawn for ever: records stand on it.
    assert read(drawn, "valid") == [f"w{i}" for i in (7, 8, 12, 17, 18, 23, 24, 26, 32, 35)]
    assert read(drawn, "train") == [word for word in everything if word not in read(drawn, "valid")]
