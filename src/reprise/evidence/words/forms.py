"""How numbers and lists are written in the sentences that are computed."""

import math
from collections.abc import Sequence

from reprise.config.claims import Margin

_MARGINS = {
    "superiority": "at least {} lower asked",
    "non-inferiority": "up to {} higher allowed",
    "equivalence": "a difference of less than {} allowed",
}


def digits(error: float | None) -> int | None:
    """Decimals that show two digits of an error; None where there is none to go by."""
    return min(12, max(0, 1 - math.floor(math.log10(abs(error))))) if error else None


def number(value: float, decimals: int | None = None) -> str:
    """So many decimals, or four significant digits (of a whole number all), with a proper minus sign."""
    if decimals is None and float(value).is_integer() and abs(value) < 1e15:
        decimals = 0
    text = f"{value:.4g}" if decimals is None else f"{value:,.{decimals}f}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def per_cent_lower(logarithm: float) -> float:
    """A difference of logarithms, higher less lower, in per cent of the higher: the one base of all that is shown."""
    return -100 * math.expm1(-logarithm)


def margin_words(kind: str, margin: Margin) -> str:
    """ "up to 2 % higher allowed": what the margin of a claim of this kind allows, or asks."""
    if margin.measure == "share-of-gain":
        return f"at least {percent(margin.value)} of the gain asked"
    size = percent(margin.value) if margin.measure == "relative" else number(margin.value)
    return _MARGINS[kind].format(size)


def listed(words: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def unit_words(unit: str | None) -> str:
    """ " nats per token", of an entropy, with the space before it; other metrics say by their names what they are."""
    return f" {unit.replace('/', ' per ')}" if unit and unit.startswith(("nats", "bits")) else ""
