"""Second-order recurrences that document 000 starts from (section 2.2): for checks, without an output layer."""

import torch
from torch import Tensor

from reprise.models.gso import SymbolRecurrence, Term, column, times
from reprise.models.initialisation import declare_parameters


class FullTensor(SymbolRecurrence):
    """The full tensor: h_t^(i) = phi(h_{t-1}^T A^(i) x_t + b^(i))   (5), Goudreau et al. (1994).

    A (h, h, V): A[i, j, k] is component (j, k) of the paper's A^(i); b (h).
    """

    def __init__(self, vocabulary: int, hidden: int, activation: str) -> None:
        super().__init__(vocabulary, hidden, activation)
        declare_parameters(self, A=(hidden, hidden, vocabulary), b=(hidden,))

    def compute_inputs(self, x: Tensor) -> tuple[Term]:
        """Compute A x (..., h, h)."""
        return (self.A.permute(2, 0, 1)[x],)

    def transition(self, h: Tensor, Ax: Term) -> Tensor:
        return self.phi(torch.einsum("bj,bij->bi", h, Ax) + self.b)  # (B, H)   (5)


class MultiplicativeRNN(SymbolRecurrence):
    """The multiplicative RNN: h_t = phi(Z(V x_t * W h_{t-1}) + U x_t + b)   (6), Sutskever et al. (2011).

    Z (h, r), V (r, V), W (r, h), U (h, V), b (h); `rank` is r. V is the paper's name here, not an output matrix.
    """

    def __init__(self, vocabulary: int, hidden: int, rank: int, activation: str) -> None:
        super().__init__(vocabulary, hidden, activation)
        declare_parameters(
            self, Z=(hidden, rank), V=(rank, vocabulary), W=(rank, hidden), U=(hidden, vocabulary), b=(hidden,)
        )

    def compute_inputs(self, x: Tensor) -> tuple[Term, Term]:
        """Compute V x (..., r) and U x (..., h)."""
        return column(self.V, x), column(self.U, x)

    def transition(self, h: Tensor, Vx: Term, Ux: Term) -> Tensor:
        return self.phi(times(self.Z, Vx * times(self.W, h)) + Ux + self.b)  # (B, H)   (6)
