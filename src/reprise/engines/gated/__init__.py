"""The engines of document 001's gated networks: GRU, LSTM, r-GRU and r-LSTM."""

from __future__ import annotations

from reprise.engines import choice
from reprise.engines.gated.reference import GatedEngine, ReferenceEngine
from reprise.engines.gated.torch import GroupedEngine
from reprise.models.gated import GRU, LSTM, GatedLanguageModel

ENGINES = {"reference": ReferenceEngine, "grouped": GroupedEngine}


def choose(name: str, model: GatedLanguageModel) -> GatedEngine:
    """The engine called `name` around `model`; "auto" is grouped, see `reprise.engines.choice`. Raises UserError."""
    unfit = "" if next(model.parameters()).device.type == "cpu" else "computes on a CPU only"
    remedy = "device: cpu or engine: reference"
    return choice.choose(name, model, ENGINES, knows=(GRU, LSTM), unfit=unfit, remedy=remedy)
