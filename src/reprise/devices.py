"""The processor, and which GPUs a job could use, found without importing torch."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from reprise.config.resolved import Resolved
from reprise.training import PROTOCOLS
from reprise.training.stack_plan import stack_key


def processor() -> str:
    """What the processor calls itself."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def gpus_wanted(experiment: Resolved, visible: int) -> int:
    """GPUs that a job of the experiment asks for: 1 where one is visible, allowed and of use to its protocol.

    Nothing else asks for one, so that a GPU never makes jobs wait for each other that run on the CPU.
    """
    if not visible or experiment.device == "cpu" or experiment.is_check:
        return 0
    stacked = experiment.engine == "stacked" and stack_key(experiment) is not None
    return int(stacked or PROTOCOLS[experiment.config["training"]["protocol"]].gpu)


def visible_gpus() -> int:
    """How many NVIDIA GPUs this process may use: CUDA_VISIBLE_DEVICES if set, else what the driver shows.

    In a job of SLURM only CUDA_VISIBLE_DEVICES counts: it names what the job was given (NoDevFiles: nothing).
    """
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "" if "SLURM_JOB_ID" in os.environ else None)
    if chosen is not None:
        return len([d for d in chosen.split(",") if d.strip() and not d.strip().startswith(("-", "NoDevFiles"))])
    shown = list(Path("/proc/driver/nvidia/gpus").glob("*"))
    if shown:
        return len(shown)
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return 0
    try:
        answer = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in answer.stdout.splitlines()) if answer.returncode == 0 else 0
