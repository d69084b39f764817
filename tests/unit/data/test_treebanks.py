"""Small treebanks: rows as CoNLL-U has them, what is a token, which tags a type bears, which sentences are held out."""

import gzip

import numpy as np
import pytest
from corpus_helpers import read
from treebank_helpers import DU_LAIT, LA, LA_CHATTE, LE_CHAT, text, toy_corpus, write_parts
from treebank_helpers import read as read_rows

from reprise.data.corpus import Corpus
from reprise.data.treebank import ud_french, ud_tags
from reprise.data.treebank.conllu_rows import read_treebank
from reprise.data.treebank.tagged import KINDS, find_most_frequent_tags, make_tagged_corpus
from reprise.errors import UserError

EST = "Elle elle PRON _ 2 nsubj\nest être AUX _ 0 root"


def test_rows_are_read_whatever_the_line_ends_and_the_packing(tmp_path):
    plain = text([LE_CHAT, LA]).replace("# text = whatever", "# text = 1 = 2\n#no value")
    with_empty = plain.replace("\n3\tdort", "\n2.1\tqui\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdort")
    files = {"a.conllu": plain, "b.conllu": plain.replace("\n", "\r\n"), "c.conllu": plain.rstrip("\n")}
    for name, content in {**files, "e.conllu": with_empty}.items():
        (tmp_path / name).write_bytes(content.encode())
    (tmp_path / "d.conllu.gz").write_bytes(gzip.compress(plain.encode()))
    read = {path.name[0]: read_treebank(path) for path in sorted(tmp_path.iterdir())}
    assert all(treebank.sentences == read["a"].sentences for treebank in read.values())
    assert {name: treebank.lines for name, treebank in read.items()} == {"a": 12, "b": 12, "c": 11, "d": 12, "e": 13}
    first = read["a"].sentences[0].rows[0]
    assert (first.form, first.lemma, first.upos, first.head, first.deprel) == ("Le", "le", "DET", 2, "det")
    assert (first.feature("Gender"), first.feature("Tense")) == ("Masc", None)


def test_features_are_a_set(tmp_path):
    orders = ("Case=Acc,Dat|Gender=Fem|Number=Sing", "Number=Sing|Case=Dat,Acc|Gender=Fem")
    one, other = (read_rows(tmp_path, f"la la PRON {features}")[0].rows[0].features for features in orders)
    assert one == other == (("Case", "Acc,Dat"), ("Gender", "Fem"), ("Number", "Sing"))


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("\tDET\t_\t", "\tDET\t", 3, "9 columns instead of 10"),
        ("\tLe\t", "\tL  e\t", 3, "two blanks"),
        ("\tLe\t", "\t\t", 3, "FORM is empty"),
        ("\tLe\t", "\t\u200d\t", 3, "FORM is empty"),
        ("\tLe\t", "\t\u00a0\t", 3, "FORM is padded"),
        ("\tDET\t", "\tDET \t", 3, "UPOS is padded"),
        ("\t2\tdet", "\t\tdet", 3, "HEAD is empty"),
        ("\t2\tdet", "\t1\tdet", 3, "circle"),
        ("\t0\troot", "\t1\troot", 3, "circle"),
        ("\t0\troot", "\t2\troot", 4, "circle"),
        ("Gender=Masc|Number=Sing\t2", "Gender=Masc=Fem\t2", 3, "Name=Value"),
        ("Gender=Masc|Number=Sing\t2", "Gender=Masc|Number=\t2", 3, "Name=Value"),
        ("2\tchat", "3\tchat", 4, "'3' where 2 is due"),
        ("1\tLe", "2-3\tLe", 3, "'2-3' where 1 is due"),
        ("3\tdort", "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdort", 5, "a range up to 4 in a sentence of 3 words"),
        ("\t2\tdet", "\t7\tdet", 3, "the head 7 in a sentence of 3 words"),
        ("\t2\tdet", "\ttwo\tdet", 3, "head"),
        ("Gender=Masc|Number=Sing\t2", "Gender=Masc|Sing\t2", 3, "Name=Value"),
        ("Gender=Masc|Number=Sing\t2", "Gender=Masc|Gender=Fem\t2", 3, "Name=Value"),
        ("# sent_id = 1\n", "# alone\n\n# sent_id = 1\n", 1, "without words"),
    ],
)
def test_a_malformed_row_is_one_line_with_file_and_line(tmp_path, old, new, line, problem):
    content = text([LE_CHAT])
    assert old in content
    path = tmp_path / "toy-ud-dev.conllu"
    path.write_text(content.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=rf"^{path}: line {line}: .*{problem}.*; correct the file, .*$"):
        read_treebank(path)


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
    of_corpus = {"average_sentence_length": 2.4, "token_type_ratio": round(12 / 7, 9), "types_outside_training": 2}
    assert corpus.facts["corpus"] == {"sentences": 5, "tokens": 12, "nil": 0, "types": 7, **of_corpus}


