"""GRU and LSTM language models, and their restricted tensor networks r-GRU and r-LSTM.

Salle and Villavicencio, "Restricted Recurrent Neural Tensor Networks" (ACL 2018), section 3; sizes and training in
section 4.

The input x_t is the embedding of a word, E[w_t]. In the r-GRU and the r-LSTM the candidate's matrix and bias are those
of the word, by f (5) or f_mod (16). With K = 1 matrix these are the ordinary GRU and LSTM. Every gate has one bias, as
the equations print it (cuDNN's networks have two). The next word is predicted as in equation 2.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from reprise.models.initialisation import declare_parameters
from reprise.models.rntn import choose_matrices

State = tuple[Tensor, ...]
Masks = tuple[Tensor, Tensor]


class GatedLanguageModel(nn.Module):
    """The common part of GRU and LSTM: V words, embeddings of size d, H hidden units, K matrices for the candidate.

    The paper's W_h^r is W_hr here, U_h^h is U_hh, b_h^c is b_hc, and so on.

    `mapping` is "f" (5) or "f_mod" (16).

    Raises:
        ValueError: K is not in 1 .. V.
    """

    gates: tuple[str, ...] = ()  # logistic gates, in the order of the equations
    candidate: str = ""  # the gate whose matrix and bias depend on the word
    states: int = 0  # tensors that a step hands to the next

    def __init__(
        self, vocabulary: int, embedding_size: int, hidden_size: int, matrices: int = 1, mapping: str = "f"
    ) -> None:
        super().__init__()
        if not 1 <= matrices <= vocabulary:
            raise ValueError(f"matrices must be in 1 .. {vocabulary}, the vocabulary, not {matrices}")
        V, d, H, K = vocabulary, embedding_size, hidden_size, matrices
        self.vocabulary, self.embedding, self.hidden, self.matrices, self.mapping = V, d, H, K, mapping
        declare_parameters(self, E=(V, d))  # row w is the embedding of word w
        for gate in (*self.gates, self.candidate):
            own = (K,) if gate == self.candidate else ()
            declare_parameters(self, **{f"W_h{gate}": (H, d), f"U_h{gate}": (*own, H, H), f"b_h{gate}": (*own, H)})
        declare_parameters(self, W_o=(V, H), b_o=(V,))

    def choose_matrices(self, words: Tensor) -> Tensor:
        """Return which matrix each word uses, counted from 0: f(w) - 1 (5), or f_mod(w) (16)."""
        return choose_matrices(words, self.matrices, self.mapping)

    def initial_state(self, batch: int) -> State:
        """Return zeros, (B, H) each."""
        return tuple(self.E.new_zeros(batch, self.hidden) for _ in range(self.states))

    def read(self, words: Tensor, masks: Masks | None) -> Iterator[tuple[Tensor, ...]]:
        """Yield what does not depend on h, step by step, of words (T, B).

        That is W x_t + b of each gate and, last, of the candidate, (B, H) each. After these comes the candidate's U^k:
        (B, H, H), or (1, H, H) if all words share one.
        """
        x, (U, b) = self.embed(words, masks), self.select_matrices(words)
        W = [getattr(self, f"W_h{gate}") for gate in (*self.gates, self.candidate)]
        biases = [*(getattr(self, f"b_h{gate}") for gate in self.gates), b]
        inputs = ((x @ W.T + b).unbind() for W, b in zip(W, biases, strict=True))
        return zip(*inputs, U, strict=True)

    def embed(self, words: Tensor, masks: Masks | None) -> Tensor:
        """Look up the embeddings (T, B, d) of words (T, B)."""
        return self.E[words] if masks is None else self.E[words] * masks[0]

    def select_matrices(self, words: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Return the candidate's U^k of each step, as `read` gives it, and b^k (T, B, H)."""
        k, (U, b) = self.choose_matrices(words), (getattr(self, f"{n}_h{self.candidate}") for n in "Ub")
        # One gather for all steps: the gradient of a gather is a tensor of K matrices each time.
        selected = U[k] if self.matrices > 1 else U.expand(len(words), *U.shape)
        return selected.unbind(), b[k]

    def compute_logits(self, h: list[Tensor], masks: Masks | None) -> Tensor:
        """Compute W_o h_t + b_o, (T, B, V), of h_1 .. h_T, each (B, H)   (2)."""
        softmax_input = torch.stack(h) if masks is None else torch.stack(h) * masks[1]
        return softmax_input @ self.W_o.T + self.b_o


