"""What the replicas of a stack know of their types: classes and features (`loglinear_classes.py`), filled up alike.

Replicas may have different M, and with it different numbers of features and of classes. The features of all end with
@notTop and the tags, so that what they share lies at the same places when their rows are aligned at the end: F rows, of
which the first `own` have room for the identities of the largest M. A class of M - m fewer is as much farther on, so
that of the C classes the first `own` are those of one type, whose feature is theirs alone. One-hot vectors are the case
of identities and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reprise.engines.loglinear.classes import Classes
from reprise.models.lexicon import Features
from reprise.models.loglinear import LogLinearRNN

NOTHING = -1e30
"""log B of the classes that fill up a replica: their probability is 0."""


@dataclass(frozen=True)
class StackedFeatures:
    """The vectors psi or phi of V types for R replicas; `sizes` (R) are the replicas' own numbers of features.

    `places` (R, V) int64 are the types' classes; `shared` (R, C, F - own) holds @notTop and tags of every class, or is
    None where F = own.
    """

    sizes: tuple[int, ...]
    own: int
    places: Tensor
    shared: Tensor | None

    @property
    def F(self) -> int:
        return max(self.sizes)

    @property
    def C(self) -> int:
        return self.own if self.shared is None else self.shared.shape[1]

    def masses(self, log_b: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """log B_c of the classes (R, C), and log b(x) / B_c of the types (R, V), of log b (V,) a replica; float64."""
        b = torch.stack([one.double() for one in log_b]).to(self.places.device)
        if self.shared is None:
            return b, torch.zeros_like(b)
        # Added up on the CPU, in a fixed order.
        mass = torch.zeros(len(b), self.C, dtype=torch.float64).scatter_add_(1, self.places.cpu(), b.exp().cpu())
        found = mass.log().clamp_(min=NOTHING).to(b.device)
        return found, b - found.gather(1, self.places)


def stacked_features(models: Sequence[LogLinearRNN], like: Tensor) -> tuple[StackedFeatures, StackedFeatures]:
    """psi and phi of models that have one-hot vectors in the same places."""
    alone = _one_hot(models, like)
    one_hot = one_hot_sides(models[0])
    featured = None if all(one_hot) else _of_classes(_classes_of(models, like), like)
    psi, phi = (alone if alike else featured for alike in one_hot)
    return psi, phi


def one_hot_sides(model: LogLinearRNN) -> tuple[bool, bool]:
    """Whether psi, and whether phi, are one-hot vectors."""
    matrix = None if model.features is None else model.features.matrix
    return model.psi_rows is not matrix, model.phi_rows is not matrix


def _one_hot(models: Sequence[LogLinearRNN], like: Tensor) -> StackedFeatures:
    R, V = len(models), models[0].V
    return StackedFeatures((V,) * R, V, torch.arange(V, device=like.device).expand(R, V), None)


def _of_classes(classes: Sequence[Classes], like: Tensor) -> StackedFeatures:
    sizes = tuple(one.identities + one.tags.shape[1] for one in classes)
    F, own = max(sizes), max(one.M for one in classes)
    C = own + max(len(one.tags) - one.M for one in classes)
    shared = torch.zeros(len(classes), C, F - own, dtype=like.dtype)
    for row, one in zip(shared, classes, strict=True):
        first, K = own - one.M, one.tags.shape[1]
        row[first : first + len(one.tags), F - own - K :] = one.tags
        if one.identities:
            row[own : first + len(one.tags), 0] = 1  # @notTop
    places = torch.stack([one.of_type + own - one.M for one in classes])
    return StackedFeatures(sizes, own, places.to(like.device), shared.to(like.device))


def _classes_of(models: Sequence[LogLinearRNN], like: Tensor) -> list[Classes]:
    """The classes of each model, found once for all that have the same features."""
    found: list[tuple[Features, Classes]] = []
    chosen = []
    for model in models:
        here = next((classes for features, classes in found if _equal(features, model.features)), None)
        if here is None:
            here = Classes.of(model.features, torch.zeros(0, dtype=like.dtype))
            found.append((model.features, here))
        chosen.append(here)
    return chosen


def _equal(one: Features, other: Features) -> bool:
    arrays = ((f.top, f.matrix.indptr, f.matrix.indices) for f in (one, other))
    return one.identities == other.identities and all(map(np.array_equal, *arrays))
