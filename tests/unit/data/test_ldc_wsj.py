"""Document 000's text from a user's own Treebank-3: read, told from Mikolov's, and asked for where it is missing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from reprise.config import ldc_wsj
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.data import prepare_corpus
from reprise.data.text.character_lines import normalise
from reprise.data.text.wsj_characters import sentences
from reprise.errors import UserError

ROOT = Path(__file__).parents[3]

STORIES = {
    "00/wsj_0001": ".START \n\nPierre Vinken, 61 years old, will join the board.\nMr. Vinken isn't\tchairman.\n",
    "00/wsj_0002": ".START \n\n Rudolph Agnew -- 55 -- was named.\n\n\n$1.5 (U.S.)\n1989\n",
    "24/wsj_2454": ".START\r\n\r\nA START was made.\r\n",
}
LINES = [
    "pierre vinken years old will join the board",
    "mr vinken isn t chairman",
    "rudolph agnew was named",
    "u s",
    "a start was made",
]


def ldc_folder(folder: Path, stories=STORIES) -> Path:
    for name, text in stories.items():
        path = folder / "raw" / "wsj" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (folder / "raw" / "wsj" / "readme").write_text("not a section\n")
    (folder / "raw" / "wsj" / "00" / "wsj_0001.bak").write_text("not a story\n")
    return folder


def text_of(corpus):
    split = corpus.splits["lines"]
    text = "".join(corpus.vocabulary[token] for token in split.tokens)
    return [text[a:b] for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True)]


def test_raw_stories(tmp_path):
    folder = ldc_folder(tmp_path)
    assert [path.name for path in ldc_wsj.stories(folder)] == ["wsj_0001", "wsj_0002", "wsj_2454"]
    text = b"".join(sentences(path.read_bytes()) for path in ldc_wsj.stories(folder))
    assert [line.decode() for line in normalise(text).text()] == LINES


def test_the_digest_is_of_names_and_contents(tmp_path):
    one = ldc_wsj.folder_digest(ldc_folder(tmp_path / "one"))
    assert ldc_wsj.folder_digest(ldc_folder(tmp_path / "two")) == one
    changed = {**STORIES, "00/wsj_0002": STORIES["00/wsj_0002"].replace("Agnew", "Agnes")}
    renamed = {("00/wsj_0003" if name == "00/wsj_0002" else name): text for name, text in STORIES.items()}
    assert ldc_wsj.folder_digest(ldc_folder(tmp_path / "changed", changed)) != one
    assert ldc_wsj.folder_digest(ldc_folder(tmp_path / "renamed", renamed)) != one


@pytest.fixture
def clone(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "clone" / "config")
    path = tmp_path / "clone" / "config" / "config.yaml"
    text = path.read_text(encoding="utf-8")
    text, replaced = re.subn(r"\npapers:\n(  - .*\n)+", "\npapers:\n  - gso\n", text)
    assert replaced == 1
    path.write_text(text, encoding="utf-8")
    return tmp_path / "clone"


def experiments(project):
    return {e.experiment: e for e in resolve_tier(project, "reduced")}


def test_records_and_corpora_of_the_two_texts_never_mix(clone, tmp_path, monkeypatch):
    mikolov = experiments(load_project(clone))
    folder = ldc_folder(tmp_path / "ldc")
    given = load_project(clone, {"ldc_wsj": str(folder)})
    raw = experiments(given)
    trained = [name for name, experiment in mikolov.items() if not experiment.is_check]
    assert len(trained) > 25
    for name in trained:
        assert raw[name].config_hash != mikolov[name].config_hash
        assert raw[name].corpus != mikolov[name].corpus
        assert raw[name].config["data"]["raw"] == {"ldc_wsj": f"sha256:{ldc_wsj.folder_digest(folder)}"}
    assert raw["g17-mrnn"].config_hash == mikolov["g17-mrnn"].config_hash
    # quick reads generated text under either key; a folder beside the clone may be named from it
    (clone / "ldc").symlink_to(folder)
    monkeypatch.setenv("REPRISE_LDC_WSJ", "ldc")
    assert {e.config_hash for e in experiments(load_project(clone)).values()} == {e.config_hash for e in raw.values()}
    # what is said to the command itself comes first
    assert experiments(load_project(clone, {"ldc_wsj": None}))["t1-rnn"] == mikolov["t1-rnn"]


def test_the_corpus_is_made_from_the_folder(clone, tmp_path):
    more = {f"01/wsj_01{i:02}": ".START\n\nOne more line\n" for i in range(20)}
    folder = ldc_folder(tmp_path / "ldc", {**STORIES, **more})
    project = load_project(clone, {"ldc_wsj": str(folder)})
    spec = project.spec("wsj-characters")
    assert (spec.files, spec.expected) == ((), {})
    options = {"tokens": "characters", "folds": 2, "fold_seed": 0}
    corpus = prepare_corpus(spec, options, tmp_path / "raw", tmp_path / "corpus.npz")
    assert text_of(corpus) == LINES[:4] + ["one more line"] * 20 + LINES[4:]
    assert corpus.provenance["raw"] == {"ldc_wsj": f"sha256:{ldc_wsj.folder_digest(folder)}"}
    assert not (tmp_path / "raw").exists()
    assert project.spec("ptb").files


@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("state", ["missing", "empty", "no stories"])
def test_a_missing_or_wrong_folder_gets_one_line_that_names_where_it_was_written(
    clone, tmp_path, state, variable, monkeypatch
):
    folder = tmp_path / "ldc"
    if state != "missing":
        (folder / "raw" / "wsj" / "00").mkdir(parents=True)
    if state == "empty":
        shutil.rmtree(folder / "raw")
    if variable:
        monkeypatch.setenv("REPRISE_LDC_WSJ", str(folder))
    with pytest.raises(UserError) as error:
        experiments(load_project(clone, {} if variable else {"ldc_wsj": str(folder)}))
    line = str(error.value)
    assert line.startswith("REPRISE_LDC_WSJ: " if variable else "config/config.yaml: key ldc_wsj: ")
    assert str(folder) in line
    remedy = "unset it" if variable else "write null"
    assert f"name the folder of LDC99T42, or {remedy} for Mikolov's text" in line
    assert "\n" not in line
