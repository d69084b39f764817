"""What the tests of protocols share: training to the end, metrics by name, and going on from a state."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.options import check_options
from reprise.records.record import Outcome
from reprise.training.checkpoint import decode, encode
from reprise.training.protocol import Training


def finish(training: Training) -> Outcome:
    """Trains to the end; the outcome."""
    while not training.finished:
        assert training.advance()
    return training.outcome()


def values(outcome: Outcome) -> dict[tuple[str, str], float]:
    """Metrics by split and name."""
    return {(m["split"], m["metric"]): m["value"] for m in outcome.metrics}


def saved(training: Training) -> bytes:
    """Its state, as on the disk."""
    return encode({"identity": {}, "state": copy.deepcopy(training.state())})


def states_of(training: Training, mark: str | None = None) -> list[tuple[Any, bytes]]:
    """Trains to the end: the state at the start and after every step, each beside what the attribute `mark` was."""
    states = []
    while True:
        states.append((getattr(training, mark) if mark else None, saved(training)))
        if training.finished:
            return states
        training.advance()


def goes_on(again: Training, state: bytes, whole: Training) -> None:
    """A training that takes up one of the states of `whole` comes to the same outcome."""
    again.restore(decode(state)["state"])
    assert finish(again) == whole.outcome()


def replicas_differ_and_repeat(train: Callable[[int], Training]) -> None:
    """The outcome is decided by the seed, and another with another."""
    one, two, again = (finish(train(seed)) for seed in (1, 2, 1))
    assert one == again
    assert one != two


def progress_of(training: Training) -> list[float]:
    """How much is done, at the start and after every step."""
    seen = [training.done]
    while not training.finished:
        assert training.advance()
        seen.append(training.done)
    return seen


def options_are_known(config: dict[str, Any]) -> None:
    """The registries take the options of the model and of the protocol as they are."""
    for section, name, registry in (("model", "name", MODELS), ("training", "protocol", PROTOCOLS)):
        entry = config[section]
        assert check_options(entry["options"], registry[entry[name]].options, "f", entry[name]) == entry["options"]
