"""Which replicas may train as one stack, and which of those that are missing come first.

Nothing here imports torch: the graph is built where it need not be installed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from reprise.errors import UserError
from reprise.files import is_there
from reprise.records.record import read_record
from reprise.records.resolved import Resolved

T = TypeVar("T")


@dataclass(frozen=True)
class Stackable:
    """The models of a protocol that a stack knows, and the options that its replicas have in common."""

    models: tuple[str, ...]
    of_model: tuple[str, ...]
    of_training: tuple[str, ...]
    of_data: tuple[str, ...] = ()


_STACKABLE = {
    "subsequence-sgd": Stackable(("r-rntn", "m-rnn"), ("hidden_size", "factors"), ("subsequence_length",)),
    "batched-sgd": Stackable(("gru-lm", "lstm-lm"), ("embedding_size", "hidden_size"), ("batch_size", "steps")),
    "line-epochs": Stackable(
        ("gso", "first-order", "mi-rnn"),
        ("hidden_size", "second_order_size", "input_term", "recurrent_term", "activation", "form"),
        ("batch_size",),
    ),
    "final-digit": Stackable(("elman", "lstm"), ("hidden_size",), ("batch_size",), ("length",)),
    "character-windows": Stackable(
        ("stacked-lstm",), ("hidden_size", "layers", "activation", "forget_bias"), ("batch_size", "length")
    ),
    "windows": Stackable(
        ("log-linear",),
        ("input", "output", "embedding_size", "hidden_size", "layers"),
        ("scheme", "window", "batch_size"),
    ),
}
"""By protocol; what is not here trains by itself."""


@dataclass(frozen=True)
class Present:
    """What the records that are there say: the epochs of replicas that count them, a line for each damaged record."""

    epochs: list[tuple[Resolved, float]]
    damaged: list[str]


@dataclass(frozen=True)
class Missing:
    """A replica that has no record. `rank` is how many replicas of its experiment come before it."""

    resolved: Resolved
    replica: int
    rank: int


def stack_key(resolved: Resolved) -> tuple[object, ...] | None:
    """Equal where experiments can train in one stack; None where only the protocol's own engine trains them."""
    if resolved.is_check:
        return None
    model, training = resolved.config["model"], resolved.config["training"]
    alike = _STACKABLE.get(training["protocol"])
    if alike is None or model["name"] not in alike.models:
        return None
    sizes = [model["options"].get(name) for name in alike.of_model]
    sizes += [training["options"].get(name) for name in alike.of_training]
    sizes += [resolved.config["data"]["options"].get(name) for name in alike.of_data]
    # Gated networks with one matrix each need no copy of a matrix for every word: they are stacked apart.
    alone = training["protocol"] == "batched-sgd" and model["options"]["matrices"] == 1
    return training["protocol"], resolved.corpus, resolved.config["precision"], model["name"], *sizes, alone


def trains_in_stack(resolved: Resolved, gpus: int) -> bool:
    """Whether the experiment trains in a stack: on a GPU, or where the configuration asks for that engine."""
    if stack_key(resolved) is None:
        return False
    on_gpu = gpus > 0 and resolved.device != "cpu"
    return resolved.engine == "stacked" or (resolved.engine == "auto" and on_gpu)


def present(experiments: Iterable[Resolved], roots: Sequence[Path]) -> Present:
    """Reads every record under `roots` once. Raises `OSError` where one cannot be read, which is no damage."""
    there = Present([], [])
    for resolved in experiments:
        # Two roots may be one folder, or have the record in common.
        paths = {
            os.path.realpath(root / path): (root / path, replica)
            for root in roots
            for replica, path in enumerate(resolved.record_paths())
            if is_there(root / path)
        }
        for path, replica in paths.values():
            try:
                metrics = read_record(path, resolved, replica)["metrics"]
            except UserError as error:
                # Meanwhile another process may have moved it to its place.
                if is_there(path):
                    there.damaged.append(str(error))
                continue
            there.epochs.extend((resolved, m["value"]) for m in metrics if m["metric"] == "epochs")
    return there


def missing(experiments: Iterable[Resolved], roots: Sequence[Path]) -> list[Missing]:
    """Replicas without a record under any of `roots`: of the experiments with the fewest finished replicas first."""
    found = []
    for resolved in experiments:
        there = [any(is_there(root / path) for root in roots) for path in resolved.record_paths()]
        gaps = [replica for replica, exists in enumerate(there) if not exists]
        found += [Missing(resolved, replica, sum(there) + i) for i, replica in enumerate(gaps)]
    return sorted(found, key=lambda one: one.rank)


def grouped(items: Iterable[T], resolved_of: Callable[[T], Resolved]) -> list[list[T]]:
    """Items that can train together, in the order of each group's first; what cannot be stacked is by itself."""
    groups: dict[object, list[T]] = {}
    for number, item in enumerate(items):
        key = stack_key(resolved_of(item))
        groups.setdefault(number if key is None else key, []).append(item)
    return list(groups.values())


def stacks_by_name(experiments: Iterable[Resolved]) -> dict[str, list[Resolved]]:
    """The experiments that train together, by a name that changes with their replicas or what decides their numbers.

    Whether they are trained already, or where, does not change it: every job of a pipeline finds the same names.
    """
    groups = grouped([e for e in experiments if stack_key(e) is not None], lambda e: e)
    return {_name(group): group for group in groups}


def _name(group: Sequence[Resolved]) -> str:
    paths = sorted(path for resolved in group for path in resolved.record_paths())
    return hashlib.sha256("\n".join(paths).encode()).hexdigest()[:12]


def in_parts(groups: Sequence[list[T]], part: int, parts: int) -> list[list[T]]:
    """The groups in the order in which the `part`-th of `parts` processes looks at them.

    First its share, every `parts`-th of a group that is large enough and every `parts`-th of the small ones, then what
    the other processes begin with: what they train by then is locked.
    """
    own, others, small = [], [], 0
    for group in groups:
        if len(group) >= parts:
            own.append(group[part::parts])
            others += [group[i::parts] for i in range(parts) if i != part]
        else:
            (own if small % parts == part else others).append(group)
            small += 1
    return own + others


def cut(groups: Iterable[list[T]], largest: int) -> list[list[T]]:
    """The groups in pieces of at most so many."""
    return [group[i : i + largest] for group in groups for i in range(0, len(group), largest)]


def usual_epochs(epochs: Iterable[tuple[Resolved, float]]) -> Callable[[Resolved], float | None]:
    """How many epochs an experiment will take: as finished ones of its paper and protocol did, as a share of the most.

    `epochs` are those of finished ones. Without any, the most it may take; None for an experiment that is not counted
    in epochs.
    """
    shares: dict[tuple[str, str], list[float]] = {}
    for resolved, value in epochs:
        if not resolved.is_check and (most := _most(resolved)):
            shares.setdefault(_kind(resolved), []).append(value / most)
    means: Mapping[tuple[str, str], float] = {kind: fmean(values) for kind, values in shares.items() if values}

    def expected(resolved: Resolved) -> float | None:
        most = None if resolved.is_check else _most(resolved)
        return None if most is None else most * means.get(_kind(resolved), 1.0)

    return expected


def _most(resolved: Resolved) -> int | None:
    return resolved.config["training"]["options"].get("max_epochs")


def _kind(resolved: Resolved) -> tuple[str, str]:
    return resolved.paper, resolved.config["training"]["protocol"]
