"""How far a recurrent network's state depends on an earlier one: document 003, section 2.3, equations 12 to 16."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from reprise.models.recall_networks import RNN, SLOPES, RecallNetwork
from reprise.records.record import make_curve, make_metric

LOG10_FLOOR = -300.0
"""log10 of what counts as zero: a float64 of this size is next to the smallest there is."""


@dataclass(frozen=True)
class JacobianNorms:
    """|| ds_t / ds_k || of the last state s_t of texts, over the distance t - k = 1, 2, ..., t.

    `norms` is the mean over the texts. `bound` is (beta_W beta_h)^(t-k) (16) of an RNN. `bound_slope_1` is the same
    with beta_h = 1, the value that the notes use for the sigmoid (below eq. 15).
    """

    norms: list[float]
    bound: list[float] | None
    bound_slope_1: list[float] | None
    excess: float | None  # the largest log10(norm of one text / bound)

    def get_log10_norm(self, distance: int) -> float:
        """Return log10 of the norm at a distance."""
        norm = self.norms[distance - 1]
        return max(LOG10_FLOOR, math.log10(norm)) if norm > 0 else LOG10_FLOOR

    def make_curves(self, split: str) -> list[dict[str, Any]]:
        """Return norms and bounds as curves of a run record."""
        values = {"jacobian_norm": self.norms, "jacobian_bound": self.bound, "jacobian_bound_1": self.bound_slope_1}
        x = range(1, len(self.norms) + 1)
        return [make_curve(split, name, "1", "distance", x, y) for name, y in values.items() if y is not None]

    def make_metrics(self, split: str, distances: list[int], texts: int) -> list[dict[str, Any]]:
        """Return logarithms at some distances, how far an RNN is above its bound, as a run record's metrics."""
        values = {f"log10_jacobian_at_{d}": self.get_log10_norm(d) for d in distances}
        if self.excess is not None:
            values["log10_above_bound"] = self.excess
        return [make_metric(split, name, value, "1", texts) for name, value in values.items()]


@torch.no_grad()
def compute_jacobian_norms(model: RecallNetwork, x: Tensor) -> JacobianNorms:
    """Take the norms, largest singular values, on texts x (T, B), in float64; the state is (h) or (h, c)."""
    by_text = torch.stack([torch.linalg.matrix_norm(product, 2) for product in compute_jacobians(model, x)])  # (T, B)
    mean = by_text.mean(1).tolist()
    if not isinstance(model, RNN):
        return JacobianNorms(mean, None, None, None)
    beta_W = torch.linalg.matrix_norm(model.W_h[0].double(), 2).item()
    slope, distances = SLOPES[model.activation], range(1, len(x) + 1)
    bound, bound_slope_1 = ([_compute_power(beta_W * s, distance) for distance in distances] for s in (slope, 1.0))
    log_bound = torch.tensor(bound, dtype=torch.float64).log10()
    # At large distances the powers underflow or overflow, and norms underflow.
    in_logarithms = torch.tensor(distances) * torch.tensor(beta_W * slope, dtype=torch.float64).log10()
    log_bound = torch.where(log_bound.isfinite(), log_bound, in_logarithms)
    norms = by_text.max(1).values
    excess = (norms.log10() - log_bound)[norms > 0]
    return JacobianNorms(mean, bound, bound_slope_1, max([LOG10_FLOOR, *excess.tolist()]))


def _compute_power(base: float, exponent: int) -> float:
    try:
        return base**exponent
    except OverflowError:
        return math.inf


@torch.no_grad()
def compute_jacobians(model: RecallNetwork, x: Tensor) -> Iterator[Tensor]:
    """Yield ds_t / ds_k of every text of x (T, B) for k = T - 1, ..., 0, (B, S, S) each, in float64.

    They are the products of (12), whose factors automatic differentiation gives.
    """
    model = copy.deepcopy(model).double()
    Wx, states = model.read(x), [torch.cat(state, 1) for state in model.compute_states(x)]

    def step(Wx: Tensor, s: Tensor) -> Tensor:  # of one text: (gates, H), (S,)
        parts = tuple(part[None] for part in s.split(model.hidden))
        return torch.cat(model.step(Wx[:, None], parts), 1)[0]

    factors = torch.func.vmap(torch.func.jacrev(step, argnums=1), in_dims=(1, 0))
    product = torch.eye(states[0].shape[1], dtype=torch.float64)
    for j in range(len(x), 0, -1):
        product = product @ factors(Wx[j - 1], states[j - 1])  # the latest on the left
        yield product
