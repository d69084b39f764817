"""Environment variables: what each takes, and that what it does not take is one line that names it."""

import pytest

from reprise import environment
from reprise.errors import UserError


@pytest.fixture(autouse=True)
def unset(monkeypatch, tmp_path):
    for name in (environment.MIRROR, environment.BUILD, environment.SAVE_SECONDS, environment.DEBUG):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text", [None, ""])
def test_what_is_unset_or_empty_has_its_default(monkeypatch, tmp_path, text):
    for name in (environment.MIRROR, environment.BUILD, environment.SAVE_SECONDS, environment.DEBUG):
        if text is not None:
            monkeypatch.setenv(name, text)
    assert environment.get_mirror() is None
    assert environment.get_build_folder() == tmp_path / "build/kernels"
    assert environment.get_save_interval() == 30
    assert not environment.is_debugging()


def test_what_is_set_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv(environment.MIRROR, str(tmp_path))
    monkeypatch.setenv(environment.BUILD, "a/b")
    monkeypatch.setenv(environment.SAVE_SECONDS, "2.5")
    monkeypatch.setenv(environment.DEBUG, "1")
    assert environment.get_mirror() == tmp_path
    assert environment.get_build_folder() == tmp_path / "a/b"
    assert environment.get_save_interval() == 2.5
    assert environment.is_debugging()


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        (environment.MIRROR, "no/folder", environment.get_mirror),
        (environment.MIRROR, "file", environment.get_mirror),
        (environment.BUILD, "file", environment.get_build_folder),
        *((environment.SAVE_SECONDS, text, environment.get_save_interval) for text in ("x", "nan", "inf", "-1")),
    ],
)
def test_what_cannot_be_taken_is_one_line_that_names_the_variable(monkeypatch, tmp_path, name, text, read):
    (tmp_path / "file").touch()
    monkeypatch.setenv(name, text)
    with pytest.raises(UserError, match=f"{name}: .*{text}.*unset it"):
        read()
