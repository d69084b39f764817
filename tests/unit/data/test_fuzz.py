"""Any bytes as a raw file: an error of one line that names the file, or a corpus out of which the text comes again."""

import gzip
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from corpus_helpers import read, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from treebank_helpers import DU_LAIT, LA_CHATTE, LE_CHAT
from treebank_helpers import text as conllu

from reprise.config.datasets import NamedDataset
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus
from reprise.data.pairs.multi30k import FILES
from reprise.data.pairs.pairs import get_test_lines
from reprise.errors import UserError

pytestmark = pytest.mark.slow

ODD = [
    "\u00ad",
    "\u200b",
    "\ufeff",
    "\u0301",
    "\u2028",
    "\x85",
    "\xa0",
    "\x00",
    "\x1c",
    "\x0b",
    "İ",
    "ﬁ",
    "𝔞",
    "K",
    "\ud7ff",
]
BLANKS = [" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\x0c"]
WORDS = ["a", "the", "été", "Crow", "</s>", "<unk>", "@nil", "N", "1,5.", "&amp;", "=", "|", "_", "#"]
WRITTEN = st.lists(st.sampled_from(WORDS + BLANKS + ODD) | st.text(max_size=3), max_size=40).map("".join)
ENCODINGS = st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252"])
RAW = st.builds(lambda text, encoding: text.encode(encoding, "replace"), WRITTEN, ENCODINGS) | st.binary(max_size=60)
FUZZ = settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])


def normalised(data: bytes) -> str:
    """Return the text as it is meant, worked out anew: without what has no width, composed, with line feeds alone."""
    characters = "".join(
        c for c in data.decode() if c == "\x85" or c not in "\u00ad\ufeff\u2060" and not "\u200b" <= c <= "\u200f"
    )
    return re.sub("\r\n?", "\n", unicodedata.normalize("NFC", characters))


def lines_of(data: bytes) -> list[str]:
    return normalised(data).removesuffix("\n").split("\n")


def prepared(prepare: str, options: Mapping[str, Any], files: Mapping[str, bytes]) -> Corpus | None:
    """Return the corpus as it is read from its file; None where the text was refused in one line that names a file."""
    spec = NamedDataset(name="raw", title="Raw", licence="none", homepage="", prepare=prepare)
    with TemporaryDirectory() as folder:
        raw, made, problem = Path(folder) / "raw", Path(folder) / "a.npz", ""
        written(raw, files)
        try:
            prepare_corpus(spec, options, raw.parent, made)
        except UserError as error:
            problem = str(error)
        if not problem:
            return Corpus.load(made)
        assert len(problem.splitlines()) == 1
        assert str(raw) in problem or "lines cannot be cut into 2 folds" in problem or "no word is tagged" in problem
        assert not made.exists()
        return None


@FUZZ
@given(RAW)
def test_sentences_come_out_again(data):
    corpus = prepared("ptb", {}, {f"ptb.{split}.txt": data for split in ("train", "valid", "test")})
    if corpus:
        sentences = [b" ".join([*line.encode().split(), b"</s>"]).decode() for line in lines_of(data)]
        for split in corpus.splits:
            assert read(corpus, split) == sentences
        text = "".join(re.sub("[\t\x0b\x0c ]+", " ", line).strip(" ") + "\n" for line in lines_of(data))
        assert corpus.facts["characters"]["train"] == len(text)


@FUZZ
@given(RAW)
def test_running_words_come_out_again(data):
    data = (data + b"\n") * 60  # long enough for three splits
    corpus = prepared("text8", {"vocabulary_rule": "top-37750", "minimum_count": 1}, {"text8": data})
    if corpus:
        words = [word.decode() for word in normalised(data).encode().split()]
        tokens = " ".join(text for split in corpus.splits for text in read(corpus, split)).split(" ")
        assert tokens == [word if word in corpus.vocabulary else "<unk>" for word in words]
        assert all(len(split.tokens) > 1 for split in corpus.splits.values())


@FUZZ
@given(RAW)
def test_lines_of_letters_come_out_again(data):
    data = (data + b"\n") * 12  # long enough for two folds
    files = {f"ptb.{split}.txt": data for split in ("train", "valid", "test")}
    corpus = prepared("wsj_characters", {"tokens": "characters", "folds": 2, "fold_seed": 0}, files)
    if corpus:
        lines = [" ".join(re.findall("[A-Za-z]+", line)).lower() for line in lines_of(data)] * 3
        assert read(corpus, "lines", "") == [line for line in lines if line]


@FUZZ
@given(RAW, st.booleans())
def test_a_book_comes_out_again(data, framed):
    before, after = b"*** START OF THE PROJECT GUTENBERG EBOOK\n", b"\nEnd of Project Gutenberg"
    data = before + data + after if framed else data
    corpus = prepared("books", {}, {"book_X.txt": data})
    if corpus:
        expected = re.sub(r"[^A-Za-z0-9(),.!¿?:;ÁÉÍÓÚáéíóúñÑü\-'`]", " ", normalised(data))
        assert read(corpus, "train", "") == [" ".join(expected.split())]


@FUZZ
@given(RAW, st.booleans())
def test_pairs_come_out_again(data, packed):
    files = {f"{name}.{language}.gz": gzip.compress(data) for name in FILES.values() for language in ("fr", "en")}
    if not packed:
        files["val.fr.gz"] = data
    corpus = prepared("multi30k", {"pairs": 1, "lowercase": False, "minimum_count": 1}, files)
    if corpus:
        assert get_test_lines(corpus) == [(line.strip(), line.strip()) for line in lines_of(data)]


ELLE_EST = "Elle elle PRON _ 2 nsubj\nest être AUX Number=Sing|VerbForm=Fin 0 root"


@st.composite
def treebanks(draw) -> bytes:
    """Return CoNLL-U, at some places of which something else stands."""
    text = conllu([LE_CHAT, DU_LAIT, LA_CHATTE, ELLE_EST])
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(text)))
        end = begin + draw(st.integers(0, 3))
        odd = st.sampled_from(WORDS + BLANKS + ODD + ["1", "2", "3", "-", ".", "1-2", "3.1", "Gender=Masc"])
        text = text[:begin] + draw(odd | st.text(max_size=2)) + text[end:]
    return text.encode("utf-8" if draw(st.integers(0, 9)) else "utf-16", "replace")


@settings(FUZZ, max_examples=600)
@given(treebanks())
def test_forms_come_out_again(data):
    files = {f"a-ud-{part}.conllu": data for part in ("train", "dev", "test")}
    options = {"accounting": "surface", "validation": "last", "validation_sentences": 1}
    corpus = prepared("ud_french", options, files)
    prepared("ud_tags", {"minimum_count": 1, "validation_sentences": 1}, files)
    if corpus:
        rows = [line.split("\t") for line in lines_of(data) if line and not line.startswith("#")]
        forms = [row[1].lower() for row in rows if "." not in row[0]]
        for splits in (("train", "valid"), ("test1",), ("test2",)):
            tokens = [corpus.vocabulary[token] for split in splits for token in corpus.splits[split].tokens]
            assert tokens == forms
