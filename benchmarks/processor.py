"""The processor's name, as the files of results bear it."""

import re
from pathlib import Path

_ZEN = {
    3: {25: (range(0x00, 0x10), range(0x20, 0x60))},
    4: {25: (range(0x10, 0x20), range(0x60, 0xB0))},
    5: {26: (range(0x00, 0x30), range(0x40, 0x50), range(0x60, 0x80))},
}
"""AMD's generations by family and models, as Linux has them (arch/x86/kernel/cpu/amd.c): many share one name."""


def read_cpuinfo(path: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Return what Linux says of the first core; nothing on another system."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = (line.split(":", 1) for line in reversed(lines) if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def name_processor(name: str, facts: dict[str, str], march: str = "") -> str:
    """Return a name for files: the processor's own, its generation or family and model, and the `march` if one is set.

    `facts` are those of `read_cpuinfo`.
    """
    family, model = facts.get("cpu family", ""), facts.get("model", "")
    kind = f"{family} {model}"
    if facts.get("vendor_id") == "AuthenticAMD":
        for generation, models in _ZEN.items():
            if any(int(model) in some for some in models.get(int(family), ())):
                kind = f"zen {generation}"
    return re.sub(r"[^a-z0-9]+", "-", f"{name} {kind} {march}".lower().replace("(r)", "")).strip("-")
