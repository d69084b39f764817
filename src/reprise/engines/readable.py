"""The readable model as an engine, which the fast engines are held to: autograd, on its device and in its dtype."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from reprise.engines.clipping import compute_clipping_factor

LossReceiver = Callable[[Tensor, Tensor, Tensor], None]
"""Takes the words read last (n,), the words predicted (n,) and their losses in nats (n,), on the CPU."""


class Readable:
    """The model itself: an engine of these fills the parameters' `.grad`, and an optimiser of torch does the rest."""

    name = "reference"

    def __init__(self, model: Any) -> None:
        self.model = model


class ReadableEngine(Readable):
    """A copy of the model, which the engine updates."""

    def __init__(self, model: Any) -> None:
        super().__init__(copy.deepcopy(model))

    def process_batch(self, mode: str, finish: Callable[[dict[str, Tensor]], Any], **batch: Any) -> Any:
        """Compute a batch and hand the outputs of the family's `compute` to `finish`.

        Args:
            mode: "train" makes a step too, by the numbers in `batch`; "read" makes none.
            finish: Takes the outputs; what it returns is returned.
            batch: Tensors that `compute` reads, and the numbers that `descend` takes.
        """
        device = next(self.model.parameters()).device
        tensors = {name: value.to(device) for name, value in batch.items() if isinstance(value, Tensor)}
        with torch.set_grad_enabled(mode == "train"):
            loss, outputs = self.compute(self.model, tensors)
        if mode == "train":
            self.descend(loss, **{name: value for name, value in batch.items() if name not in tensors})
        return finish({name: value.detach().cpu() for name, value in outputs.items()})

    def descend(self, loss: Tensor, rate: float, clip_norm: float | None = None) -> None:
        """Make one SGD step on the scalar `loss`; with `clip_norm` the norm of the whole gradient is clipped to it."""
        parameters = list(self.model.parameters())
        gradients = torch.autograd.grad(loss, parameters)
        step = rate if clip_norm is None else rate * compute_clipping_factor(gradients, clip_norm, by_rows=True)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=step)

    def export(self) -> dict[str, Tensor]:
        """Return the state_dict of the readable model, as copies."""
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take the values of a state_dict of the readable model."""
        self.model.load_state_dict(state)


def read_nats(outputs: Mapping[str, Tensor]) -> float:
    """Return the loss in nats among the outputs of a batch."""
    return float(outputs["nats"])


def name_states(state: Sequence[tuple[Tensor, Tensor]]) -> dict[str, Tensor]:
    """Name h and c of every layer h_0, c_0, h_1, c_1, ..."""
    return {f"{part}_{i}": value for i, pair in enumerate(state) for part, value in zip("hc", pair, strict=True)}


def pair_states(outputs: Mapping[str, Tensor], layers: int) -> tuple[tuple[Tensor, Tensor], ...]:
    """Return h and c of every layer as pairs: the inverse of `name_states`."""
    return tuple((outputs[f"h_{i}"], outputs[f"c_{i}"]) for i in range(layers))


def copy_state(parameters: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Copy a readable model's state_dict into the tensors of an engine."""
    for name, value in parameters.items():
        value.copy_(state[name])
