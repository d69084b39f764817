"""m-RNN: the factored tensor network of Sutskever et al. (2011).

As Salle and Villavicencio (ACL 2018) give it in section 2:

    h_t = sigma(W_h x_t + U_l diag(v_{x_t}) U_r h_{t-1} + b_h)    (3) with U_h^{i(x)} = U_l diag(v_x) U_r
    P(x_{t+1} | x_1 .. x_t) = Softmax(W_o h_t + b_o)              (2)

The paper's U_lh and U_rh are U_l and U_r here.
"""

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters
from reprise.models.rntn import join_states


class MRNN(nn.Module):
    """The m-RNN over V words with H hidden units and M factors; `h_0` as in `RNTN`."""

    def __init__(self, vocabulary: int, hidden_size: int, factors: int, h_0: float = 0.0) -> None:
        super().__init__()
        V, H, M = vocabulary, hidden_size, factors
        self.vocabulary, self.hidden, self.factors, self.h_0 = V, H, M, h_0
        # row x of W_h is W_h x, that of v is v_x
        declare_parameters(self, W_h=(V, H), v=(V, M), U_l=(H, M), U_r=(M, H), b_h=(H,), W_o=(V, H), b_o=(V,))

    def initial_state(self) -> Tensor:
        """Return h_0, (H,)."""
        return torch.full((self.hidden,), self.h_0, dtype=self.W_h.dtype, device=self.W_h.device)

    def forward(self, x: Tensor, h: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read words x (T,) from state h (H,): logits of the next words (T, V), last state (H,).

        `mask` (T, H) multiplies the softmax input.
        """
        states = self.compute_states(x, h)
        return self.compute_logits(states, mask), states[-1]

    def compute_states(self, x: Tensor, h: Tensor) -> list[Tensor]:
        """Return h_1 .. h_T, each (H,), of words x (T,) from state h (H,)."""
        states = []
        for W_h_x, v_x in zip(self.W_h[x].unbind(), self.v[x].unbind(), strict=True):
            U_h = self.U_l @ (v_x * (self.U_r @ h))  # U_l diag(v_x) U_r h   (H,)
            h = torch.sigmoid(W_h_x + U_h + self.b_h)  # (H,)   (3)
            states.append(h)
        return states

    def compute_logits(self, states: list[Tensor], mask: Tensor | None = None) -> Tensor:
        """Return the logits (T, V) of the words after the states."""
        return join_states(states, mask) @ self.W_o.T + self.b_o  # (2)
