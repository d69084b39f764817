"""`reprise fetch` and `reprise prepare` by the names of datasets, papers and experiments."""

import hashlib
from pathlib import Path

import config_helpers
import numpy as np
import pytest
from project import TOY
from verify_helpers import resolved

from reprise.cli import main
from reprise.data.corpus import Corpus
from reprise.errors import EXIT_FAILED, EXIT_USAGE, UserError

TEXT = b"a text\n"
DATASET = """
  {name}:
    title: A text
    licence: ours
    homepage: ''
    prepare: ptb
    files:
      - {{name: {name}.txt, algorithm: sha256, digest: {digest}}}
"""


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with two datasets more, and a mirror that has the second alone."""
    config_helpers.copy_config(tmp_path, TOY)
    digest = hashlib.sha256(TEXT).hexdigest()
    more = "".join(DATASET.format(name=name, digest=digest) for name in ("lost", "there"))
    config_helpers.edit(tmp_path, "config.yaml", "\ndatasets:\n", f"\ndatasets:{more}")
    (tmp_path / "mirror/there").mkdir(parents=True)
    (tmp_path / "mirror/there/there.txt").write_bytes(TEXT)
    monkeypatch.setenv("REPRISE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, command):
    capsys.readouterr()
    status = main(command.split())
    return status, capsys.readouterr().err.splitlines()


def test_what_cannot_be_had_is_named_and_the_others_are_fetched(clone, capsys):
    status, lines = run(capsys, "fetch lost there")
    assert status == EXIT_FAILED
    assert [line.split(":")[0] for line in lines] == ["lost/lost.txt", "there/there.txt", "reprise"]
    assert Path("data/raw/there/there.txt").read_bytes() == TEXT
    status, lines = run(capsys, "fetch there there")
    assert (status, [line.split(", ")[0] for line in lines]) == (0, ["there/there.txt: already there"])
    status, lines = run(capsys, "fetch lost")
    assert (status, len(lines)) == (EXIT_USAGE, 1)


def test_every_file_of_a_dataset_is_tried_and_what_was_there_stays(clone, capsys):
    """Of four files the first and the third cannot be had."""
    entry = "      - {name: lost.txt, algorithm: sha256, digest: " + hashlib.sha256(TEXT).hexdigest() + "}\n"
    more = "".join(entry.replace("lost.txt", f"{name}.txt") for name in ("second", "third", "fourth"))
    config_helpers.edit(clone, "config.yaml", entry, entry + more)
    mirror_folder, raw = clone / "mirror/lost", Path("data/raw/lost")
    mirror_folder.mkdir()
    for name in ("second", "fourth"):
        (mirror_folder / f"{name}.txt").write_bytes(TEXT)
    raw.mkdir(parents=True)
    (raw / "third.txt").write_bytes(b"changed by hand\n")
    status, lines = run(capsys, "fetch lost")
    assert status == EXIT_FAILED
    for name in ("lost", "second", "third", "fourth"):
        assert any(line.startswith(f"lost/{name}.txt: ") for line in lines)
    assert {path.name: path.read_bytes() for path in raw.iterdir()} == {
        "second.txt": TEXT,
        "third.txt": b"changed by hand\n",
        "fourth.txt": TEXT,
    }
    for name in ("lost", "third"):
        (mirror_folder / f"{name}.txt").write_bytes(TEXT)
    assert run(capsys, "fetch lost")[0] == 0
    assert {path.read_bytes() for path in raw.iterdir()} == {TEXT}
    assert len(list(raw.iterdir())) == 4


def test_an_unknown_name_is_told_before_anything_is_fetched(clone, capsys):
    for names in ("there ther", "there words/no-such", "there nobody", "there --file no.txt"):
        status, lines = run(capsys, f"fetch {names} --tier quick")
        assert (status, len(lines)) == (EXIT_USAGE, 1)
    assert not Path("data").exists()


@pytest.mark.parametrize("name", ["", "words", "words/s-rnn-4"])
def test_papers_experiments_and_nothing_stand_for_what_they_read(clone, capsys, name):
    read = {e.config["data"]["dataset"] for e in resolved().values() if e.corpus}
    status, lines = run(capsys, f"fetch {name} --tier quick")
    assert (status, {line.partition(":")[0] for line in lines}) == (0, read)
    assert run(capsys, f"prepare {name} --tier quick")[0] == 0
    assert all(Path(e.corpus).is_file() for e in resolved().values() if e.corpus)


def test_preparing_what_has_no_corpus_or_is_unknown_is_refused(clone, capsys):
    for names in ("digits", "digits/no-such", "nobody"):
        status, lines = run(capsys, f"prepare {names} --tier quick")
        assert (status, len(lines)) == (EXIT_USAGE, 1)


def test_of_several_corpora_one_that_cannot_be_made_leaves_the_others(tmp_path, monkeypatch, capsys):
    config_helpers.copy_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    made = []

    def prepare(spec, options, raw, path):
        made.append(spec.name)
        if len(made) == 1:
            raise UserError(f"{spec.name}: no such raw file")
        return Corpus(spec.name, {}, [], np.zeros(0), {}, {}, {})

    monkeypatch.setattr("reprise.data.prepare_corpus", prepare)
    status, lines = run(capsys, "prepare lecture --tier quick --output one.npz")
    assert (status, len(lines), made) == (EXIT_USAGE, 1, [])
    status, lines = run(capsys, "prepare lecture --tier quick")
    assert (status, len(lines)) == (EXIT_FAILED, 2)
    assert len(made) > 2
