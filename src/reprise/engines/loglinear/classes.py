"""Types with the same features form classes: the normaliser of a log-linear model sums classes, not types.

    Z(a) = sum_x b(x) exp(a . phi(x)) = sum_c B_c exp(a . phi_c),    B_c = sum of b over the class

is exact, because a . phi(x) is the same throughout a class; p(x) = p(c) b(x) / B_c. The M most frequent types, each
with a feature of its own, are classes of one. The others share @notTop and differ by their tags alone. They are
hundreds of bundles of tags instead of forty thousand types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reprise.models.lexicon import BooleanCSR, Features

Linear = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""x (n, k), w (m, k), bias (m,) or None -> x @ w.T + bias, (n, m)."""


@dataclass(frozen=True)
class Classes:
    """C classes of V types with K tags. Classes 0 .. M - 1 are the types with a feature of their own, in its order.

    `identities` is M + 1 (the others have the feature M, @notTop), or 0 without features of identity; then M = 0.
    Feature numbers are those of `Features`: identities first, then tags.
    """

    class_of_type: Tensor  # (V,) int64
    tags: Tensor  # (C, K), 0 or 1
    identities: int
    indptr: Tensor  # (C + 1,) int64: the tags of class c are the features indices[indptr[c]:indptr[c + 1]]
    indices: Tensor  # int64

    @property
    def M(self) -> int:
        return max(0, self.identities - 1)

    @classmethod
    def from_features(cls, features: Features, like: Tensor) -> Classes:
        """Find the classes under these features, their tags in the dtype of `like`."""
        tags = features.matrix.dense()[:, features.identities :]
        packed = np.packbits(tags, axis=1)
        # Sorted by the identity first, so that class c < M is the type whose feature is number c.
        keys = np.concatenate([features.top.astype(">i8").view(np.uint8).reshape(len(tags), 8), packed], axis=1)
        _, first, class_of_type = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        sparse = BooleanCSR.from_dense(tags[first])
        return cls(
            class_of_type=torch.from_numpy(class_of_type.reshape(-1).astype(np.int64)),
            tags=torch.from_numpy(tags[first]).to(like.dtype).contiguous(),
            identities=features.identities,
            indptr=torch.from_numpy(sparse.indptr.astype(np.int64)),
            indices=torch.from_numpy(sparse.indices.astype(np.int64) + features.identities),
        )

    def compute_log_mass(self, log_b: Tensor) -> Tensor:
        """Compute log B_c (C,), float64, of log b (V,)."""
        mass = log_b.new_zeros(len(self.tags), dtype=torch.float64)
        return mass.index_add_(0, self.class_of_type, log_b.double().exp()).log()


def compute_class_scores(
    a: Tensor, tags: Tensor, identities: int, log_mass: Tensor, linear: Linear = functional.linear
) -> Tensor:
    """Compute log B_c + a . phi_c (n, C) of adaptors a (n, F) and classes as in `Classes`, by a product `linear`."""
    scores = linear(a[:, identities:], tags, None) + log_mass
    if not identities:
        return scores
    M = identities - 1
    others = a[:, M:identities].expand(-1, len(tags) - M)
    return scores + torch.cat([a[:, :M], others], 1)
