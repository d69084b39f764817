"""The vanilla RNN of document 002, question 1.1: a tanh state and a softmax over the last one."""

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters


class Elman(nn.Module):
    """The RNN of document 002, question 1.1.

    h(t) = tanh(W_hx x(t) + W_hh h(t-1) + b_h),  p(t) = W_oh h(t) + b_o

    `input_size` d symbols in, `hidden_size` n units, `output_size` k classes out.
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int, weight_law: str = "") -> None:
        super().__init__()
        self.weight_law = weight_law
        d, n, k = input_size, hidden_size, output_size
        declare_parameters(self, W_hx=(n, d), W_hh=(n, n), b_h=(n,), W_oh=(k, n), b_o=(k,))

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits p(T) (B, k) after the last of symbols x (T, B); h(0) = 0."""
        # W_hx x(t) with a one-hot x(t) is a column of W_hx: all T of them are looked up at once.
        Wx = self.W_hx.t()[x] + self.b_h  # (T, B, n)
        h = Wx.new_zeros(Wx.shape[1:])  # (B, n)
        for Wx_t in Wx.unbind():
            h = torch.tanh(torch.addmm(Wx_t, h, self.W_hh.t()))
        return h @ self.W_oh.t() + self.b_o

    def fan_in(self) -> dict[str, int | None]:
        """Return the inputs of one unit by parameter, for the initialisation; None: starts at zero."""
        n, d = self.W_hx.shape
        return {"W_hx": d, "W_hh": n, "b_h": None, "W_oh": n, "b_o": None}
