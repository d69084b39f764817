"""Every kind of bad raw file or option of a preparation is one line that names the file or the option."""

import gzip
from pathlib import Path

import pytest
from corpus_helpers import ptb_files, written
from treebank_helpers import LA, LE_CHAT, text

from reprise.data.pairs import multi30k
from reprise.data.raw import make_unreadable_error
from reprise.data.synthetic import synthetic_pairs
from reprise.data.text import books, ptb, text8, wsj_characters
from reprise.data.treebank import ud_french, ud_tags
from reprise.data.treebank.tagged import make_tagged_corpus
from reprise.errors import UserError

FETCH = "run `python -m reprise fetch raw`"
LINES = {"tokens": "characters", "folds": 5, "fold_seed": 0}
FEW = {"vocabulary_size": 16, "training_sentences": 10, "seed": 0, "most_words": 2}
PAIRS = {"pairs": 2, "lowercase": True, "minimum_count": 1}
FRENCH = {"accounting": "rows", "validation": "last", "validation_sentences": 1}
TAGS = {"minimum_count": 1, "validation_sentences": 1}


def packed(**instead: str | bytes) -> dict[str, bytes]:
    """The files of multi30k, some of them as given by the name with an underscore for the point."""
    files = {name: "Un.\nDeux.\nTrois.\n" for name in ("train.fr", "train.en")}
    files |= {f"{name}.{language}": "Un.\n" for name in ("val", "test_2016_flickr") for language in ("fr", "en")}
    files |= {name.replace("_", "."): content for name, content in instead.items()}
    return {f"{n}.gz": c if isinstance(c, bytes) else gzip.compress(c.encode()) for n, c in files.items() if c}


def treebank(*train: str, **others: str) -> dict[str, str]:
    files = {"a-ud-train.conllu": text(list(train or (LE_CHAT, LA))), "a-ud-test.conllu": text([LA])}
    return files | {"a-ud-dev.conllu": text([LA])} | {f"{name}.conllu": content for name, content in others.items()}


def book(content: str | bytes, *names: str) -> dict[str, str | bytes]:
    return dict.fromkeys([f"book_{name}.txt" for name in names or ("X",)], content)


def tagged(splits: dict) -> object:
    return lambda raw, options: make_tagged_corpus("t", splits, 1, "X", {})


SOME = [[("a", "Y")]]
CASES = [
    (ptb, {}, {}, rf"ptb\.train\.txt: no such raw file; {FETCH}"),
    (ptb, ptb_files("a b\n", "a z\n"), {}, r"ptb\.valid\.txt: 'z' is not in the training text"),
    (ptb, ptb_files("a b\na </s> b\n"), {}, r"ptb\.train\.txt: line 2: holds the word </s>"),
    (ptb, ptb_files(" \n\u200b\n"), {}, r"ptb\.train\.txt: holds no text"),
    (ptb, {"ptb.train.txt": b"abc\r\n\xe9t\xe9\n"}, {}, r"line 2: not UTF-8 at byte 5 \(0xe9\)"),
    (ptb, {"ptb.train.txt": "abc\n".encode("utf-16-le")}, {}, "line 1: not UTF-8 at byte 1 "),
    (books, book("Année".encode("cp1252")), {}, "line 1: not UTF-8 at byte 3 "),
    (text8, {"text8": "a"}, {"vocabulary_rule": "train-at-least-10", "minimum_count": 5}, "minimum_count 5 disagree"),
    (wsj_characters, ptb_files("a\n" * 9, " \n"), LINES, r"ptb\.valid\.txt: holds no text"),
    (wsj_characters, ptb_files("a\n" * 8), LINES, "10 lines cannot be cut into 5 folds"),
    (books, {}, {}, f"0 files .*{FETCH}"),
    (books, book("", "X", "Y"), {}, "2 files"),
    (books, book("No header at all."), {}, "between the lines"),
    (books, book("End of Project Gutenberg. START OF THIS PROJECT GUTENBERG EBOOK"), {}, "between the lines"),
    (multi30k, packed(val_en="Un.\nDeux.\n"), PAIRS, r"val\.en\.gz: 2 lines, but val\.fr\.gz has 1"),
    (multi30k, packed(train_en="A\n \nB\n"), PAIRS, r"train\.en\.gz: line 2: empty"),
    (multi30k, packed(val_fr=b"no gzip"), PAIRS, r"val\.fr\.gz: damaged gzip file"),
    (multi30k, packed(val_fr=gzip.compress(b"Un.\n" * 9)[:-9]), PAIRS, r"val\.fr\.gz: damaged gzip file"),
    (multi30k, packed(val_en=""), PAIRS, rf"val\.en\.gz: no such raw file; {FETCH}"),
    (multi30k, packed(), PAIRS | {"pairs": 4}, "option pairs: 4 are more than the 3 of .*lower it"),
    (synthetic_pairs, {}, FEW, "option most_words: too few sentences"),
    (ud_french, {}, FRENCH, rf"no file \*-ud-train\.conllu .*{FETCH}"),
    (ud_french, treebank(**{"b-ud-dev": ""}), FRENCH, r"a-ud-dev\.conllu, b-ud-dev\.conllu are all called"),
    (ud_french, treebank(), FRENCH | {"validation_sentences": 2}, "validation_sentences: 2 leave nothing of 2"),
    (ud_french, treebank(LE_CHAT, "@Nil @nil NOUN"), FRENCH, r"a-ud-train\.conllu: line 9: the form @Nil"),
    (ud_tags, treebank("<unk> <unk> AUX", LE_CHAT), TAGS, r"a-ud-train\.conllu: line 3: the form <unk>"),
    (ud_french, treebank(**{"a-ud-dev": "# a comment\n\n"}), FRENCH, r"a-ud-dev\.conllu: line 1: .*without words"),
    (ud_tags, treebank(), TAGS | {"validation_sentences": 2}, "validation_sentences: 2 leave nothing of 2"),
    (ud_tags, treebank(), TAGS, "no word is tagged AUX"),
    (tagged({"train": SOME, "valid": [], "test": SOME}), {}, {}, "the split valid has no sentence"),
]


@pytest.mark.parametrize(("dataset", "files", "options", "message"), CASES, ids=[case[3] for case in CASES])
def test_bad_input_is_one_line(tmp_path, dataset, files, options, message):
    prepare = getattr(dataset, "prepare", dataset)
    with pytest.raises(UserError, match=message) as caught:
        prepare(written(tmp_path / "raw", files), options)
    assert "\n" not in str(caught.value)


def test_a_quotation_from_the_file_ends_no_line():
    error = make_unreadable_error(Path("a.conllu"), "'0\x0c2\u2028' is no number", 3)
    assert len(str(error).splitlines()) == 1
