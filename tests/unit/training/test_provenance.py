"""What code made a number: commit, changes, and the digest of the packages that train."""

import subprocess

import pytest

from reprise.engines.rntn.reference import ReferenceEngine
from reprise.models.rntn import RNTN
from reprise.training import provenance


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A package of our name with some files; what was computed before is forgotten."""
    for name in ("models/a.py", "engines/choice.py", "engines/rntn/b.cpp", "engines/gso/c.py", "cli/d.py", "units.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n", encoding="utf-8")
    monkeypatch.setattr(provenance, "_SOURCE", tmp_path)
    provenance.digest_packages.cache_clear()
    provenance.read_git_state.cache_clear()
    yield tmp_path
    provenance.digest_packages.cache_clear()
    provenance.read_git_state.cache_clear()


def digest():
    provenance.digest_packages.cache_clear()
    return provenance.digest_packages(("engines/rntn", "models"))


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("models/a.py", True),
        ("models/new.py", True),
        ("engines/rntn/b.cpp", True),
        ("engines/choice.py", True),
        ("units.py", True),
        ("engines/gso/c.py", False),
        ("cli/d.py", False),
        ("models/notes.txt", False),
    ],
)
def test_the_digest_changes_with_the_files_that_train_and_with_no_others(source, name, counts):
    before = digest()
    (source / name).write_text("2\n", encoding="utf-8")
    assert (digest() != before) == counts


def test_the_engines_package_counts():
    facts = provenance.collect_code_facts(ReferenceEngine(RNTN(4, 2)))
    assert {"engines/rntn", "models", "training"} <= {*facts["code"]["packages"]}
    assert "engines/rntn" not in provenance.collect_code_facts()["code"]["packages"]


def test_commit_and_changes_are_those_of_the_repository(source):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        process = subprocess.run(["git", *identity, *arguments], cwd=source, check=True, capture_output=True, text=True)
        return process.stdout.strip()

    def state():
        provenance.read_git_state.cache_clear()
        return provenance.read_git_state()

    assert state() == {"commit": None, "dirty": None}
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    assert state() == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    (source / "units.py").write_text("2\n", encoding="utf-8")
    assert state()["dirty"]
