"""Reading CoNLL-U: line ends, packing, and every malformed row as one line with its place."""

from __future__ import annotations

import gzip

import pytest
from treebank_helpers import LA, LE_CHAT, text

from reprise.data.treebank.conllu_rows import read_treebank
from reprise.errors import UserError


def test_rows_are_read_whatever_the_line_ends_and_the_packing(tmp_path):
    plain = text([LE_CHAT, LA]).replace("# text = whatever", "# text = 1 = 2\n#no value")
    with_empty = plain.replace("\n3\tdort", "\n2.1\tqui\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdort")
    files = {"a.conllu": plain, "b.conllu": plain.replace("\n", "\r\n"), "c.conllu": plain.rstrip("\n")}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode())
    (tmp_path / "d.conllu.gz").write_bytes(gzip.compress(plain.encode()))
    (tmp_path / "e.conllu").write_text(with_empty, encoding="utf-8")
    read = {path.name[0]: read_treebank(path) for path in sorted(tmp_path.iterdir())}
    assert all(treebank.sentences == read["a"].sentences for treebank in read.values())
    assert {name: treebank.lines for name, treebank in read.items()} == {"a": 12, "b": 12, "c": 11, "d": 12, "e": 13}
    first = read["a"].sentences[0].rows[0]
    assert (first.form, first.lemma, first.upos, first.head, first.deprel) == ("Le", "le", "DET", 2, "det")
    assert (first.feature("Gender"), first.feature("Tense")) == ("Masc", None)


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("\tDET\t_\t", "\tDET\t", 3, "9 columns instead of 10"),
        ("Le\tle", "Le  le", 3, "9 columns"),
        ("\tLe\t", "\tL  e\t", 3, "two blanks"),
        ("\tLe\t", "\t\t", 3, "without a form"),
        ("2\tchat", "3\tchat", 4, "'3' where 2 is due"),
        ("2\tchat", "x\tchat", 4, "'x'"),
        ("2\tchat", "_\tchat", 4, "'_' where 2 is due"),
        ("1\tLe", "2-3\tLe", 3, "'2-3' where 1 is due"),
        ("3\tdort", "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdort", 5, "a range up to 4 in a sentence of 3 words"),
        ("\t2\tdet", "\t7\tdet", 3, "the head 7 in a sentence of 3 words"),
        ("\t2\tdet", "\ttwo\tdet", 3, "head"),
        ("Gender=Masc|Number=Sing\t2", "Gender=Masc|Sing\t2", 3, "Name=Value"),
        ("Gender=Masc|Number=Sing\t2", "=Masc\t2", 3, "Name=Value"),
        ("Gender=Masc|Number=Sing\t2", "Gender=Masc|Gender=Fem\t2", 3, "Name=Value"),
        ("# sent_id = 1\n", "# alone\n\n# sent_id = 1\n", 1, "without words"),
    ],
)
def test_a_malformed_row_is_one_line_with_file_and_line(tmp_path, old, new, line, problem):
    whole = text([LE_CHAT])
    assert old in whole
    path = tmp_path / "toy-ud-dev.conllu"
    path.write_text(whole.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=rf"^{path}: line {line}: .*{problem}.*fetch the file again$"):
        read_treebank(path)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.conllu", b"", "empty"),
        ("b.conllu", text([LE_CHAT]).encode() + b"# \xff\n", "line 7: not UTF-8"),
        ("c.conllu.gz", gzip.compress(text([LE_CHAT]).encode())[:-9], "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=problem):
        read_treebank(tmp_path / name)
