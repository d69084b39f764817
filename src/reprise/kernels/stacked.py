"""What the engines of stacks have in common: R replicas of models of one shape, trained as one program.

A stack trains on texts that every replica reads in the same order, or on data of each replica's own (`stacked_lines`,
`stacked_palindromes`, `stacked_books`).
`train` and `evaluate` return before the device is done; nothing waits for it but whoever asks for numbers of it:
losses, parameters, the carried state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from reprise.engines.readable import take_state
from reprise.kernels.stacked_programs import Programs


class Stack:
    """R replicas on a device, with the sum of their losses. Subclasses make `p`, or say in `named` what there is."""

    name = "stacked"
    p: Mapping[str, Tensor]  # the parameters by the readable model's names, (R, ...)

    def __init__(self, replicas: int, device: torch.device, capture: bool) -> None:
        self.R, self.device = replicas, device
        self.programs = Programs(device, capture)
        with self.programs.stream():
            self.total = torch.zeros(replicas, dtype=torch.float64, device=device)

    def named(self, replica: int) -> dict[str, Tensor]:
        """Views of a replica's parameters, by the names and in the shapes of its readable model."""
        return {name: value[replica] for name, value in self.p.items()}

    def take_losses(self) -> Tensor:
        """Each replica's summed loss, nats, since this was called last: (R,) on the device, without waiting for it."""
        with self.programs.stream():
            losses = self.total.clone()
            self.total.zero_()
        return losses

    def numbers(self, losses: Tensor) -> list[float]:
        """What `take_losses` gave, in the host's memory; waits for the device."""
        with self.programs.stream():
            return losses.tolist()

    def export(self, replica: int) -> dict[str, Tensor]:
        """The state_dict of a replica's readable model, as copies in the host's memory."""
        with self.programs.stream(), torch.no_grad():
            named = self.named(replica)
            return {name: value.clone(memory_format=torch.contiguous_format).cpu() for name, value in named.items()}

    def load(self, replica: int, state: Mapping[str, Tensor]) -> None:
        """Takes the values of a readable model's state_dict; ValueError if names or shapes differ."""
        with self.programs.stream(), torch.no_grad():
            take_state(self.named(replica), state)


def kind_of(model: nn.Module, *settings: object) -> tuple[object, ...]:
    """Equal where models have one type, parameters of the same names, shapes and dtypes, and the same `settings`."""
    return type(model), *settings, *((name, p.shape, p.dtype) for name, p in model.named_parameters())


def check_alike(shapes: Sequence[tuple[object, ...]]) -> None:
    """ValueError unless all models have the same kind and sizes."""
    if len(set(shapes)) != 1:
        raise ValueError(f"a stack is of models of one kind and size, not of {len(set(shapes))}")


def everyone(targets: Tensor, R: int, axis: int) -> Tensor:
    """Targets (n,) for every replica: (R, n, 1) with `axis` 0, (n, R, 1) with 1."""
    shape = [-1, -1, 1]
    shape[axis] = R
    return targets.unsqueeze(1).unsqueeze(axis).expand(shape)
