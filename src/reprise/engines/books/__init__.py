"""The engines of document 002's character model, on windows of text."""

from __future__ import annotations

from reprise.engines import choice
from reprise.engines.books.reference import ReferenceEngine, WindowEngine
from reprise.engines.books.torch import LayerwiseEngine
from reprise.models.deep_lstm import DeepLSTM

ENGINES = {"reference": ReferenceEngine, "layerwise": LayerwiseEngine}


def choose(name: str, model: DeepLSTM) -> WindowEngine:
    """The engine called `name` around `model`; "auto" is layerwise, see `reprise.engines.choice`. Raises UserError."""
    return choice.choose(name, model, ENGINES, knows=(DeepLSTM,))
