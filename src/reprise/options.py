"""Types and bounds of the options of models, protocols and datasets, without torch.

`OPTIONS` of a class or file gives each option's type: a `Number` within bounds, `int`, `float`, `bool`, or a tuple of
the allowed words. Every option has to be stated in the configuration: a default in the code would be a silent
hyperparameter.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reprise.errors import UserError, known, shortened

_LARGEST = {int: 2**31 - 1, float: 1e38}
"""No array has more places, and float32 ends soon after: of either sign, whatever bounds an option has of its own."""


@dataclass(frozen=True)
class Number:
    """An `int` or a `float` within bounds: what lies beyond them no training can use. Every float is finite."""

    kind: type
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None

    def holds(self, value: Any) -> bool:
        return (
            type(value) is self.kind
            and (self.kind is not float or math.isfinite(value))
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        bounds = {"of at least": self.at_least, "of at most": self.at_most, "above": self.above, "below": self.below}
        said = " and ".join(f"{word} {bound}" for word, bound in bounds.items() if bound is not None)
        return f"a{'n' if self.kind is int else ''} {self.kind.__name__} {said}".rstrip()


def at_least(bound: int) -> Number:
    """An `int` that is not smaller."""
    return Number(int, at_least=bound)


COUNT, NATURAL = at_least(1), at_least(0)
POSITIVE = Number(float, above=0)
NOT_NEGATIVE = Number(float, at_least=0)
SHARE = Number(float, at_least=0, below=1)

OptionType = type | Number | tuple[str, ...]
Options = Mapping[str, OptionType]
Values = Mapping[str, Any]
"""What the options of one experiment are."""


def check_options(
    values: Mapping[str, Any], options: Options, where: str | Callable[..., str], owner: str
) -> dict[str, Any]:
    """`values` in the options' types, or a `UserError` that begins with `where` ("file: key 'a.b'").

    A function `where` says so itself, of all options or of the one that it is given: not all need stand at one place.
    `owner` names what is being configured, e.g. "model elman". Integers are accepted where a float is asked for.
    """

    def place(*name: str) -> str:
        return ".".join((where, *name)) if isinstance(where, str) else where(*name)

    for name in values:
        if name not in options:
            raise UserError(f"{place(name)}: {owner} has no such option; {known(name, options)}")
    for name in options:
        if name not in values:
            raise UserError(f"{place()}: {owner} needs the option '{name}'; add it with its origin")
    return {name: check_option(values[name], kind, place(name)) for name, kind in options.items()}


def check_option(value: Any, kind: OptionType, where: str) -> Any:
    """`value` in the type of an option, or a `UserError` that begins with `where` ("file: key 'a.b'")."""
    if isinstance(kind, tuple):
        if value not in kind:
            raise UserError(f"{where}: {shortened(value)} is not known; write one of {', '.join(kind)}")
        return value
    wanted, found = kind if isinstance(kind, Number) else Number(kind), value
    largest = _LARGEST.get(wanted.kind, math.inf)
    if type(value) in (int, float) and largest < abs(value) < math.inf:
        raise UserError(f"{where}: {shortened(value)} is too large; write {largest} at most")
    if wanted.kind is float and type(value) is int:
        found = float(value)
    if not wanted.holds(found):
        raise UserError(f"{where}: {shortened(value)} is not {wanted}; write one")
    return found