def tags_of(corpus: Corpus, form: str, prefix: str = "tag") -> set[str]:
    indptr, indices = corpus.extra[f"{prefix}_indptr"], corpus.extra[f"{prefix}_indices"]
    i = corpus.vocabulary.index(form)
    return {corpus.facts["tags"][j] for j in indices[indptr[i] : indptr[i + 1]]}


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
    assert corpus.facts["tag_types"]["POS:NOUN"] == 4  # chat, lait, chatte, la
    assert (corpus.extra["tag_indptr"].dtype, corpus.extra["tag_indices"].dtype) == (np.int64, np.int32)


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


def toy(folder, **options):
    parts = {"train": [LE_CHAT, EST, DU_LAIT, LA_CHATTE, EST], "test": [LA], "dev": [LE_CHAT, EST]}
    return ud_tags.prepare(write_parts(folder, **parts), {"minimum_count": 2, "validation_sentences": 1, **options})


def tagged(corpus, split):
    """The sentences of a split, each as its words and its tags."""
    data, tags = corpus.splits[split], corpus.facts["tags"]
    words = zip(data.tokens, corpus.extra[f"tags.{split}"], strict=True)
    read = [f"{corpus.vocabulary[word]}/{tags[tag]}" for word, tag in words]
    return [" ".join(read[a:b]) for a, b in zip(data.offsets, data.offsets[1:], strict=False)]


def test_words_bear_their_tags_sentence_by_sentence(tmp_path):
    corpus = toy(tmp_path, minimum_count=1)
    assert tagged(corpus, "train") == [
        "le/DET chat/NOUN dort/VERB",
        "elle/PRON est/AUX",
        "de/ADP le/DET lait/NOUN",  # the words of "du", not the range
        "la/DET chatte/NOUN",
    ]
    assert tagged(corpus, "valid") == ["elle/PRON est/AUX"]
    assert [len(sentence.split()) for sentence in tagged(corpus, "test")] == [1, 3, 2]  # test, then dev
    assert corpus.extra["labels.train"].tolist() == [0, 1, 0, 0]
    assert corpus.extra["labels.test"].tolist() == [0, 0, 1]
    assert corpus.facts["label"] == "has a word tagged AUX"
    assert corpus.facts["kinds"]["train"] == {"single": 10, "ambiguous": 0, "unseen": 0}


def test_rare_words_are_one_word_and_unseen_ones_are_told_from_them(tmp_path):
    corpus = toy(tmp_path)
    assert corpus.vocabulary == ["<unk>", "le"]
    assert corpus.counts.tolist() == [8, 2]
    assert tagged(corpus, "valid") == ["<unk>/PRON <unk>/AUX"]
    corpus = toy(tmp_path, validation_sentences=4)
    assert [KINDS[kind] for kind in corpus.extra["kinds.valid"]][:2] == ["unseen", "unseen"]
    assert corpus.facts["unknown"] == {"train": 3, "valid": 9, "test": 6}


def test_the_most_frequent_tag_of_a_word():
    train = [[("a", "Y"), ("a", "X"), ("a", "Y"), ("b", "Z"), ("b", "X")], [("c", "Y")]]
    corpus = make_tagged_corpus("t", {"train": train, "valid": train, "test": [[("d", "X"), ("a", "X")]]}, 2, "X", {})
    assert corpus.vocabulary == ["a", "b", "<unk>"]
    assert [corpus.facts["tags"][tag] for tag in find_most_frequent_tags(corpus)] == ["Y", "X", "Y"]
    assert [KINDS[kind] for kind in corpus.extra["kinds.test"]] == ["unseen", "ambiguous"]
