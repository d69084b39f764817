"""Language models of one's own: any torch module."""

import re
from typing import Any, Literal

from pydantic import ValidationInfo, field_validator

from reprise.catalogue.options.base import (
    Count,
    MaxEpochs,
    Natural,
    NotNegative,
    Options,
    Positive,
    Share,
)

INITIALISATION_LAWS = {"zero": 0, "constant": 1, "uniform": 1, "normal": 1, "orthogonal": 0, "xavier": 0}
"""How many numbers stand behind a law's name."""
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[+-]?\d\d?)?")
_READ_WITH = {
    "momentum": ("optimiser", ("sgd", "rmsprop")),
    "decay_factor": ("schedule", ("on-stall", "after-epoch")),
    "decay_after": ("schedule", ("after-epoch",)),
    "clip": ("clipping", ("norm", "value")),
}
"""The option, and its values, without which another option is not read."""


def parse_initialisation(table: str) -> dict[str, tuple[str, list[float]]]:
    """Return law and numbers by pattern, of "<pattern>: <law>, ...".

    Raises:
        ValueError: A row has no law of `INITIALISATION_LAWS` with its numbers.
    """
    laws = {}
    for row in table.split(",") if table.strip() else []:
        pattern, _, rest = row.partition(":")
        law, *words = rest.split() or ("",)
        numbers = [float(word) for word in words if _NUMBER.fullmatch(word)]
        if not len(words) == len(numbers) == INITIALISATION_LAWS.get(law):
            forms = ", ".join(name + " <number>" * count for name, count in INITIALISATION_LAWS.items())
            raise ValueError(f"'{row.strip()}' is no '<pattern>: <law>'; write one of the laws {forms}")
        laws[pattern.strip()] = law, numbers
    return laws


class LanguageModel(Options):
    """Trains a torch module with forward(x, state) -> (logits, state) and initial_state(B) on streams of text."""

    name: Literal["language-model"]
    batch_size: Count
    """streams of the training text"""
    bptt: Count
    """the most tokens of each stream that a gradient goes back, to the earliest update boundary among them"""
    update_interval: Natural = 0
    """tokens of each stream between two updates, at most `bptt`; 0 for `bptt`"""
    optimiser: Literal["sgd", "adam", "rmsprop"]
    """method that updates the parameters"""
    learning_rate: Positive
    """learning rate of the first epoch"""
    momentum: Share = 0.0
    """momentum of SGD and RMSProp"""
    weight_decay: NotNegative = 0.0
    """multiple of a parameter that is added to its gradient"""
    schedule: Literal["constant", "on-stall", "after-epoch"] = "constant"
    """when the learning rate is divided: never, after an epoch without the best validation loss, after every epoch"""
    decay_factor: Positive = 2.0
    """divisor of the learning rate"""
    decay_after: Natural = 0
    """epochs before the schedule `after-epoch` begins"""
    undo_worse: bool = False
    """whether an epoch without the best validation loss is undone"""
    clipping: Literal["none", "norm", "value"] = "none"
    """whether the gradients' common norm is bounded, or each gradient's value, or neither"""
    clip: Positive = 1.0
    """bound of the norm, or of a value"""
    loss_reduction: Literal["mean", "sum-steps"] = "mean"
    """whether losses of a stream's tokens are averaged or summed; over streams it is the mean"""
    initialisation: str = ""
    """"<pattern>: <law>, ...": the law of the parameters whose name matches first, the module's own for the others;
    laws are zero, constant c, uniform a, normal s, orthogonal, xavier"""
    states: Literal["carried", "reset"] = "carried"
    """whether a window begins with the state that the one before it left"""
    patience: Natural = 0
    """epochs in a row without the best validation loss that end training; 0 for no end"""
    max_epochs: MaxEpochs

    @field_validator("update_interval")
    @classmethod
    def _check_interval(cls, value: int, info: ValidationInfo) -> int:
        bptt = info.data.get("bptt", value)
        if value > bptt:
            raise ValueError(f"{value} is above bptt, {bptt}; lower it, or raise bptt")
        return value

    @field_validator("initialisation")
    @classmethod
    def _check_initialisation(cls, value: str) -> str:
        parse_initialisation(value)
        return value

    @field_validator(*_READ_WITH)
    @classmethod
    def _check_use(cls, value: Any, info: ValidationInfo) -> Any:
        option, wanted = _READ_WITH[str(info.field_name)]
        given = info.data.get(option, wanted[0])
        if given not in wanted and value != cls.model_fields[str(info.field_name)].default:
            raise ValueError(
                f"has no effect with {option} {given}; remove it, or write {option}: {' or '.join(wanted)}"
            )
        return value
