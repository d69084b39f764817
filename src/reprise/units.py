"""Entropies are stored in nats per token; every other unit is made here."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

INFINITE = "infinite"
"""How an infinite number is written: the perplexity of a model that gives a text next to no probability."""

Unit = Literal["nats/token", "bits/token", "nats/character", "bits/character"]
UNITS = get_args(Unit)


def convert_to_perplexity(nats_per_token: float) -> float:
    """Compute e^J of a cross-entropy J in nats per token; infinite where that overflows."""
    try:
        return math.exp(nats_per_token)
    except OverflowError:
        return math.inf


_RATIO_SCALE = {"perplexity"}
"""Metrics that are e to the power of a loss: replicas differ by factors."""


def is_ratio_scale(metric: str) -> bool:
    """Tell whether a metric is averaged and compared by its logarithm, as perplexities are; `metric` may have "@x"."""
    return metric.partition("@")[0] in _RATIO_SCALE


_HIGHER_IS_WORSE_UNITS = ("nats", "bits", "step", "epoch", "rank")
"""How units begin whose higher numbers are worse."""


def is_lower_better(metric: str, unit: str) -> bool:
    """Tell whether lower numbers are better, as of losses, errors and counts of steps; not of shares and BLEU.

    `unit` is that of the record, "" where there is no number. The metric's name then decides alone.
    """
    name = metric.partition("@")[0]
    if name.endswith("log_probability"):
        return False
    is_loss = name.startswith(("perplexity", "loss")) or name.endswith(("cross_entropy", "error"))
    return is_loss or unit.startswith(_HIGHER_IS_WORSE_UNITS)


def convert_to_bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / math.log(2)


def convert_entropy(
    value: float, unit: str, to: str, tokens: int | None = None, characters: int | None = None
) -> float:
    """Convert an entropy to another `Unit`; between tokens and characters it takes how many of each the text has.

    Raises:
        ValueError: The unit is unknown, or a count is needed and missing.
    """
    for name in (unit, to):
        if name not in UNITS:
            raise ValueError(f"{name} is no unit of entropy; known are {', '.join(UNITS)}")
    (amount, per), (amount_to, per_to) = unit.split("/"), to.split("/")
    if amount != amount_to:
        value = convert_to_bits(value) if amount_to == "bits" else value * math.log(2)
    if per == per_to:
        return value
    if not tokens or not characters:
        raise ValueError(f"{unit} to {to} takes the numbers of tokens and characters")
    return value * tokens / characters if per_to == "character" else value * characters / tokens


def derive_metrics(row: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the metrics that follow from one of the `metrics` of a run record: rows like it.

    From a cross-entropy per token follows its perplexity, which may be infinite. Where the predicted characters of its
    split are counted too, its bits per character follow.
    """
    if row.get("metric") != "cross_entropy" or row["unit"] != "nats/token":
        return
    yield {**row, "metric": "perplexity", "value": convert_to_perplexity(row["value"]), "unit": "1"}
    counts = [m["value"] for m in metrics if (m["metric"], m["split"]) == ("predicted_characters", row["split"])]
    for count in counts:
        value = convert_entropy(row["value"], row["unit"], "bits/character", row["n"], count)
        yield {**row, "metric": "bits_per_character", "value": value, "unit": "bits/character", "n": count}
