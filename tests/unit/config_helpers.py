"""The committed configuration, or the small one of the tests, in a folder where a test can change it."""

import shutil
from functools import cache
from pathlib import Path

import pytest
from project import ROOT
from project import Project as Copy

from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import UserError
from reprise.records.resolved import Resolved


@cache
def project(tier: str = "paper") -> Project:
    """The committed configuration."""
    return load_project(ROOT, {"tier": tier})


@cache
def experiments(tier: str = "paper") -> list[Resolved]:
    return resolve_tier(project(tier))


def copy_config(folder: Path, config: Path = ROOT / "config") -> Path:
    """`folder`, with a copy of `config` as config/ in it."""
    shutil.copytree(config, folder / "config")
    return folder


def edit(clone: Path, file: str, old: str, new: str) -> None:
    """Puts `new` where `old` first stands in a file of config/, which has to have it."""
    Copy(clone / "config", {}).edit(file, old, new)


def mistake(clone: Path) -> str:
    """The one line that is said of the configuration in `clone`, which has to be refused."""
    with pytest.raises(UserError) as caught:
        resolve_tier(load_project(clone))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def add_example(clone: Path) -> Path:
    """Puts the paper of docs/example-paper.yaml where docs/adding.md has it copied, and whoever tried it has it."""
    shutil.copyfile(ROOT / "docs/example-paper.yaml", clone / "config/papers/sizes.yaml")
    if "\n  - sizes\n" not in (clone / "config/config.yaml").read_text(encoding="utf-8"):
        edit(clone, "config.yaml", "\npapers:\n", "\npapers:\n  - sizes\n")
    return clone
