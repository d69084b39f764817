"""The engines of document 004's log-linear RNNs, window by window."""

from __future__ import annotations

from reprise.engines import choice
from reprise.engines.loglinear.native import FusedEngine
from reprise.engines.loglinear.reference import ReferenceEngine, WindowEngine
from reprise.models.loglinear import LogLinearRNN

ENGINES = {"reference": ReferenceEngine, "fused": FusedEngine}


def choose(name: str, model: LogLinearRNN) -> WindowEngine:
    """The engine called `name` around `model`; "auto" is fused, see `reprise.engines.choice`. Raises UserError."""
    return choice.choose(name, model, ENGINES, knows=(LogLinearRNN,), unfit=choice.unfit_for_cpp(model))
