"""How the numbers of a record were made: machine, versions, time and memory."""

from __future__ import annotations

import platform
import resource
import sys
from typing import Any

import numpy as np
import torch

import reprise
from reprise.training.devices import processor


def run_facts(engine: str, device: torch.device, wall_seconds: float, resumed: int) -> dict[str, Any]:
    """How the numbers were made: engine, device, threads, versions, wall time (s) and peak memory (MiB)."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, kilobytes elsewhere
    return {
        "engine": engine,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu ({processor()})",
        "threads": torch.get_num_threads(),
        "wall_seconds": round(wall_seconds, 3),
        "peak_memory_mib": round(most / (2**20 if sys.platform == "darwin" else 2**10), 1),
        "resumed": resumed,
        "versions": {
            "reprise": reprise.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }
