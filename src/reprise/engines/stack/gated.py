"""Compute GRU and LSTM of document 001 in fewer operations.

On a GPU the number of a step's kernels costs more than their size. Parameters and equations are those of the readable
models, `reprise.models.gated`. Gates that read the same, by matrices that all words share, have one product.
"""

import torch
from torch import Tensor

from reprise.models.gated import GRU, LSTM, GatedLanguageModel, Masks, State, multiply_rows


def join_gates(model: GatedLanguageModel, gates: str) -> tuple[Tensor, Tensor, Tensor]:
    """Put G gates side by side, the candidate among them where it has one matrix.

    Returns:
        W (G H, E), U^T (H, G H) and b (G H,).
    """
    W, U, b = ([getattr(model, f"{name}_h{gate}") for gate in gates] for name in "WUb")
    return torch.cat(W), torch.cat([u.flatten(0, -2) for u in U]).T, torch.cat([v.flatten() for v in b])


def compute_gru(model: GRU, words: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
    """Compute what `GRU.forward` computes."""
    (h,), states, x = state, [], model.embed(words, masks)
    (W, U_T, b), (U_hh, b_hh) = join_gates(model, "rz"), model.select_matrices(words)
    inputs = (x @ W.T + b).unbind(), (x @ model.W_hh.T + b_hh).unbind(), U_hh
    for x_rz, x_h, U in zip(*inputs, strict=True):
        r, z = torch.sigmoid(x_rz + h @ U_T).chunk(2, 1)  # (6), (7)
        candidate = torch.tanh(x_h + multiply_rows(U, r * h))  # (8)
        h = torch.lerp(candidate, h, z)  # (9)
        states.append(h)
    return model.compute_logits(states, masks), (h,)


def compute_lstm(model: LSTM, words: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
    """Compute what `LSTM.forward` computes. With one matrix the candidate shares the gates' product."""
    (h, c), states, x, H = state, [], model.embed(words, masks), model.hidden
    W, U_T, b = join_gates(model, "fio" if model.matrices > 1 else "fioc")
    inputs = (x @ W.T + b).unbind()
    if model.matrices > 1:
        U_hc, b_hc = model.select_matrices(words)
        x_c = (x @ model.W_hc.T + b_hc).unbind()
    for t, x_t in enumerate(inputs):
        a = x_t + h @ U_T
        fio, a_c = (a, x_c[t] + multiply_rows(U_hc[t], h)) if model.matrices > 1 else a.split([3 * H, H], 1)
        f, i, o = torch.sigmoid(fio).chunk(3, 1)  # (10), (11), (12)
        candidate = torch.tanh(a_c)  # (13)
        c = i * candidate + f * c  # (14)
        h = o * torch.tanh(c)  # (15)
        states.append(h)
    return model.compute_logits(states, masks), (h, c)


SHARED_PRODUCTS = {GRU: compute_gru, LSTM: compute_lstm}
"""By the readable model's class, the function that takes the place of its `forward`."""
