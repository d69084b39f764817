"""s-RNN, RNTN and r-RNTN.

Salle and Villavicencio, "Restricted Recurrent Neural Tensor Networks" (ACL 2018), sections 2 and 3; f_mod in section 4.

    h_t = sigma(W_h x_t + U_h^{f(x_t)} h_{t-1} + b_h^{f(x_t)})    (4); K = 1: s-RNN (1), K = V: RNTN
    P(x_{t+1} | x_1 .. x_t) = Softmax(W_o h_t + b_o)              (2), of the next word: h_t has read x_t

The rank of the input word (token id + 1) in a vocabulary sorted by decreasing frequency chooses its recurrence matrix:

    f(w)     = min(rank(w), K)       (5)
    f_mod(w) = rank(w) mod K         (16)
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters


class RNTN(nn.Module):
    """The r-RNTN over V words with H hidden units and K recurrence matrices.

    `mapping` is "f" (5) or "f_mod" (16). `bias` is "matrix" for a bias b_h^k beside every matrix (4) or "shared" for
    one b_h (1, 3); Table 1 counts the former, for the RNTN as well. `h_0` is the value of all components of the state
    before a sentence, which the paper does not state.

    Raises:
        ValueError: K is not in 1 .. V.
    """

    def __init__(
        self,
        vocabulary: int,
        hidden_size: int,
        matrices: int = 1,
        mapping: str = "f",
        bias: str = "matrix",
        h_0: float = 0.0,
    ) -> None:
        super().__init__()
        if not 1 <= matrices <= vocabulary:
            raise ValueError(f"matrices must be in 1 .. {vocabulary}, the vocabulary, not {matrices}")
        V, H, K = vocabulary, hidden_size, matrices
        self.vocabulary, self.hidden, self.matrices = V, H, K
        self.mapping, self.bias, self.h_0 = mapping, bias, h_0
        # row x of W_h is W_h x, a column of the paper's
        declare_parameters(self, W_h=(V, H), U_h=(K, H, H), b_h=(K if bias == "matrix" else 1, H), W_o=(V, H), b_o=(V,))

    def choose_matrices(self, x: Tensor) -> Tensor:
        """Return which matrix each word uses, counted from 0: f(w) - 1 (5), or f_mod(w) (16)."""
        return choose_matrices(x, self.matrices, self.mapping)

    def choose_biases(self, x: Tensor) -> Tensor:
        """Return which row of b_h each word uses, counted from 0."""
        return self.choose_matrices(x) if self.bias == "matrix" else torch.zeros_like(x)

    def initial_state(self) -> Tensor:
        """Return h_0, (H,)."""
        return torch.full((self.hidden,), self.h_0, dtype=self.W_h.dtype, device=self.W_h.device)

    def forward(self, x: Tensor, h: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read words x (T,) from state h (H,): logits of the next words (T, V), last state (H,).

        `mask` (T, H) multiplies the softmax input: dropout with its scale in it (section 4).
        """
        states = self.compute_states(x, h)
        return self.compute_logits(states, mask), states[-1]

    def compute_states(self, x: Tensor, h: Tensor) -> list[Tensor]:
        """Return h_1 .. h_T, each (H,), of words x (T,) from state h (H,)."""
        W_h, U_h, b_h = self.W_h[x], self.U_h[self.choose_matrices(x)], self.b_h[self.choose_biases(x)]
        states = []
        # unbind, not W_h[t]: the gradient of an index is a whole tensor of zeros at every step
        for W_h_x, U, b in zip(W_h.unbind(), U_h.unbind(), b_h.unbind(), strict=True):
            h = torch.sigmoid(W_h_x + U @ h + b)  # (H,)   (4)
            states.append(h)
        return states

    def compute_logits(self, states: list[Tensor], mask: Tensor | None = None) -> Tensor:
        """Return the logits (T, V) of the words after the states."""
        return join_states(states, mask) @ self.W_o.T + self.b_o  # (2)


def choose_matrices(words: Tensor, matrices: int, mapping: str) -> Tensor:
    """Return which of K matrices each word uses, counted from 0: f(w) - 1 (5), or f_mod(w) (16), by the `mapping`."""
    return words.clamp(max=matrices - 1) if mapping == "f" else (words + 1) % matrices


def join_states(states: list[Tensor], mask: Tensor | None) -> Tensor:
    """Join h_1 .. h_T to (T, H), with dropout if there is a mask."""
    h = torch.stack(states)
    return h if mask is None else h * mask


def initialise(
    model: nn.Module,
    std: float,
    generator: torch.Generator,
    biases: str = "normal",
    constants: Mapping[str, float] | None = None,
) -> None:
    """Draw all parameters from N(0, std^2), in the order of their registration (section 4).

    `biases` "zero" sets b_h and b_o to 0 instead. `constants` names parameters that start at a number: {"v": 1.0}
    starts an m-RNN as an s-RNN whose matrix is U_l U_r.
    """
    for name, parameter in model.named_parameters():
        if constants and name in constants:
            nn.init.constant_(parameter, constants[name])
        elif name.startswith("b_") and biases == "zero":
            nn.init.zeros_(parameter)
        else:
            nn.init.normal_(parameter, 0.0, std, generator=generator)
