"""The stacked LSTM of document 002, question 2.1: one layer reads the states of the one below, the last predicts.

The document gives layers and units and no equation. Those below have the gates that its question 1.5 describes. Their
form is that of TensorFlow's LSTMCell, which its author used. One function phi serves the candidate and the output; the
author set it to ReLU. A constant is added to the forget gate's input.
"""

import math

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters, draw_truncated_normal

ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}
State = tuple[tuple[Tensor, Tensor], ...]
"""h and c of every layer, each (B, n)."""


class DeepLSTM(nn.Module):
    """Stack LSTM layers. Layer l reads z(t): the symbol x(t) for l = 1, else h(t) of layer l - 1.

    i = sigma(W_i z + U_i h(t-1) + b_i)             o = sigma(W_o z + U_o h(t-1) + b_o)
    f = sigma(W_f z + U_f h(t-1) + b_f + beta)      g = phi(W_g z + U_g h(t-1) + b_g)
    c(t) = f * c(t-1) + i * g                       h(t) = o * phi(c(t))
    p(t) = W_out h(t) + b_out, on the last layer

    `vocabulary` V symbols in and out, `hidden_size` n units in each of `layers`, `activation` phi, `forget_bias` beta.
    The laws are those of the initial weights; see `initialise`.
    """

    def __init__(
        self,
        vocabulary: int,
        hidden_size: int,
        layers: int,
        activation: str,
        forget_bias: float,
        kernel_law: str = "",
        output_law: str = "",
    ) -> None:
        super().__init__()
        V, n = vocabulary, hidden_size
        self.vocabulary, self.hidden, self.activation, self.forget_bias = V, n, activation, forget_bias
        self.kernel_law, self.output_law = kernel_law, output_law
        for number, inputs in enumerate([V] + [n] * (layers - 1), start=1):
            declare_parameters(
                self, **{f"W_{number}": (4 * n, inputs), f"U_{number}": (4 * n, n), f"b_{number}": (4 * n,)}
            )
        declare_parameters(self, W_out=(V, n), b_out=(V,))
        self.layers = layers

    def get_layer(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return W (4n, d), U (4n, n) and b (4n,) of a layer, from 1 on. The order of the gates is i, f, o, g."""
        return tuple(getattr(self, f"{name}_{number}") for name in "WUb")

    def initial_state(self, batch: int) -> State:
        """Return zeros."""
        return tuple((self.b_out.new_zeros(batch, self.hidden),) * 2 for _ in range(self.layers))

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Compute logits p(1) … p(T) of the next symbols, (T, B, V), and the last state from symbols x (T, B)."""
        after, below = [], None
        for number, state_0 in enumerate(state, start=1):
            W, U, b = self.get_layer(number)
            # W x(t) with a one-hot x(t) is a column of W: all T of them are looked up at once.
            Wz = (W.t()[x] if below is None else below @ W.t()) + b  # (T, B, 4n)
            (h, c), states = state_0, []
            for Wz_t in Wz.unbind():
                h, c = self.step(Wz_t, h, c, U)
                states.append(h)
            below = torch.stack(states)  # (T, B, n)
            after.append((h, c))
        return below @ self.W_out.t() + self.b_out, tuple(after)

    def step(self, Wz: Tensor, h: Tensor, c: Tensor, U: Tensor) -> tuple[Tensor, Tensor]:
        """Compute h(t) and c(t) from W z(t) + b (B, 4n), h(t-1) and c(t-1), (B, n) each."""
        phi = ACTIVATIONS[self.activation]
        i, f, o, g = (Wz + h @ U.t()).chunk(4, dim=1)
        c = torch.sigmoid(f + self.forget_bias) * c + torch.sigmoid(i) * phi(g)
        return torch.sigmoid(o) * phi(c), c


@torch.no_grad()
def initialise(model: DeepLSTM, generator: torch.Generator) -> None:
    """Draw W and U of each layer by `kernel_law`, and W_out by the fan-in law. Every bias starts at zero.

    glorot-uniform: U(-a, a) with a = sqrt(6 / (fan in + fan out)). It is TensorFlow 1.4's default. There W and U of a
    layer are one matrix of d + n inputs and 4n outputs. The other law is fan-in-truncated-normal, as in part 1. It is
    variance_scaling_initializer() of the same library, which the author names for W_out.
    """
    n = model.hidden
    for number in range(1, model.layers + 1):
        W, U, b = model.get_layer(number)
        fan_in = W.shape[1] + n
        for weight in (W, U):
            if model.kernel_law == "glorot-uniform":
                a = math.sqrt(6 / (fan_in + 4 * n))
                weight.uniform_(-a, a, generator=generator)
            else:
                weight.copy_(draw_truncated_normal(weight.shape, generator) / math.sqrt(fan_in))
        b.zero_()
    model.W_out.copy_(draw_truncated_normal(model.W_out.shape, generator) / math.sqrt(n))
    model.b_out.zero_()
