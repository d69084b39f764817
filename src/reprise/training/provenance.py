"""The code that makes a number: the Git commit, whether files differ, and a digest of the packages that train."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import reprise
from reprise.files import compute_sha256
from reprise.processes import read_output

_SOURCE = Path(reprise.__file__).parent
_SUFFIXES = (".py", ".cpp", ".h")
_PACKAGES = ("data", "evaluation", "models", "training")
_SECONDS = 10


def collect_code_facts(engine: Any = None) -> dict[str, Any]:
    """Say what code trains.

    Args:
        engine: What learns; its engine's package counts, and for a stack, which uses parts of all, every engine's.

    Returns:
        `commit` and `dirty`, None outside of a Git repository; `code`, the packages and their digest.
    """
    packages = sorted({*_PACKAGES, *list_engine_packages(type(engine).__module__)})
    return {**read_git_state(), "code": {"packages": packages, "sha256": digest_packages(tuple(packages))}}


def list_engine_packages(module: str) -> list[str]:
    """Say which packages of engines a module uses: "reprise.engines.rntn.native" engines/rntn, a stack all engines."""
    root, _, rest = module.partition(".engines.")
    package = rest.split(".")[0]
    if root != "reprise" or "." not in rest:
        return []
    return ["engines"] if package == "stack" else [f"engines/{package}"]


@cache
def digest_packages(packages: Sequence[str]) -> str:
    """Take the SHA-256 over the files of these packages, and of the modules beside them: *.py and engines/*.py."""
    shared = [*_SOURCE.glob("*.py"), *_SOURCE.glob("engines/*.py")]
    files = [*shared, *(path for package in packages for path in (_SOURCE / package).rglob("*"))]
    total = hashlib.sha256()
    for name, path in sorted(_name_files(files)):
        total.update(f"{name} {compute_sha256(path)}\n".encode())
    return total.hexdigest()


def _name_files(files: Iterable[Path]) -> set[tuple[str, Path]]:
    return {(path.relative_to(_SOURCE).as_posix(), path) for path in files if path.suffix in _SUFFIXES}


@cache
def read_git_state() -> dict[str, Any]:
    """Say which commit the code is of, and whether a file differs from it; None for both where Git cannot tell."""
    commit = _run_git("rev-parse", "HEAD")
    changes = _run_git("status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return {"commit": None, "dirty": None}
    return {"commit": commit.strip(), "dirty": bool(changes)}


def _run_git(*arguments: str) -> str | None:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # `status` writes nothing
    return read_output(["git", *arguments], _SECONDS, cwd=_SOURCE, env=environment)
