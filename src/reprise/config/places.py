"""Where the keys of a paper's file stand: what an experiment has from its family is to be mended there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Places:
    """The experiments as they are `written`, and the family that each is `like`, of those that are like one."""

    written: Mapping[str, Any] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)

    def of(self, experiment: str, *keys: str, missing: bool = False) -> str:
        """Where a key of an experiment stands: "experiments.<experiment>.<keys>" or "families.<family>.<keys>".

        A key that is `missing` is missing where the mapping around it stands.
        """
        there = keys[:-1] if missing else keys
        if experiment in self.families and not _holds(self.written[experiment], there):
            return ".".join(("families", self.families[experiment], *keys))
        return ".".join(("experiments", experiment, *keys))


def _holds(entry: Any, keys: Sequence[str]) -> bool:
    for key in keys:
        if isinstance(entry, list) and key.isdecimal() and int(key) < len(entry):
            entry = entry[int(key)]
        elif isinstance(entry, Mapping) and key in entry:
            entry = entry[key]
        else:
            return False
    return True
