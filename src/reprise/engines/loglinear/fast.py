"""A log-linear RNN without autograd: classes instead of types, and one product for all that can be.

Against autograd on the readable model: the normaliser and the expected features are sums over classes
(`loglinear_classes.py`); the first layer's product with the input is made once for every class that a batch holds, not
for every token; a weight's gradient is one product over all steps; a window's first step, which has no state before it,
needs no product with U; products use the whole vector width (`gemm.py`), what stands between them is one pass
(`loglinear_passes.py`), and embeddings that a batch does not hold are left alone (`rmsprop.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from reprise.engines.gemm import Linear, linear_for
from reprise.engines.loglinear.classes import Classes
from reprise.engines.loglinear.ends import ClassOutput, FeatureInput, OneHotInput, SoftmaxOutput
from reprise.engines.loglinear.lstm import LSTMLayer
from reprise.engines.loglinear.native import NativeLinear, NativeLSTMLayer, NativePasses
from reprise.engines.loglinear.passes import Passes
from reprise.engines.loglinear.rmsprop import RMSprop
from reprise.engines.readable import take_state
from reprise.models.loglinear import LogLinearRNN, State

# Rows of zeros fill the classes of a batch up to a multiple of this: oneDNN compiles a product for every new size.
EQUAL = 32


class HandEngine:
    """A `WindowEngine` for a CPU in torch's operations, in the model's dtype."""

    name = "hand"
    linear_for: Callable[[Tensor], Linear] = staticmethod(linear_for)
    equal = EQUAL
    passes_of: type[Passes] = Passes
    layer_of: type[LSTMLayer] = LSTMLayer

    def __init__(self, model: LogLinearRNN) -> None:
        self.state: State | None = None
        linear = self.linear_for(model.E)
        passes = self.passes_of(linear)
        self.p = passes.kept({name: value.detach() for name, value in model.state_dict().items()})
        classes = Classes.of(model.features, model.E) if model.features else None
        one_hot_input, softmax = (rows.columns == model.V for rows in (model.psi_rows, model.phi_rows))
        E, W_a, b_a, log_b = self.p["E"], self.p["W_a"], self.p["b_a"], model.log_b
        self.input = OneHotInput(E) if one_hot_input else FeatureInput(E, classes, passes, linear)
        if softmax:
            self.output = SoftmaxOutput(W_a, b_a, log_b, passes, linear)
        else:
            self.output = ClassOutput(W_a, b_a, log_b, classes, passes, linear)
        self.layers = [self.layer_of(self.p[f"U_{n}"], linear) for n in range(1, model.layers + 1)]
        self.optimiser = RMSprop(self.p, {"E"}, passes)
        self.passes, self.linear = passes, linear

    @torch.no_grad()
    def train(
        self, x: Tensor, y: Tensor, *, learning_rate: float, rho: float, epsilon: float, inside: float = 0.0
    ) -> float:
        """See `WindowEngine`."""
        h = self._read(x)
        losses = self.output.losses(self._targeted(h, y), y.reshape(-1).contiguous(), 1 / y.numel())
        self.optimiser.begin(learning_rate, rho, epsilon, inside)
        dh = self.output.backward(self.optimiser)
        self._back(dh.view(h.shape) if y.dim() == 2 else dh)
        return losses.sum().item()

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """See `WindowEngine`."""
        return self.output.losses(self._targeted(self._read(x), y), y.reshape(-1).contiguous()).sum().item()

    @torch.no_grad()
    def log_probabilities(self, x: Tensor) -> Tensor:
        """See `WindowEngine`."""
        return self.output.log_p(self._read(x)[-1])

    def _targeted(self, h: Tensor, y: Tensor) -> Tensor:
        """The states that targets follow: all (T B, H) for targets (T, B), the last (B, H) for targets (B,)."""
        return h.flatten(0, 1) if y.dim() == 2 else h[-1]

    def _read(self, x: Tensor) -> Tensor:
        """Words x (T, B) -> the last layer's states (T, B, H); moves the carried state, if there is one."""
        self.ids, self.number = self.input.of_type[x].unique(return_inverse=True)
        self.e = self.input.rows(self.ids)
        if missing := -self.ids.shape[0] % self.equal:
            self.e = functional.pad(self.e, (0, 0, 0, missing))
        h, number = self.e, self.number
        for n, layer in enumerate(self.layers, start=1):
            rows = self.linear(h.view(-1, h.shape[-1]), self.p[f"W_{n}"].T, self.p[f"b_{n}"])
            h = layer.forward(rows, number, tuple(x.shape), self.state[n - 1] if self.state else None)
            number = None
        if self.state is not None:
            self.state = tuple(layer.last() for layer in self.layers)
        return h

    def _back(self, dh: Tensor) -> None:
        """From the derivatives by the last layer's states, (T, B, H) or (B, H), to the updates below the output."""
        for n in range(len(self.layers), 0, -1):
            layer, W = self.layers[n - 1], self.p[f"W_{n}"]
            d = layer.backward(dh).flatten(0, 1)  # (T B, 4H)
            if n > 1:
                inputs = self.layers[n - 2].h
                dh = self.linear(d, W, None).view(inputs.shape)
                inputs = inputs.flatten(0, 1)
            else:
                # What the tokens of a class have in common is summed before the products.
                d, inputs = self._by_class(d), self.e
                self.input.update(self.optimiser, self.ids, self.linear(d, W, None)[: self.ids.shape[0]])
            self.optimiser.product(f"W_{n}", inputs, d)
            self.optimiser.product(f"U_{n}", *layer.factors())
            self.optimiser.dense(f"b_{n}", d.sum(0))

    def _by_class(self, d: Tensor) -> Tensor:
        """(T B, 4H) by token -> (n, 4H) by the classes of `ids`."""
        out = d.new_zeros(self.e.shape[0], d.shape[1])
        self.passes.add_rows(d, self.number.flatten(), out)
        return out

    def reset(self, batch: int) -> None:
        """See `WindowEngine`."""
        self.state = tuple((torch.zeros(batch, len(la.U), dtype=la.U.dtype),) * 2 for la in self.layers)

    def export(self) -> dict[str, Tensor]:
        """See `WindowEngine`."""
        return {name: value.clone() for name, value in self.p.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """See `WindowEngine`."""
        take_state(self.p, state)

    def optimiser_state(self) -> dict[str, Any]:
        """See `WindowEngine`."""
        return self.optimiser.state()

    def restore_optimiser(self, state: dict[str, Any]) -> None:
        """See `WindowEngine`."""
        self.optimiser.restore(state)


class FusedEngine(HandEngine):
    """The same with the passes in C++, in float32. Raises NoCompiler where they cannot be compiled."""

    name = "fused"
    linear_for, equal = staticmethod(lambda like: NativeLinear()), 1
    passes_of, layer_of = NativePasses, NativeLSTMLayer
