"""The engines of document 000's networks, batch by batch: in C++, and the readable model."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from reprise.engines.choice import choose
from reprise.engines.gso.native import FusedPackedEngine, unfused
from reprise.engines.gso.packing import PackedBatch
from reprise.engines.gso.reference import PaddedEngine
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration, SymbolModel


class PackedEngine(Protocol):
    """Works on the readable model's own parameters: it fills their `.grad`, and an optimiser of torch does the rest."""

    name: str

    def train(self, batch: PackedBatch, reduction: str) -> float:
        """The summed loss in nats; sets `.grad` of every parameter, whatever it was, for the loss under `reduction`.

        `reduction` as in `PackedBatch.shares`.
        """

    def evaluate(self, batch: PackedBatch) -> tuple[np.ndarray, np.ndarray]:
        """The loss of every row in nats (rows,), and its most probable symbol (rows,) int32."""


ENGINES = {"reference": PaddedEngine, "fused": FusedPackedEngine}


def choose_packed_engine(name: str, model: SymbolModel) -> PackedEngine:
    """The engine called `name` (reference, fused) around `model`.

    "auto" is fused; reference where there is no compiler, said on stderr, and in other precisions than float32. Raises
    UserError for another name, and where fused is asked for and cannot be had.
    """
    known, slower = (GSO, FirstOrder, MultiplicativeIntegration), "2 to 3 times slower"
    return choose(name, model, ENGINES, "fused", "reference", knows=known, unfit=unfused(model), slower=slower)
