"""The data caches of a core, by which the C++ engines cut their work."""

import re
from pathlib import Path
from typing import NamedTuple

REPORTED = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20}


class Caches(NamedTuple):
    """Bytes of the L1 data cache and of the L2 cache of a core, and of the L3 cache that it shares."""

    l1d: int
    l2: int
    l3: int = 32 << 20


DEFAULT = Caches(48 << 10, 1 << 20)
"""Those of the processor on which the engines' sizes were chosen (AMD Zen 5)."""


def read_caches(folder: Path = REPORTED) -> Caches:
    """Return the caches that Linux reports of the first core; DEFAULT for what it does not."""
    sizes = {}
    for index in folder.glob("index*"):
        try:
            level, kind, size = (
                (index / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size")
            )
        except (OSError, ValueError):
            continue
        number = re.fullmatch(r"([1-9]\d*)([KM])", size)
        if number and kind in ("Data", "Unified"):
            sizes[level] = int(number[1]) * _UNITS[number[2]]
    return Caches(*(sizes.get(level, size) for level, size in zip("123", DEFAULT, strict=True)))
