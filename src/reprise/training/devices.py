"""Which GPUs a job could use, found without importing torch."""

import fcntl
import os
import shutil
import tempfile
import time
from itertools import takewhile
from pathlib import Path

from reprise.catalogue.protocols import PROTOCOLS
from reprise.processes import read_output
from reprise.records.resolved import Resolved

DRIVER = Path("/proc/driver/nvidia/gpus")
DEVICE_FILES = Path("/dev")


def prepare_environment() -> None:
    """Set what cuBLAS needs to add in the same order in every run; to be called before torch is imported."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def has_network(experiment: Resolved) -> bool:
    """Return whether the experiment trains a network: for others a GPU is of no use."""
    return not experiment.is_check and PROTOCOLS[experiment.config["training"]["protocol"]].gpu


def is_single_job(experiment: Resolved, gpus: int) -> bool:
    """Return whether all missing replicas of the experiment are one job: on a GPU, and with the engine `stacked`."""
    engine = "stacked" if experiment.engine == "auto" and gpus and experiment.device != "cpu" else experiment.engine
    return engine == "stacked" and has_network(experiment)


def count_gpus_needed(experiment: Resolved, visible: int) -> int:
    """Count the GPUs that a job asks for: 1 where its replicas train together and one is visible and allowed.

    Other jobs ask for none, so that CPU jobs never wait for a GPU.
    """
    return int(visible > 0 and experiment.device != "cpu" and is_single_job(experiment, visible))


def _list_chosen_gpus() -> list[str] | None:
    """List the GPUs of CUDA_VISIBLE_DEVICES; where it is not set, none in a job of SLURM, elsewhere None."""
    if "CUDA_VISIBLE_DEVICES" not in os.environ and "SLURM_JOB_ID" not in os.environ:
        return None
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = (name.strip() for name in chosen.split(","))
    # CUDA ignores what follows the first name that is no GPU.
    return list(takewhile(lambda name: name and not name.startswith(("-", "NoDevFiles")), names))


def count_visible_gpus() -> int:
    """Count the NVIDIA GPUs this process may use: those of CUDA_VISIBLE_DEVICES, else what the driver shows."""
    if (chosen := _list_chosen_gpus()) is not None:
        return len(chosen)
    # A container may hide the driver's folder and have no nvidia-smi, but without the device file nothing runs.
    shown = list(DRIVER.glob("*")) or list(DEVICE_FILES.glob("nvidia[0-9]*"))
    tool = shutil.which("nvidia-smi")
    if shown or tool is None:
        return len(shown)
    output = read_output([tool, "-L"], seconds=20)
    return sum(line.startswith("GPU ") for line in (output or "").splitlines())


def list_gpus(gpus: int) -> list[str]:
    """Name the `gpus` that this process may use, as CUDA_VISIBLE_DEVICES does."""
    return (_list_chosen_gpus() or [str(i) for i in range(gpus)])[:gpus]


def claim_gpu(gpus: int) -> str:
    """Claim the first of `gpus` that no other process has claimed, for this process alone; return its name.

    Snakemake counts GPUs but does not hand them out. The claim ends with the process; where all are claimed this waits.
    It has to come before torch looks for a GPU.
    """
    places = {name: Path(tempfile.gettempdir(), f"reprise-{os.getuid()}-gpu-{name}.lock") for name in list_gpus(gpus)}
    while True:
        for name, path in places.items():
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            os.environ["CUDA_VISIBLE_DEVICES"] = name  # the handle stays open, and the lock with it
            return name
        time.sleep(1.0)
