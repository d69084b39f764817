"""The general second-order RNN, and the two networks that its Table 1 compares it with.

Maupomé and Meurs, "Language Modeling with a General Second-Order RNN" (LREC 2020):

    h_t = phi(A(B x_t * C h_{t-1}) + D x_t + E h_{t-1} + f)       (9)
    h_0 = 0                                                       (1)

x_t is a symbol, read one-hot: B x_t is a column of B. * is the product component by component. Softmax(V h_t + c)
predicts the next symbol from the state that has read x_t. So the first prediction is that of the second symbol.
"""

from itertools import repeat

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters

Term = Tensor | float  # 0.0 stands for a term that the model does not have


def column(W: Tensor | None, x: Tensor) -> Term:
    """Compute W x for one-hot x: W (n, V), symbols x (...) -> (..., n); 0.0 without W."""
    return 0.0 if W is None else W.T[x]


def times(W: Tensor | None, h: Tensor) -> Term:
    """Compute W h for every row of h: W (n, H), h (B, H) -> (B, n); 0.0 without W."""
    return 0.0 if W is None else h @ W.T


ACTIVATIONS = {"tanh": torch.tanh, "identity": torch.positive}


class SymbolRecurrence(nn.Module):
    """The recurrence h_t = f(h_{t-1}, x_t)   (2).

    A model gives the terms that depend on the symbols alone, and its equation.
    """

    def __init__(self, vocabulary: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.vocabulary, self.hidden, self.activation = vocabulary, hidden, activation

    def phi(self, z: Tensor) -> Tensor:
        return ACTIVATIONS[self.activation](z)

    def compute_inputs(self, x: Tensor) -> tuple[Term, ...]:
        """Compute the terms of the symbols x (...) alone, each (..., n)."""
        raise NotImplementedError

    def transition(self, h: Tensor, *inputs: Term) -> Tensor:
        """Compute h_t (B, H) from h_{t-1} (B, H) and `compute_inputs(x_t)`."""
        raise NotImplementedError

    def step(self, x: Tensor, h: Tensor) -> Tensor:
        """Compute h_t (B, H) from symbols x_t (B,) and h_{t-1} (B, H)."""
        return self.transition(h, *self.compute_inputs(x))

    def compute_states(self, x: Tensor, h_0: Tensor | None = None) -> Tensor:
        """Compute h_1 .. h_T (T, B, H) of symbols x (T, B), T >= 1; `h_0` (B, H) is 0 by default (1)."""
        h = next(self.parameters()).new_zeros(x.shape[1], self.hidden) if h_0 is None else h_0
        # looked up for all steps at once and unbound: the gradient of an index is a whole tensor at every step
        columns = [
            term.unbind() if isinstance(term, Tensor) else repeat(term, len(x)) for term in self.compute_inputs(x)
        ]
        states = []
        for inputs in zip(*columns, strict=True):
            h = self.transition(h, *inputs)
            states.append(h)
        return torch.stack(states)


class SymbolModel(SymbolRecurrence):
    """A recurrence with the output layer Softmax(V h_t + c)."""

    def register_output(self) -> None:
        declare_parameters(self, V=(self.vocabulary, self.hidden), c=(self.vocabulary,))

    def compute_logits(self, h: Tensor) -> Tensor:
        """Compute V h + c (..., V) of h (..., H)."""
        return h @ self.V.T + self.c

    def forward(self, x: Tensor, h_0: Tensor | None = None) -> Tensor:
        """Compute the logits (T, B, V) of the symbol after each of the symbols x (T, B)."""
        return self.compute_logits(self.compute_states(x, h_0))


class GSO(SymbolModel):
    """The general second-order network.

    h_t = phi(A(B x_t * C h_{t-1}) + D x_t + E h_{t-1} + f)   (9)

    A (h, m), B (m, V), C (m, h), D (h, V), E (h, h), f (h); `second_order` is m, the paper's |m_t|. Without
    `input_term` there is no D, without `recurrent_term` no E; without E it is the mRNN (6).

    With h_0 = 0 the first symbol acts through D alone. Without D and with f = 0 every state is 0. The loss then has a
    gradient with respect to f and c only: nothing is learnt before an update has moved f.
    """

    def __init__(
        self,
        vocabulary: int,
        hidden_size: int,
        second_order_size: int,
        input_term: bool,
        recurrent_term: bool,
        activation: str,
    ) -> None:
        super().__init__(vocabulary, hidden_size, activation)
        V, h, m = vocabulary, hidden_size, second_order_size
        D, E = (h, V) if input_term else None, (h, h) if recurrent_term else None
        declare_parameters(self, A=(h, m), B=(m, V), C=(m, h), D=D, E=E, f=(h,))
        self.register_output()

    def compute_inputs(self, x: Tensor) -> tuple[Term, Term]:
        """Compute B x (..., m) and D x (..., h)."""
        return column(self.B, x), column(self.D, x)

    def transition(self, h: Tensor, Bx: Term, Dx: Term) -> Tensor:
        phi, A, C, E, f = self.phi, self.A, self.C, self.E, self.f
        return phi(times(A, Bx * times(C, h)) + Dx + times(E, h) + f)  # (B, H)   (9)


class FirstOrder(SymbolModel):
    """The first-order RNN.

    h_t = phi(U x_t + W h_{t-1} + b)   (3)

    U (h, V), W (h, h), b (h).
    """

    def __init__(self, vocabulary: int, hidden_size: int, activation: str) -> None:
        super().__init__(vocabulary, hidden_size, activation)
        h = hidden_size
        declare_parameters(self, U=(h, vocabulary), W=(h, h), b=(h,))
        self.register_output()

    def compute_inputs(self, x: Tensor) -> tuple[Term]:
        """Compute U x (..., h)."""
        return (column(self.U, x),)

    def transition(self, h: Tensor, Ux: Term) -> Tensor:
        return self.phi(Ux + times(self.W, h) + self.b)  # (B, H)   (3)


class MultiplicativeIntegration(SymbolModel):
    """The MI-RNN of Wu et al. (2016); `form` is "simple" or "general".

    h_t = phi(U x_t * W h_{t-1} + b)                                                              (7), simple
    h_t = phi(alpha * U x_t * W h_{t-1} + beta_1 * U x_t + beta_2 * W h_{t-1} + b)                (8), general

    U (h, V), W (h, h), b (h); alpha, beta_1, beta_2 (h) in the general form only.
    """

    def __init__(self, vocabulary: int, hidden_size: int, activation: str, form: str) -> None:
        super().__init__(vocabulary, hidden_size, activation)
        h, self.form = hidden_size, form
        declare_parameters(self, U=(h, vocabulary), W=(h, h), b=(h,))
        declare_parameters(self, **dict.fromkeys(("alpha", "beta_1", "beta_2"), (h,) if form == "general" else None))
        self.register_output()

    def compute_inputs(self, x: Tensor) -> tuple[Term]:
        """Compute U x (..., h)."""
        return (column(self.U, x),)

    def transition(self, h: Tensor, Ux: Term) -> Tensor:
        phi, b, Wh = self.phi, self.b, times(self.W, h)
        if self.form == "simple":
            return phi(Ux * Wh + b)  # (B, H)   (7)
        alpha, beta_1, beta_2 = self.alpha, self.beta_1, self.beta_2
        return phi(alpha * Ux * Wh + beta_1 * Ux + beta_2 * Wh + b)  # (B, H)   (8)
