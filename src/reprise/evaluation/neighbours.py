"""Which words are like which, by their vectors and by their matrices (document 001, section 3)."""

import torch
from torch import Tensor, nn


def find_words_with_matrices(model: nn.Module) -> tuple[Tensor, Tensor] | None:
    """Find the word vectors (V, d) and the word-specific matrices (K, H * H) of a model of document 001.

    Only the mapping f gives each of the K - 1 most frequent words a matrix of its own (equation 5).

    Returns:
        None where the model has no such matrices.
    """
    if getattr(model, "mapping", None) != "f" or getattr(model, "matrices", 1) < 3:
        return None
    state = model.state_dict()
    candidate = getattr(model, "candidate", "")
    vectors = state.get("W_h", state.get("E"))
    matrices = state.get(f"U_h{candidate}")
    if vectors is None or matrices is None or matrices.dim() != 3:
        return None
    return vectors, matrices.flatten(1)


def find_neighbours(rows: Tensor, count: int) -> list[list[int]]:
    """List for each of the rows (n, d) the numbers of the nearest others by cosine, the nearest first.

    The mean of all rows is taken off first: what they share says nothing about one of them.
    """
    centred = rows.double() - rows.double().mean(0)
    unit = centred / centred.norm(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
    similarity = (unit @ unit.T).fill_diagonal_(-2.0)
    return similarity.topk(min(count, len(rows) - 1), dim=1).indices.tolist()
