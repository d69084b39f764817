"""The processor, as Linux describes it."""

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def read_cpuinfo(path: Path | None = None) -> dict[str, str]:
    """Return what Linux says of the first core, from CPUINFO unless a path is given; nothing on another system."""
    try:
        lines = (path or CPUINFO).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in reversed(lines) if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def read_processor_name() -> str:
    """Return the processor's name, or the kind of machine where it has none."""
    return read_cpuinfo().get("model name") or platform.processor() or platform.machine()
