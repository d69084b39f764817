"""Run by the tests as `sitecustomize`: hides every package that an environment file does not bring.

REPRISE_TEST_ENVIRONMENT names the file. Allowed are the standard library, the packages that the file pins and
what these require in turn, by their own metadata; and reprise, which is found by PYTHONPATH and not installed.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any


def pinned(path: Path) -> dict[str, str]:
    """Name and version of every line `- name==version`, names in lower case with dashes."""
    pins = re.findall(r"^ +- ([A-Za-z0-9._-]+)==(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {normal(name): version for name, version in pins}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def with_requirements(names: Sequence[str]) -> set[str]:
    """The distributions and all that they require on this machine, extras left out."""
    from packaging.requirements import Requirement

    closure: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := normal(waiting.pop())) in closure:
            continue
        closure.add(name)
        with suppress(metadata.PackageNotFoundError):
            requirements = [Requirement(text) for text in metadata.requires(name) or []]
            waiting += [r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    return closure


def foreign_modules(environment: Path) -> set[str]:
    """Top-level modules that are installed here and would not be in the environment."""
    allowed = with_requirements(list(pinned(environment)))
    return {
        module
        for module, owners in metadata.packages_distributions().items()
        if module not in sys.stdlib_module_names
        and module != "reprise"
        and not allowed & {normal(owner) for owner in owners}
    }


class Gate:
    """A finder that does not see the hidden modules, as if they were not installed."""

    def __init__(self, finder: Any, hidden: set[str]):
        self.finder, self.hidden = finder, hidden

    def find_spec(self, name: str, *more: Any) -> Any:
        return None if name.partition(".")[0] in self.hidden else self.finder.find_spec(name, *more)

    def find_distributions(self, *more: Any) -> Iterator[metadata.Distribution]:
        """The finder's distributions without reprise, which is not installed in such an environment."""
        find = getattr(self.finder, "find_distributions", lambda *_: ())
        return (distribution for distribution in find(*more) if distribution.name != "reprise")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


if "REPRISE_TEST_ENVIRONMENT" in os.environ:
    hidden_here = foreign_modules(Path(os.environ["REPRISE_TEST_ENVIRONMENT"]))
    sys.meta_path[:] = [Gate(finder, hidden_here) for finder in sys.meta_path]
    # What was imported on the way here, `packaging` for example, may have to be hidden too.
    for loaded in [m for m in sys.modules if m.partition(".")[0] in hidden_here]:
        del sys.modules[loaded]
