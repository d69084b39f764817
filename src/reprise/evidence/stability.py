"""Trainings that went wrong, counted by experiment: those that diverged and those that became unstable."""

from collections.abc import Iterable
from dataclasses import dataclass

from reprise.evidence.runs import Runs

RISE = 0.3
"""By so many nats a validation loss lies above an earlier one where a training is said to have become unstable."""


@dataclass(frozen=True)
class Stability:
    """How many training runs an experiment has, how many of them diverged, and how many finished, but were unstable."""

    experiment: str
    title: str
    trained: int
    diverged: int
    unstable: int


def count_unstable(runs: Iterable[Runs]) -> list[Stability]:
    """Count the training runs of each experiment and alternative that has any."""
    return [
        Stability(
            of.name,
            of.title,
            len(of.replicas),
            of.diverged,
            sum(replica.rise is not None and replica.rise > RISE for replica in of.finished),
        )
        for of in runs
        if of.learns and of.replicas
    ]
