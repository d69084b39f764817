"""Training runs that went wrong, counted by experiment: those that diverged and those that became unstable."""

from collections.abc import Iterable
from dataclasses import dataclass

from reprise.evidence.load import DIVERGED_EPOCH
from reprise.evidence.runs import Replica, Runs

RISE = 0.3
"""A training run became unstable if its validation loss rose by more than so many nats above its lowest so far."""


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
            experiment.name,
            experiment.title,
            len(experiment.replicas),
            sum(map(_has_diverged, experiment.replicas)),
            sum(map(_is_unstable, experiment.replicas)),
        )
        for experiment in runs
        if experiment.learns and experiment.replicas
    ]


def _has_diverged(replica: Replica) -> bool:
    """Return whether the loss stopped being finite; document 000's protocol then still tests the best epoch."""
    return not replica.finished or DIVERGED_EPOCH in replica.metrics


def _is_unstable(replica: Replica) -> bool:
    return not _has_diverged(replica) and replica.rise is not None and replica.rise > RISE
