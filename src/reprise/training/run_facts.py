"""The circumstances of a training, as its record has them: engine, device, threads, versions, time and memory."""

import platform
import resource
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

import reprise
from reprise.processor import read_processor_name


def reset_peak_memory(device: torch.device | None = None) -> None:
    """Count this process's peak of memory anew, a GPU's too, so that a record's is not of a training before it."""
    with suppress(OSError):  # of a system that cannot: a later training's peak is then at least an earlier one's
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    if device is not None and device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def collect_run_facts(engine: str, device: torch.device, wall_seconds: float, resumed: int) -> dict[str, Any]:
    """Say how the numbers were made: engine, device, threads, versions, wall time (s) and peak memory (MiB).

    The peak is the process's: of trainings in threads side by side none has one of its own.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, kilobytes elsewhere
    is_main = threading.current_thread() is threading.main_thread()
    memory = {"peak_memory_mib": round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)} if is_main else {}
    versions = {"reprise": reprise.__version__, "python": platform.python_version()}
    return {
        "engine": engine,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu ({read_processor_name()})",
        "threads": torch.get_num_threads(),
        "wall_seconds": round(wall_seconds, 3),
        **memory,
        "resumed": resumed,
        "versions": versions | {"torch": torch.__version__, "numpy": np.__version__},
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }
