"""The fast engines, each held to the readable model by a test."""

from __future__ import annotations

import torch
from torch import nn

from reprise.engines.choice import choose
from reprise.engines.rntn.native import FusedEngine
from reprise.engines.rntn.reference import ReferenceEngine
from reprise.engines.rntn.subsequences import SubsequenceEngine, Subsequences, cut
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

ENGINES = {"reference": ReferenceEngine, "fused": FusedEngine}

__all__ = ["ENGINES", "SubsequenceEngine", "Subsequences", "choose_engine", "cut"]


def choose_engine(name: str, model: nn.Module) -> SubsequenceEngine:
    """The engine called `name` (reference, fused) around `model`.

    "auto" is fused; reference where there is no compiler, said on stderr, in other precisions than float32, and for
    other models than the two. Raises UserError for another name, and where fused is asked for
    and cannot be had.
    """
    known, slower = (RNTN, MRNN), "4 times slower or more"
    unfit = "" if next(model.parameters()).dtype == torch.float32 else "computes in float32 only"
    return choose(name, model, ENGINES, "fused", "reference", knows=known, unfit=unfit, slower=slower)
