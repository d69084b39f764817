"""The engines of document 002's palindrome networks, with one loss a sequence, on its last state."""

from __future__ import annotations

from torch import nn

from reprise.engines import choice
from reprise.engines.palindromes.native import FusedEngine
from reprise.engines.palindromes.reference import LastStepEngine, ReferenceEngine
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM

ENGINES = {"reference": ReferenceEngine, "fused": FusedEngine}


def choose(name: str, model: nn.Module) -> LastStepEngine:
    """The engine called `name` around `model`; "auto" is fused, see `reprise.engines.choice`. Raises UserError."""
    return choice.choose(name, model, ENGINES, knows=(Elman, LSTM), unfit=choice.unfit_for_cpp(model))
