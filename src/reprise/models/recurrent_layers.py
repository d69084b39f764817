"""One recurrent layer in one direction, of the units of document 003, sections 2.5, 3 and 4.

A layer reads x_1 .. x_T. W is what the notes call W^(hx) in equation 23, V their W^(hh); biases stand where equations
17 to 21 have them.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.models.initialisation import declare_parameters

State = tuple[Tensor, ...]


class RecurrentLayer(nn.Module, ABC):
    """H units, each with the notes' number of gates G; inputs of size `inputs`, 0 where others work out W x_t.

    The gates are stacked: W (G H, inputs), V (G H, H), b (G H,).
    """

    gates = 1
    parts = 1  # tensors that a step hands to the next; the first is h

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        rows = self.gates * hidden
        declare_parameters(self, W=(rows, inputs) if inputs else None, V=(rows, hidden), b=(rows,))

    @abstractmethod
    def step(self, Wx: Tensor, state: State) -> State:
        """Compute the next state from W x_t + b of all gates (B, G H) and the last state, each part (B, H)."""

    def read(self, x: Tensor) -> Tensor:
        """Compute W x_t + b, (T, B, G H), of all times of x (T, B, inputs) at once."""
        return functional.linear(x, self.W, self.b)

    def initial_state(self, batch: int) -> State:
        """Return zeros, (B, H) each."""
        return tuple(self.V.new_zeros(batch, self.V.shape[1]) for _ in range(self.parts))

    def forward(self, Wx: Tensor, state: State) -> State:
        """Compute the states at every time, each part (T, B, H), from W x_t + b (T, B, G H) and a first state."""
        states = []
        for Wx_t in Wx.unbind():
            state = self.step(Wx_t, state)
            states.append(state)
        return tuple(torch.stack(part) for part in zip(*states, strict=True))


class RNN(RecurrentLayer):
    """The layer h_t = f(W x_t + V h_{t-1} + b)   (17, 20), f = tanh."""

    def step(self, Wx: Tensor, state: State) -> State:
        (h,) = state
        return (torch.tanh(torch.addmm(Wx, h, self.V.T)),)


class GRU(RecurrentLayer):
    """The GRU of section 3, with biases.

    z_t  = sigma(W^(z) x_t + b^(z) + V^(z) h_{t-1})      r_t = sigma(W^(r) x_t + b^(r) + V^(r) h_{t-1})
    h~_t = tanh(r_t * V h_{t-1} + W x_t + b)
    h_t  = (1 - z_t) * h~_t + z_t * h_{t-1}

    The gates are stacked in the order r, z, candidate.
    """

    gates = 3

    def step(self, Wx: Tensor, state: State) -> State:
        (h,) = state
        H = h.shape[1]
        Vh = h @ self.V.T  # (B, 3 H)
        r, z = torch.sigmoid(Wx[:, : 2 * H] + Vh[:, : 2 * H]).chunk(2, 1)
        candidate = torch.tanh(torch.addcmul(Wx[:, 2 * H :], r, Vh[:, 2 * H :]))
        return (torch.lerp(candidate, h, z),)


class LSTM(RecurrentLayer):
    """The LSTM of section 4, with biases.

    i_t  = sigma(W^(i) x_t + V^(i) h_{t-1} + b^(i))      f_t = sigma(W^(f) x_t + V^(f) h_{t-1} + b^(f))
    o_t  = sigma(W^(o) x_t + V^(o) h_{t-1} + b^(o))      c~_t = tanh(W^(c) x_t + V^(c) h_{t-1} + b^(c))
    c_t  = f_t * c_{t-1} + i_t * c~_t                    h_t = o_t * tanh(c_t)

    The gates are stacked in the order i, f, o, c.
    """

    gates, parts = 4, 2

    def step(self, Wx: Tensor, state: State) -> State:
        h, c = state
        H = h.shape[1]
        both = torch.addmm(Wx, h, self.V.T)  # (B, 4 H)
        i, f, o = torch.sigmoid(both[:, : 3 * H]).chunk(3, 1)
        c = torch.addcmul(f * c, i, torch.tanh(both[:, 3 * H :]))
        return o * torch.tanh(c), c


UNITS: dict[str, type[RecurrentLayer]] = {"rnn": RNN, "gru": GRU, "lstm": LSTM}
