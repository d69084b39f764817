"""The LSTM of document 002, question 1.5: gates g, i, f, o and a softmax over the last state.

The document describes the gates (1.5a) and counts their parameters (1.5b), but prints no equations and names no
source. The usual ones without peepholes fit its description and its count.
"""

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters


class LSTM(nn.Module):
    """An LSTM with one weight matrix and bias a gate, on the symbol x(t) and the state h(t-1).

    g = tanh(W_gx x + W_gh h + b_g)      i = sigma(W_ix x + W_ih h + b_i)
    f = sigma(W_fx x + W_fh h + b_f)     o = sigma(W_ox x + W_oh h + b_o)
    c(t) = g * i + c(t-1) * f            h(t) = tanh(c(t)) * o
    p(t) = W_out h(t) + b_out

    The four gates are stacked in the order g, i, f, o: W_x (4n, d), W_h (4n, n), b (4n,).
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int, weight_law: str = "") -> None:
        super().__init__()
        self.weight_law = weight_law
        d, n, k = input_size, hidden_size, output_size
        declare_parameters(self, W_x=(4 * n, d), W_h=(4 * n, n), b=(4 * n,), W_out=(k, n), b_out=(k,))

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits p(T) (B, k) after the last of symbols x (T, B); h(0) = c(0) = 0."""
        # W_x x(t) with a one-hot x(t) is a column of W_x: all T of them are looked up at once.
        Wx = self.W_x.t()[x] + self.b  # (T, B, 4n)
        h = Wx.new_zeros(x.shape[1], self.W_h.shape[1])  # (B, n)
        c = torch.zeros_like(h)
        for Wx_t in Wx.unbind():
            g, i, f, o = torch.addmm(Wx_t, h, self.W_h.t()).chunk(4, dim=1)
            c = torch.tanh(g) * torch.sigmoid(i) + c * torch.sigmoid(f)
            h = torch.tanh(c) * torch.sigmoid(o)
        return h @ self.W_out.t() + self.b_out

    def fan_in(self) -> dict[str, int | None]:
        """Return the inputs of one unit by parameter, for the initialisation; None: starts at zero.

        The author's code keeps W_x and W_h of a gate in one matrix of d + n inputs. It draws the gates' biases, vectors
        of n, from the weights' law, which takes a vector's length for its fan-in.
        """
        d, n = self.W_x.shape[1], self.W_h.shape[1]
        return {"W_x": d + n, "W_h": d + n, "b": n, "W_out": n, "b_out": None}
