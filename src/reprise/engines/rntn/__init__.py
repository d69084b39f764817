"""The engines of document 001's batch-1 language models: s-RNN, RNTN, r-RNTN and m-RNN."""

from __future__ import annotations

from torch import nn

from reprise.engines import choice
from reprise.engines.rntn.native import FusedEngine
from reprise.engines.rntn.reference import ReferenceEngine
from reprise.engines.rntn.subsequences import SubsequenceEngine, Subsequences, cut
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

ENGINES = {"reference": ReferenceEngine, "fused": FusedEngine}

__all__ = ["ENGINES", "SubsequenceEngine", "Subsequences", "choose", "cut"]


def choose(name: str, model: nn.Module) -> SubsequenceEngine:
    """The engine called `name` around `model`; "auto" is fused, see `reprise.engines.choice`. Raises UserError."""
    return choice.choose(name, model, ENGINES, knows=(RNTN, MRNN), unfit=choice.unfit_for_cpp(model))
