"""Where and how torch computes in this process: the device, CPU threads, and the same sums in every run."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from reprise.catalogue.protocols import PROTOCOLS
from reprise.engines.stack import NAME as STACKED
from reprise.errors import UserError


@contextmanager
def use_torch_settings(threads: int = 1) -> Iterator[None]:
    """Set torch's global switches for trainings and restore them: CPU threads, and the same sums in every run.

    Around a whole command, not around one of several trainings that one process does at the same time.
    """
    memory = torch.utils.deterministic
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode(), memory.fill_uninitialized_memory
    try:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode("warn")
        memory.fill_uninitialized_memory = False  # a kernel more for every tensor
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
        memory.fill_uninitialized_memory = before[2]


def choose_device(name: str, protocol: str, engine: str) -> torch.device:
    """Choose where to compute; "auto" is a GPU where one is visible and protocol and engine can use it, else the CPU.

    Raises:
        UserError: "cuda" where that is not so.
    """
    obstacle, remedy = "", "write auto or cpu (--device, or the key device of config/config.yaml)"
    if not PROTOCOLS[protocol].gpu:
        obstacle = f"the protocol {protocol} runs on the CPU; {remedy}"
    elif engine not in ("auto", STACKED):
        obstacle = f"the engine {engine} runs on the CPU; choose the engine auto, or {remedy}"
    elif not torch.cuda.is_available():
        obstacle = f"no GPU is visible to torch; {remedy}"
    if name == "cuda" and obstacle:
        raise UserError(f"device cuda: {obstacle}")
    return torch.device(("cpu" if obstacle else "cuda") if name == "auto" else name)
