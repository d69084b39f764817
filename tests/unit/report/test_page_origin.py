"""What the page's footer says of the clone: from git, as far as git knows it."""

import subprocess

import pytest

from reprise.report.page.page import Origin


@pytest.fixture
def clone(tmp_path):
    run_git(tmp_path, "init", "--quiet")
    run_git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "-m", "one")
    return tmp_path


def run_git(root, *arguments):
    subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True)


def test_credentials_in_the_address_of_the_repository_are_left_out(clone):
    run_git(clone, "remote", "add", "origin", "https://someone:secret@example.org:8443/reprise.git")
    assert Origin.read(clone).repository == "https://example.org:8443/reprise"


def test_an_address_that_no_browser_opens_is_left_out(clone):
    run_git(clone, "remote", "add", "origin", "git@example.org:reprise.git")
    assert Origin.read(clone).repository == ""
    assert Origin.read(clone).commit != ""


def test_a_machine_without_git_makes_a_page_without_an_origin(clone, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    assert Origin.read(clone) == Origin()
