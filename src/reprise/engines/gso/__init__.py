"""The engines of document 000's networks, batch by batch of lines that are packed without padding."""

from __future__ import annotations

from reprise.engines import choice
from reprise.engines.gso.native import FAMILIES, FusedEngine
from reprise.engines.gso.reference import PackedEngine, ReferenceEngine
from reprise.models.gso import SymbolModel

ENGINES = {"reference": ReferenceEngine, "fused": FusedEngine}


def choose(name: str, model: SymbolModel) -> PackedEngine:
    """The engine called `name` around `model`; "auto" is fused, see `reprise.engines.choice`. Raises UserError."""
    return choice.choose(name, model, ENGINES, knows=tuple(FAMILIES), unfit=choice.unfit_for_cpp(model))
