"""Document 000's text from a user's own Treebank-3: read, told from Mikolov's, and asked for where it is missing."""

import re
from pathlib import Path

import pytest
from config_helpers import copy_config
from corpus_helpers import read, written

from reprise.config import ldc_wsj
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.data import prepare_corpus
from reprise.errors import UserError

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
    others = {"readme": "not a section\n", "00/wsj_0001.bak": "not a story\n"}
    for name, text in {**stories, **others}.items():
        path = folder / "raw" / "wsj" / name
        written(path.parent, {path.name: text})
    return folder


def test_the_digest_is_of_names_and_contents(tmp_path):
    one = ldc_wsj.compute_folder_digest(ldc_folder(tmp_path / "one"))
    assert ldc_wsj.compute_folder_digest(ldc_folder(tmp_path / "two")) == one
    changed = {**STORIES, "00/wsj_0002": STORIES["00/wsj_0002"].replace("Agnew", "Agnes")}
    renamed = {("00/wsj_0003" if name == "00/wsj_0002" else name): text for name, text in STORIES.items()}
    assert ldc_wsj.compute_folder_digest(ldc_folder(tmp_path / "changed", changed)) != one
    assert ldc_wsj.compute_folder_digest(ldc_folder(tmp_path / "renamed", renamed)) != one


@pytest.fixture
def clone(tmp_path):
    """The configuration with document 000 alone."""
    path = copy_config(tmp_path / "clone") / "config" / "config.yaml"
    text, replaced = re.subn(r"\npapers:\n(  - .*\n)+", "\npapers:\n  - gso\n", path.read_text(encoding="utf-8"))
    assert replaced == 1
    path.write_text(text, encoding="utf-8")
    return tmp_path / "clone"


def experiments(project):
    return {e.experiment: e for e in resolve_tier(project, "reduced")}


def test_records_and_corpora_of_the_two_texts_never_mix(clone, tmp_path, monkeypatch):
    mikolov = experiments(load_project(clone))
    folder = ldc_folder(tmp_path / "ldc")
    project = load_project(clone, {"ldc_wsj": str(folder)})
    raw = experiments(project)
    trained = [name for name, experiment in mikolov.items() if not experiment.is_check]
    assert len(trained) > 25
    for name in trained:
        assert raw[name].config_hash != mikolov[name].config_hash
        assert raw[name].corpus != mikolov[name].corpus
        assert raw[name].config["data"]["raw"] == {"ldc_wsj": f"sha256:{ldc_wsj.compute_folder_digest(folder)}"}
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
    spec = project.find_dataset("wsj-characters")
    assert (spec.files, spec.expected) == ([], {})
    options = {"tokens": "characters", "folds": 2, "fold_seed": 0}
    corpus = prepare_corpus(spec, options, tmp_path / "raw", tmp_path / "corpus.npz")
    assert read(corpus, "lines", "") == LINES[:4] + ["one more line"] * 20 + LINES[4:]
    assert corpus.provenance["raw"] == {"ldc_wsj": f"sha256:{ldc_wsj.compute_folder_digest(folder)}"}
    assert not (tmp_path / "raw").exists()
    assert project.find_dataset("ptb").files


@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("files", [None, {"raw/wsj/readme": ""}, {"raw/wsj/00/readme": ""}])
def test_a_missing_or_wrong_folder_is_one_line(clone, tmp_path, files, variable, monkeypatch):
    folder = tmp_path / "ldc"
    for name in files or ():
        written((folder / name).parent, {"readme": ""})
    if variable:
        monkeypatch.setenv("REPRISE_LDC_WSJ", str(folder))
    with pytest.raises(UserError, match=rf"^config/config\.yaml: key ldc_wsj .*{folder}.*name the folder of LDC99T42"):
        experiments(load_project(clone, {} if variable else {"ldc_wsj": str(folder)}))
