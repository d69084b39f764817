"""The models, one equation family a file; this registry is what the configuration may name.

Nothing here imports torch: the graph is built where torch need not be installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reprise.config.options import Options

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class ModelEntry:
    """A model's class ("module:Class") and its options."""

    target: str
    options: Options

    def build(self, **sizes_and_options: Any) -> nn.Module:
        """The module; its parameters are not initialised yet."""
        module, name = self.target.split(":")
        return getattr(import_module(module), name)(**sizes_and_options)


_WEIGHT_LAWS = ("fan-in-truncated-normal", "fan-in-truncated-normal-corrected")
_NORMAL = {"weight_std": float, "bias_law": ("normal", "zero")}
_GATED = {
    "embedding_size": int,
    "hidden_size": int,
    "matrices": int,
    "mapping": ("f", "f_mod"),
    "weight_range": float,
}

MODELS: dict[str, ModelEntry] = {
    "elman": ModelEntry("reprise.models.elman:Elman", {"hidden_size": int, "weight_law": _WEIGHT_LAWS}),
    "lstm": ModelEntry("reprise.models.lstm:LSTM", {"hidden_size": int, "weight_law": _WEIGHT_LAWS}),
    "r-rntn": ModelEntry(
        "reprise.models.rntn:RNTN",
        {
            "hidden_size": int,
            "matrices": int,
            "mapping": ("f", "f_mod"),
            "bias": ("matrix", "shared"),
            "h_0": float,
            **_NORMAL,
        },
    ),
    "m-rnn": ModelEntry(
        "reprise.models.mrnn:MRNN",
        {"hidden_size": int, "factors": int, "factor_law": ("normal", "one"), "h_0": float, **_NORMAL},
    ),
    "gru-lm": ModelEntry("reprise.models.gated:GRU", _GATED),
    "lstm-lm": ModelEntry("reprise.models.gated:LSTM", _GATED),
}
