"""The distances of readings from the paper's numbers as the cells of a table."""

from collections.abc import Sequence

from reprise.evidence.readings import Distance

READING_HEADERS = (
    *("setting", "rows", "seeds", "level %", "level % as chosen", "effect %", "effect % as chosen"),
    *("log likelihood", "log likelihood as chosen", "factor"),
)

READING_NOTES = (
    "Rows, seeds: numbers of the paper and replicas of ours that are compared.",
    "Level: mean distance from the printed numbers, in % of them. Effect: mean distance between differences of rows.",
    "As chosen: the same for our own choices, on the same rows.",
    "Log likelihood: of the printed numbers, with our SD over seeds; a higher one fits better.",
    "Factor: multiplies ours where a unit is in doubt. It is fitted to the printed numbers; a single row fits exactly.",
)
"""The meaning of the headers."""


def make_reading_rows(ranked: Sequence[Distance]) -> list[tuple[str, ...]]:
    """Return a row of cells for each reading, in the columns of `READING_HEADERS`."""
    return [_make_row(distance) for distance in ranked]


def _make_row(distance: Distance) -> tuple[str, ...]:
    has_distance = distance.rows > 1 or distance.factor == 1
    levels = (distance.level, distance.chosen) if has_distance else (None, None)
    numbers = *levels, distance.effect, distance.chosen_effect, distance.likelihood, distance.chosen_likelihood
    counts = str(distance.rows), str(distance.seeds)
    return distance.reading, *counts, *map(_format_number, numbers), f"{distance.factor:.3f}"


def _format_number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}".replace("-", "−") if value < 1000 else "> 1000"
