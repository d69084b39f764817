"""The environment variables of Reprise: each is read and checked here, and nowhere else."""

import math
import os
from pathlib import Path

from reprise.errors import UserError

MIRROR, BUILD, LDC_WSJ = "REPRISE_MIRROR", "REPRISE_BUILD", "REPRISE_LDC_WSJ"
MARCH, SAVE_SECONDS, DEBUG = "REPRISE_MARCH", "REPRISE_SAVE_SECONDS", "REPRISE_DEBUG"


def get_mirror() -> Path | None:
    """Return the folder of raw files that is looked into before the network, if one is named."""
    folder = _get_path(MIRROR)
    if folder and not folder.is_dir():
        raise UserError(f"{MIRROR}: no folder {folder}; name a folder that holds the datasets, or unset it")
    return folder


def get_build_folder() -> Path:
    """Return the absolute folder of compiled engines, which may not exist yet; build/kernels if none is named."""
    folder = (_get_path(BUILD) or Path("build/kernels")).absolute()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{BUILD}: {folder} is no folder; name one, or unset it")
    return folder


def get_instruction_set() -> str:
    """Return the processor for which C++ engines are compiled, as the compiler's -march has it; "" for this one."""
    return os.environ.get(MARCH, "")


def get_ldc_wsj() -> str | None:
    """Return the folder of LDC99T42 as it is written, if one is named; the dataset checks what it holds."""
    return os.environ.get(LDC_WSJ) or None


def get_save_interval() -> float:
    """Return the seconds between two saves of a training, 30 if unset; a power cut costs at most so much work."""
    text = os.environ.get(SAVE_SECONDS) or "30"
    try:
        seconds = float(text)
    except ValueError:
        raise UserError(f"{SAVE_SECONDS}: '{text}' is not a number; write seconds, or unset it") from None
    if not 0 <= seconds < math.inf:
        raise UserError(f"{SAVE_SECONDS}: '{text}' is no time; write seconds from 0, or unset it")
    return seconds


def is_debugging() -> bool:
    """Return whether errors are shown with their traceback."""
    return os.environ.get(DEBUG, "") not in ("", "0")


def _get_path(name: str) -> Path | None:
    return Path(text) if (text := os.environ.get(name)) else None
