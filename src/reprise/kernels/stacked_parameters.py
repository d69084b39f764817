"""All parameters of a stack of gated networks in a few tensors, and the clipped SGD step on them.

What every replica has in the same shape is one tensor (R, P), so that norm and step are a few operations whatever the
number of parameters; the candidate's matrices and biases stand apart, a row a matrix, to be copied by rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from reprise.engines.readable import take_state
from reprise.models.gated import GatedLanguageModel

_ROW = 256
"""Parameters of one row of the norm; each tensor begins on a multiple."""


class SideBySide:
    """How tensors of these `shapes` lie in one tensor (R, `size`), so that what is done to all is done once."""

    def __init__(self, shapes: Mapping[str, Sequence[int]]) -> None:
        self.shapes = {name: torch.Size(shape) for name, shape in shapes.items()}
        self.places, self.size = {}, 0
        for name, shape in self.shapes.items():
            self.places[name] = self.size
            self.size += -(-shape.numel() // _ROW) * _ROW

    def views(self, tensor: Tensor) -> dict[str, Tensor]:
        """Each tensor (R, ...) by name."""
        return {
            name: tensor[:, place : place + self.shapes[name].numel()].unflatten(1, self.shapes[name])
            for name, place in self.places.items()
        }


class StackedParameters:
    """Parameters and gradients of R gated networks of equal sizes; `shapes` of a replica's common tensors by name."""

    def __init__(self, models: Sequence[GatedLanguageModel], device: torch.device) -> None:
        first = models[0]
        self.models, self.R, self.H = models, len(models), first.hidden
        V, E, H, G = first.vocabulary, first.embedding, first.hidden, len(first.gates)
        self.K = max(model.matrices for model in models)
        like = torch.zeros(1, dtype=first.E.dtype, device=device)
        # The logistic gates' weights one above the other; the candidate's, `_c`, apart.
        shapes = {"E": (V, E), "W": (G * H, E), "U_T": (H, G * H), "b": (G * H,), "W_c": (H, E)}
        shapes |= {"W_o_T": (H, V), "b_o": (V,)}
        layout = SideBySide(shapes)
        self.common, self.d_common = (like.new_zeros(self.R, layout.size) for _ in range(2))
        self.U_c, self.dU_c = (like.new_zeros(self.R * self.K, H * H) for _ in range(2))
        self.b_c, self.db_c = (like.new_zeros(self.R * self.K, H) for _ in range(2))
        self.p, self.d = layout.views(self.common), layout.views(self.d_common)

    def named(self, replica: int) -> dict[str, Tensor]:
        """Views of a replica's parameters, by the names and in the order of its readable model."""
        model, H = self.models[replica], self.H
        own = {name: value[replica] for name, value in self.p.items()}
        rows = slice(replica * self.K, replica * self.K + model.matrices)
        found = {"E": own["E"], "W_o": own["W_o_T"].T, "b_o": own["b_o"], f"W_h{model.candidate}": own["W_c"]}
        found |= {
            f"U_h{model.candidate}": self.U_c[rows].view(-1, H, H),
            f"b_h{model.candidate}": self.b_c[rows],
        }
        for name, stacked in (("W", own["W"]), ("U", own["U_T"].T), ("b", own["b"])):
            parts = stacked.split(H)
            found |= {f"{name}_h{gate}": part for gate, part in zip(model.gates, parts, strict=True)}
        return {name: found[name] for name, _ in model.named_parameters()}

    def load(self, replica: int, state: Mapping[str, Tensor]) -> None:
        """Takes the values of a readable model's state_dict; ValueError if names or shapes differ."""
        take_state(self.named(replica), state)

    def step(self, rates: Tensor, share: Tensor, clips: Tensor) -> None:
        """SGD with learning rates (R,), on gradients that count `share` (R,) and are clipped to `clips` (R,), float64.

        The norms as in `gated_step.clipped`: rows first, then their norms in float64.
        """
        pairs = ((self.common, self.d_common), (self.U_c, self.dU_c), (self.b_c, self.db_c))
        norms = [norms_of(gradient, self.R) for _, gradient in pairs]
        norm = torch.linalg.vector_norm(torch.stack(norms), dim=0) * share
        step = (-rates * share * (clips / norm).clamp(max=1.0)).to(self.common.dtype)
        for parameter, gradient in pairs:
            parameter.view(self.R, -1).addcmul_(gradient.view(self.R, -1), step[:, None])


def norms_of(gradient: Tensor, R: int) -> Tensor:
    """Each replica's norm (R,), float64."""
    width = _ROW if gradient.shape[1] % _ROW == 0 else gradient.shape[1]
    rows = torch.linalg.vector_norm(gradient.view(R, -1, width), dim=2)
    return torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64)
