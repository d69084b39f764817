"""Stand-ins for CUDA graphs where there is no GPU: programs on a tape, and programs on a device that only pretends.

A CUDA graph repeats the kernels that were launched while it was captured, on the addresses and with the numbers that
they were given then. A tape repeats the operations in the same way: what Python replaces, computes or chooses
afterwards it does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from reprise.kernels.stacked_programs import Programs

WAITS = {
    *("_local_scalar_dense", "equal", "is_nonzero", "item"),
    *("nonzero", "argwhere", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "bincount"),
    *("repeat_interleave", "histc", "allclose"),
}
"""What the host has to wait for, to learn a number or a size."""
RANDOM = {"bernoulli", "dropout", "normal", "rand", "randint", "randn", "randperm", "uniform", "multinomial"}
FROM_HOST = {"lift_fresh", "_pin_memory"}
"""What a number or a tensor of Python becomes: on a GPU a copy from the host, of what was there at the capture."""


class NotCapturable(AssertionError):
    """A program does what a CUDA graph cannot repeat."""


def refuse(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises `NotCapturable` for what waits for the device, draws random numbers or takes numbers from the host."""
    name = op.overloadpacket.__name__
    if name in WAITS | FROM_HOST or name.removesuffix("_").removesuffix("_like") in RANDOM:
        raise NotCapturable(f"{op} in a program")
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        if any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]):
            raise NotCapturable(f"{op} by a mask in a program: its size is a number of the device")
        if name != "index" and len(args) > 3 and args[3]:
            raise NotCapturable(f"{op} adds up in no fixed order")
    if name in ("index_add", "index_add_", "scatter_reduce", "scatter_reduce_", "resize_", "set_"):
        raise NotCapturable(f"{op} in a program")


def tensors_in(tree: Any) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))


def memory_of(tensor: Tensor) -> int:
    """Equal for views of the same memory."""
    return tensor.untyped_storage()._cdata


def bytes_of(tensor: Tensor) -> Tensor:
    """All of the memory that a tensor is in."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


class Tape(TorchDispatchMode):
    """Records operations while it is entered, and undoes what they did: a capture computes nothing.

    What they allocated is a graph's own memory. Between two replays others write there: it is filled with NaN or -1.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[OpOverload, tuple[Any, ...], dict[str, Any], list[Tensor]]] = []
        self.own: dict[int, Tensor] = {}
        self.before: dict[int, tuple[Tensor, Tensor]] = {}  # memory of others that was written to, as it was

    def __torch_dispatch__(self, op: OpOverload, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        refuse(op, args, kwargs)
        self._keep_what_is_written(op, args, kwargs)
        given = {memory_of(tensor) for tensor in tensors_in((args, kwargs))}
        out = op(*args, **kwargs)
        fresh = [tensor for tensor in tensors_in(out) if memory_of(tensor) not in given]
        self.own |= {memory_of(tensor): bytes_of(tensor) for tensor in fresh}
        writes = any(argument.alias_info and argument.alias_info.is_write for argument in op._schema.arguments)
        # Views are addresses; memory that is asked for has nothing in it.
        if writes or (fresh and not op.overloadpacket.__name__.removeprefix("new_").startswith("empty")):
            self.calls.append((op, args, kwargs, fresh))
        return out

    def _keep_what_is_written(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for place, argument in enumerate(op._schema.arguments):
            if argument.alias_info and argument.alias_info.is_write:
                given = args[place] if place < len(args) else kwargs.get(argument.name)
                for tensor in tensors_in(given):
                    if memory_of(tensor) not in self.own and memory_of(tensor) not in self.before:
                        self.before[memory_of(tensor)] = bytes_of(tensor), bytes_of(tensor).clone()

    def undo(self) -> None:
        for now, before in self.before.values():
            now.copy_(before)
        self.before.clear()
        self._overwrite()

    def replay(self) -> None:
        for op, args, kwargs, fresh in self.calls:
            found = op(*args, **kwargs)
            for place, tensor in zip(fresh, tensors_in(found), strict=False):
                place.copy_(tensor)
        self._overwrite()

    def _overwrite(self) -> None:
        for memory in self.own.values():
            memory.fill_(255)


class TapedPrograms(Programs):
    """Programs on the CPU that are captured on tapes: `made` are all of them, `replayed` counts."""

    made: list[Tape] = []
    replayed = 0

    def __init__(self, device: torch.device, capture: bool = True) -> None:
        super().__init__(device, capture)
        self.capture = capture
        self.known: dict[Any, Any] = {}

    def run(self, name: Any, program: Callable[..., None], *arguments: object) -> None:
        if self.known.setdefault(name, (program, arguments)) != (program, arguments):
            raise NotCapturable(f"two programs are called {name}")
        TapedPrograms.replayed += self._graphs.get(name) is not None
        super().run(name, program, *arguments)

    def _captured(self, program: Callable[..., None], arguments: tuple[object, ...]) -> Tape:
        with Tape() as tape:
            program(*arguments)
        tape.undo()
        TapedPrograms.made.append(tape)
        return tape


class Elsewhere(TorchDispatchMode):
    """Raises `NotCapturable` where an operation meets tensors of different devices, or of another than `device`."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device

    def __torch_dispatch__(self, op: OpOverload, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        refuse(op, args, kwargs or {})
        out = op(*args, **(kwargs or {}))
        devices = {tensor.device for tensor in tensors_in((args, kwargs, out))}
        if devices - {self.device}:
            raise NotCapturable(f"{op} on {', '.join(map(str, devices))} in a program on {self.device}")
        return out


class ProgramsElsewhere(Programs):
    """Programs on a device whose tensors have no numbers; `ran` are their names. Each is called but once."""

    ran: set[Any] = set()

    def __init__(self, device: torch.device, capture: bool = True) -> None:
        super().__init__(device, capture)
        self.device, self.known = device, set()

    def run(self, name: Any, program: Callable[..., None], *arguments: object) -> None:
        if name not in self.known:
            with Elsewhere(self.device):
                program(*arguments)
        self.known.add(name)
        self.ran.add(name)
