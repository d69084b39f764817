"""Which tokens count: what a loss per token, a perplexity or an accuracy is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.catalogue.stated import worded
from reprise.records.resolved import Resolved


def counted_by(experiment: Resolved, preparations: Mapping[str, str]) -> str:
    """What a token of the experiment's text is, and which of them are predicted; "" where none is.

    `preparations` are those of the datasets.
    """
    if experiment.is_check:
        return ""
    data, training = experiment.config["data"], experiment.config["training"]
    predicted = worded(PROTOCOLS[training["protocol"]].predicted, training["options"])
    tokens = worded(PREPARATIONS[preparations[data["dataset"]]].tokens, data["options"])
    return f"{tokens}; predicted: {predicted}" if predicted else ""


def is_over_tokens(row: Mapping[str, Any]) -> bool:
    """Whether a number is a mean over tokens: an entropy, a perplexity, an accuracy."""
    name, unit = row.get("metric", ""), row.get("unit", "")
    return unit.startswith(("nats/", "bits/")) or name == "perplexity" or (unit == "share" and "accuracy" in name)
