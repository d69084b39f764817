"""The recurrent networks of document 003 as it prints them, for one word to be predicted at the end of a text.

Its equations 5 and 6 and those of sections 3 and 4 have no bias. A word x_t is one-hot, so that W x_t is a column of W.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters

State = tuple[Tensor, ...]

_ACTIVATIONS = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}
SLOPES = {"sigmoid": 0.25, "tanh": 1.0, "relu": 1.0}
"""beta_h of equation 15: the largest slope of each nonlinearity."""


class RecallNetwork(nn.Module, ABC):
    """V words in and out, H hidden units: y^ = softmax(W_S h_t) (6) after the last word.

    `recurrent_law` gives the recurrence matrices: "gaussian", N(0, (scale^2 / H)), whose eigenvalues fill a disc of
    radius about `recurrent_scale`, or "identity", that number times the identity.
    """

    gates: tuple[str, ...] = ("",)  # one recurrence matrix and one input matrix each
    parts = 1  # tensors that a step hands to the next

    def __init__(
        self, vocabulary: int, hidden_size: int, recurrent_law: str, recurrent_scale: float, input_std: float
    ) -> None:
        super().__init__()
        self.recurrent_law, self.recurrent_scale, self.input_std = recurrent_law, recurrent_scale, input_std
        self.vocabulary, self.hidden = vocabulary, hidden_size
        G, H, V = len(self.gates), hidden_size, vocabulary
        declare_parameters(self, W_x=(G, H, V), W_h=(G, H, H), W_S=(V, H))

    @abstractmethod
    def step(self, Wx: Tensor, state: State) -> State:
        """Compute the next state from that before it, each part (B, H), and W_x x_t of every gate, (gates, B, H)."""

    def read(self, x: Tensor) -> Tensor:
        """Compute W_x x_t of every gate, (T, gates, B, H), of words (T, B)."""
        return self.W_x[:, :, x].permute(2, 0, 3, 1)

    def initial_state(self, batch: int) -> State:
        """Return zeros, (B, H) each."""
        return tuple(self.W_h.new_zeros(batch, self.hidden) for _ in range(self.parts))

    def compute_states(self, x: Tensor) -> list[State]:
        """Compute the states h_0 .. h_T of words (T, B)."""
        states = [self.initial_state(x.shape[1])]
        for Wx in self.read(x).unbind():
            states.append(self.step(Wx, states[-1]))
        return states

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits of the word after words (T, B), (B, V)."""
        return self.compute_states(x)[-1][0] @ self.W_S.T  # (6)

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw W_h by its law, W_x from N(0, input_std^2), W_S from N(0, 1 / H)."""
        self.W_x.normal_(0.0, self.input_std, generator=generator)
        self.W_S.normal_(0.0, self.hidden**-0.5, generator=generator)
        self.W_h.normal_(0.0, self.recurrent_scale * self.hidden**-0.5, generator=generator)
        if self.recurrent_law == "identity":
            self.W_h.copy_(self.recurrent_scale * torch.eye(self.hidden))


class RNN(RecallNetwork):
    """The RNN of section 2.4.

    h_t = f(W_hh h_{t-1} + W_hx x_t)   (5), f: sigmoid, tanh, or ReLU
    """

    def __init__(self, vocabulary: int, hidden_size: int, activation: str, **laws: str | float) -> None:
        super().__init__(vocabulary, hidden_size, **laws)
        self.activation, self.f = activation, _ACTIVATIONS[activation]

    def step(self, Wx: Tensor, state: State) -> State:
        (h,), (W_hh,), (W_hx_x,) = state, self.W_h, Wx
        return (self.f(h @ W_hh.T + W_hx_x),)


class GRU(RecallNetwork):
    """The GRU of section 3.

    z_t  = sigma(W^(z) x_t + U^(z) h_{t-1})      r_t = sigma(W^(r) x_t + U^(r) h_{t-1})
    h~_t = tanh(r_t * U h_{t-1} + W x_t)
    h_t  = (1 - z_t) * h~_t + z_t * h_{t-1}

    The reset gate acts after the matrix, as in `torch.nn.GRU`; in document 001 it acts before it.
    """

    gates = ("z", "r", "")

    def step(self, Wx: Tensor, state: State) -> State:
        (h,), (U_z, U_r, U), (W_z_x, W_r_x, W_x) = state, self.W_h, Wx
        z = torch.sigmoid(W_z_x + h @ U_z.T)
        r = torch.sigmoid(W_r_x + h @ U_r.T)
        candidate = torch.tanh(r * (h @ U.T) + W_x)
        return ((1 - z) * candidate + z * h,)


class LSTM(RecallNetwork):
    """The LSTM of section 4.

    i_t  = sigma(W^(i) x_t + U^(i) h_{t-1})      f_t = sigma(W^(f) x_t + U^(f) h_{t-1})
    o_t  = sigma(W^(o) x_t + U^(o) h_{t-1})      c~_t = tanh(W^(c) x_t + U^(c) h_{t-1})
    c_t  = f_t * c_{t-1} + i_t * c~_t            h_t = o_t * tanh(c_t)
    """

    gates, parts = ("i", "f", "o", "c"), 2

    def step(self, Wx: Tensor, state: State) -> State:
        (h, c), (U_i, U_f, U_o, U_c), (W_i_x, W_f_x, W_o_x, W_c_x) = state, self.W_h, Wx
        i = torch.sigmoid(W_i_x + h @ U_i.T)
        f = torch.sigmoid(W_f_x + h @ U_f.T)
        o = torch.sigmoid(W_o_x + h @ U_o.T)
        candidate = torch.tanh(W_c_x + h @ U_c.T)
        c = f * c + i * candidate
        return o * torch.tanh(c), c