class GRU(GatedLanguageModel):
    """The GRU (K = 1) and the r-GRU.

    r_t  = sigma(W_hr x_t + U_hr h_{t-1} + b_hr)                  (6)
    z_t  = sigma(W_hz x_t + U_hz h_{t-1} + b_hz)                  (7)
    h~_t = tanh(W_hh x_t + U_hh^k (r_t * h_{t-1}) + b_hh^k)       (8), k = f(w_t)
    h_t  = z_t * h_{t-1} + (1 - z_t) * h~_t                       (9)
    P(w_{t+1} | w_1 .. w_t) = Softmax(W_o h_t + b_o)              (2)

    The reset gate acts before the matrix; in `torch.nn.GRU` it acts after it, on U h + b.
    """

    gates, candidate, states = ("r", "z"), "h", 1

    def forward(self, words: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
        """Read words (T, B) from state (h,), h (B, H): logits of the next words (T, B, V), last state.

        `masks`, (T, B, d) and (T, B, H), multiply the embeddings and the softmax input. They are the dropout on all
        non-recurrent connections, with its scale (section 4).
        """
        (h,), states = state, []
        for x_r, x_z, x_h, U_hh in self.read(words, masks):  # x_r = W_hr x_t + b_hr
            r = torch.sigmoid(x_r + h @ self.U_hr.T)  # (B, H)   (6)
            z = torch.sigmoid(x_z + h @ self.U_hz.T)  # (B, H)   (7)
            candidate = torch.tanh(x_h + multiply_rows(U_hh, r * h))  # (B, H)   (8)
            h = z * h + (1 - z) * candidate  # (B, H)   (9)
            states.append(h)
        return self.compute_logits(states, masks), (h,)


class LSTM(GatedLanguageModel):
    """The LSTM (K = 1) and the r-LSTM.

    f_t  = sigma(W_hf x_t + U_hf h_{t-1} + b_hf)                  (10)
    i_t  = sigma(W_hi x_t + U_hi h_{t-1} + b_hi)                  (11)
    o_t  = sigma(W_ho x_t + U_ho h_{t-1} + b_ho)                  (12)
    c~_t = tanh(W_hc x_t + U_hc^k h_{t-1} + b_hc^k)               (13), k = f(w_t)
    c_t  = i_t * c~_t + f_t * c_{t-1}                             (14)
    h_t  = o_t * tanh(c_t)                                        (15)
    P(w_{t+1} | w_1 .. w_t) = Softmax(W_o h_t + b_o)              (2)
    """

    gates, candidate, states = ("f", "i", "o"), "c", 2

    def forward(self, words: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
        """Read words as `GRU.forward`; the state is (h, c), (B, H) each."""
        (h, c), states = state, []
        for x_f, x_i, x_o, x_c, U_hc in self.read(words, masks):  # x_f = W_hf x_t + b_hf
            f = torch.sigmoid(x_f + h @ self.U_hf.T)  # (B, H)   (10)
            i = torch.sigmoid(x_i + h @ self.U_hi.T)  # (B, H)   (11)
            o = torch.sigmoid(x_o + h @ self.U_ho.T)  # (B, H)   (12)
            candidate = torch.tanh(x_c + multiply_rows(U_hc, h))  # (B, H)   (13)
            c = i * candidate + f * c  # (B, H)   (14)
            h = o * torch.tanh(c)  # (B, H)   (15)
            states.append(h)
        return self.compute_logits(states, masks), (h, c)


def multiply_rows(U: Tensor, h: Tensor) -> Tensor:
    """Compute U_b h_b for matrices U (B, H, H) and rows h (B, H); one matrix (1, H, H) serves all rows."""
    return h @ U[0].T if len(U) == 1 else torch.bmm(U, h.unsqueeze(2)).squeeze(2)


def initialise(model: GatedLanguageModel, weight_range: float, generator: torch.Generator) -> None:
    """Draw all parameters from U(-weight_range, weight_range), in the order of their registration (section 4)."""
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -weight_range, weight_range, generator=generator)
