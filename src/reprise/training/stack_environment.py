"""What a GPU's libraries are told through the environment; nothing here imports torch."""

from __future__ import annotations

import os

_VARIABLES = {
    # Two streams at work would share cuBLAS's scratch memory, and with it the order of its sums.
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    # Work of more streams than there are queues to the device (8 by default) waits for what it has nothing to do with.
    "CUDA_DEVICE_MAX_CONNECTIONS": "32",
}


def prepare_environment() -> None:
    """To be called before torch is imported: what is there already, set by whoever started the process, stays."""
    for name, value in _VARIABLES.items():
        os.environ.setdefault(name, value)
