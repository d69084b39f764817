"""What the tests of compiled engines share: the compilers that are here, others that do less, and none."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reprise.errors import UserError

COMPILERS = [name for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name and shutil.which(name)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")


def use_compiler(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler is this shell script."""
    compiler = folder / "other-c++"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(compiler))


def use_compiler_without_native(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that does not know this CPU, and makes libraries for the plainest one."""
    script = f'case "$*" in *-march=native*) exit 1;; esac\nexec {COMPILERS[0]} "$@"'
    use_compiler(script, folder, monkeypatch)


def chosen_without_compiler(
    choose: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """choose("auto") where there is no compiler; it is told in one line, and the fused engine is refused."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    chosen = choose("auto")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no-such-compiler" in said
    with pytest.raises(UserError, match="no-such-compiler"):
        choose("fused")
    return chosen
