"""Log-Linear RNNs and the softmax RNN that they are compared with.

Dymetman and Xiao, "Log-Linear RNNs: Towards Recurrent Neural Networks with Flexible Prior Knowledge"
(arXiv:1607.02467v2), sections 2.3, 2.4 and 5.3.

psi(x) and phi(x) are vectors of boolean features of the type x, b(x) its background. With one-hot vectors for both and
a background of one, (13) is the softmax of a_t (section 2.4). So the paper's baseline is a choice of options here, no
model of its own.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters
from reprise.models.lexicon import BooleanCSR, Lexicon

State = tuple[tuple[Tensor, Tensor], ...]
"""h and c of every layer, (B, H) each."""


class LogLinearRNN(nn.Module):
    """The model of equations 11 to 13.

    f embeds psi(x_t), linearly and without bias, and passes it through LSTM layers as Keras 1 has them:

    h_t = f(psi(x_t), h_{t-1})                                    (11)
    a_t = g(h_t) = W_a h_t + b_a                                  (12)
    p(x_{t+1} = x) ~ b(x) exp(a_t . phi(x))                       (13)
    e = psi(x_t) E
    i = s(e W_i + h U_i + b_i)        f = s(e W_f + h U_f + b_f)        s(v) = min(max(0.2 v + 0.5, 0), 1)
    g = tanh(e W_g + h U_g + b_g)     o = s(e W_o + h U_o + b_o)
    c_t = f * c_{t-1} + i * g         h_t = o * tanh(c_t)               h of one layer is the e of the next

    The four gates stand side by side in the order i, f, g, o: W (D, 4H), U (H, 4H), b (4H,). (torch's `hardsigmoid`
    has the slope 1/6, its LSTM the logistic function and a second bias.)

    Options: `input` is psi, `output` phi: one-hot vectors ("one-hot", "softmax") or the features of
    `Lexicon.make_features(features_from, top_types, word_identity)`; `background` is the b of
    `Lexicon.compute_log_background`.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        input: str,
        output: str,
        background: str,
        features_from: str,
        top_types: int,
        word_identity: bool,
        embedding_size: int,
        hidden_size: int,
        layers: int,
    ) -> None:
        super().__init__()
        self.V, self.H, self.layers = len(lexicon), hidden_size, layers
        one_hot = BooleanCSR.identity(self.V)
        needed = "features" in input or output == "log-linear"
        self.features = lexicon.make_features(features_from, top_types, word_identity) if needed else None
        self.psi_rows = one_hot if input == "one-hot" else self.features.matrix
        self.phi_rows = one_hot if output == "softmax" else self.features.matrix
        log_b = torch.from_numpy(lexicon.compute_log_background(background))
        psi, phi = make_sparse_matrix(self.psi_rows), make_sparse_matrix(self.phi_rows)
        for name, value in (("psi", psi), ("phi", phi), ("log_b", log_b)):
            self.register_buffer(name, value, persistent=False)
        H, sizes = hidden_size, [embedding_size] + [hidden_size] * (layers - 1)
        declare_parameters(self, E=(self.psi_rows.columns, embedding_size))
        for layer, D in enumerate(sizes, start=1):
            declare_parameters(self, **{f"W_{layer}": (D, 4 * H), f"U_{layer}": (H, 4 * H), f"b_{layer}": (4 * H,)})
        declare_parameters(self, W_a=(self.phi_rows.columns, H), b_a=(self.phi_rows.columns,))

    def get_layer(self, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return W, U and b of an LSTM layer, counted from 1."""
        return tuple(getattr(self, f"{name}_{layer}") for name in "WUb")

    def initial_state(self, batch: int) -> State:
        """Return zeros."""
        zero = self.E.new_zeros(batch, self.H)
        return ((zero, zero),) * self.layers

    def forward(self, words: Tensor) -> Tensor:
        """Compute log p of the word after each window, (B, V), in nats; words (T, B) int64, h_0 = c_0 = 0."""
        h, _ = self.compute_states(words)
        return self.compute_log_p(self.compute_adaptors(h[-1]))

    def compute_states(self, words: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read words (T, B) from `state` (None: zeros): h_1 .. h_T (T, B, H) of the last layer, the state of all."""
        T, B = words.shape
        x = self.embed(words)  # (T, B, D)
        after = []
        for layer, (h, c) in enumerate(state or self.initial_state(B), start=1):
            x, last = run_lstm(x, h, c, *self.get_layer(layer), self.gate)  # (11): (T, B, H)
            after.append(last)
        return x, tuple(after)

    def compute_adaptors(self, h: Tensor) -> Tensor:
        """Compute a (..., F) from states h (..., H)."""
        return h @ self.W_a.t() + self.b_a  # (12)

    def gate(self, v: Tensor) -> Tensor:
        """Compute s, the function of the gates."""
        return hard_sigmoid(v)

    def embed(self, words: Tensor) -> Tensor:
        """Compute psi(x) E (T, B, D) of words (T, B)."""
        return torch.sparse.mm(self.psi.index_select(0, words.flatten()), self.E).view(*words.shape, -1)

    def compute_log_p(self, a: Tensor) -> Tensor:
        """Compute log p (B, V) in nats by adaptors a (B, F)."""
        a_phi = torch.sparse.mm(self.phi, a.t()).t()  # a . phi(x) for every type x: (B, V)
        return torch.log_softmax(self.log_b.to(a.dtype) + a_phi, 1)  # (13)


class LogisticGates(LogLinearRNN):
    """`LogLinearRNN` with the logistic function as the gates' s: what Keras' hard sigmoid approximates."""

    def gate(self, v: Tensor) -> Tensor:
        return torch.sigmoid(v)


def hard_sigmoid(v: Tensor) -> Tensor:
    """Compute Keras 1's hard sigmoid (on Theano): 0.2 v + 0.5, cut off at 0 and 1."""
    return torch.clamp(0.2 * v + 0.5, 0.0, 1.0)


def run_lstm(
    x: Tensor, h: Tensor, c: Tensor, W: Tensor, U: Tensor, b: Tensor, s: Callable[[Tensor], Tensor] = hard_sigmoid
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Run one layer over x (T, B, D) from h, c (B, H), with gates s: h_1 .. h_T (T, B, H), and the last h and c."""
    states = []
    for x_t in (x @ W + b).unbind():  # (B, 4H)
        i, f, g, o = (x_t + h @ U).chunk(4, dim=1)
        c = s(f) * c + s(i) * torch.tanh(g)
        h = s(o) * torch.tanh(c)
        states.append(h)
    return torch.stack(states), (h, c)


def make_sparse_matrix(rows: BooleanCSR) -> Tensor:
    """Make a sparse tensor of ones, in the default dtype, of a boolean matrix."""
    places = torch.from_numpy(rows.rows), torch.from_numpy(rows.indices)
    size = (len(rows.indptr) - 1, rows.columns)
    ones = torch.ones(len(rows.indices))
    return torch.sparse_coo_tensor(torch.stack(places), ones, size, is_coalesced=True, check_invariants=True)


@torch.no_grad()
def initialise(model: LogLinearRNN, generator: torch.Generator) -> None:
    """Draw the parameters by Keras 1's defaults.

    E is uniform in +-0.05; W and W_a Glorot-uniform, gate by gate; U orthogonal, times 1.1, gate by gate; biases are 0,
    but 1 for the gate f. The linear embedding of features starts as an embedding does.
    """
    model.E.uniform_(-0.05, 0.05, generator=generator)
    for layer in range(1, model.layers + 1):
        W, U, b = model.get_layer(layer)
        for gate_W, gate_U in zip(W.chunk(4, dim=1), U.chunk(4, dim=1), strict=True):
            _draw_glorot_uniform(gate_W, generator)
            gate_U.copy_(1.1 * _draw_orthogonal(model.H, generator))
        b.zero_()
        b[model.H : 2 * model.H] = 1.0
    _draw_glorot_uniform(model.W_a, generator)
    model.b_a.zero_()


def _draw_glorot_uniform(weights: Tensor, generator: torch.Generator) -> None:
    limit = math.sqrt(6 / sum(weights.shape))
    weights.copy_((2 * torch.rand(weights.shape, generator=generator) - 1) * limit)


def _draw_orthogonal(size: int, generator: torch.Generator) -> Tensor:
    left, _, _ = torch.linalg.svd(torch.randn(size, size, generator=generator, dtype=torch.float64))
    return left
