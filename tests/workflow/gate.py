"""Run by the tests as `sitecustomize`: hides every package that an environment file does not bring.

REPRISE_TEST_ENVIRONMENT names the file. Allowed are the standard library, reprise, the packages that the file pins and
what these require in turn, by their own metadata.
"""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path


def pinned(path: Path) -> dict[str, str]:
    """Name and version of every line `- name==version`, names in lower case with dashes."""
    found = re.findall(r"^ +- ([A-Za-z0-9._-]+)==(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {normal(name): version for name, version in found}


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
            found = [Requirement(text) for text in metadata.requires(name) or []]
            waiting += [r.name for r in found if r.marker is None or r.marker.evaluate({"extra": ""})]
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


if "REPRISE_TEST_ENVIRONMENT" in os.environ:
    hidden = foreign_modules(Path(os.environ["REPRISE_TEST_ENVIRONMENT"]))
    # What was imported on the way here, `packaging` for example, may have to be hidden too.
    for module in [name for name in sys.modules if name.partition(".")[0] in hidden]:
        del sys.modules[module]
    # None stands for a module that is not installed.
    sys.modules.update(dict.fromkeys(hidden))
