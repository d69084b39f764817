"""What the training loop asks of a protocol: units of work that can be saved between, and an outcome at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from reprise.catalogue.models import ModelRefused
from reprise.catalogue.protocols import PROTOCOLS
from reprise.data.corpus import SENTENCE_END, Corpus
from reprise.engines.stack import Member, Stack, join
from reprise.errors import UserError
from reprise.records.record import Outcome
from reprise.records.resolved import Resolved
from reprise.registered import load

_SPLITS = ("train", "valid", "test")
"""Also, as 0, 1 and 2, the parts of a fold in a corpus's `extra["part"]` (folds, lines)."""


Engine = str | Stack
"""What a protocol is told to compute with: an engine by its name, or the stack that its replica is a member of."""


class Diverged(Exception):
    """A loss or a parameter is no longer finite. `where` says of what, and in which epoch (from 1) or step (from 0)."""

    def __init__(self, **where: Any):
        super().__init__(", ".join(f"{k} {v}" for k, v in where.items()))
        self.where = where


class Training(Protocol):
    """One replica's training. Everything that decides its numbers is in `state()`."""

    unit: str
    total: int | None
    parameters: int
    engine: str

    @property
    def finished(self) -> bool: ...
    @property
    def done(self) -> float: ...
    def advance(self) -> str:
        """Does one piece of work, of about a second at most; returns a note on it. Raises `Diverged`."""
        ...

    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    def outcome(self) -> Outcome: ...


class Learner:
    """What learns in a training: the readable `model` with an `optimiser` of its own, or a member of a stack.

    A member has the parameters itself, and is the optimiser as well. Protocols inherit this that make their updates.
    """

    model: nn.Module
    kernel: Any
    optimiser: Any

    @property
    def stacked(self) -> bool:
        return isinstance(self.kernel, Member)

    def readable(self) -> nn.Module:
        """The readable model with the parameters as they are now."""
        if self.stacked:
            self.model.load_state_dict(self.kernel.export())
        return self.model

    def take_parameters(self, parameters: Mapping[str, Tensor]) -> None:
        """Goes on from these, a state_dict of the readable model."""
        self.model.load_state_dict(parameters)
        if self.stacked:
            self.kernel.load(parameters)

    def learnt(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"parameters": self.readable().state_dict(), "optimiser": self.optimiser.state_dict()}

    def restore_learnt(self, state: Mapping[str, Any]) -> None:
        self.take_parameters(state["parameters"])
        self.optimiser.load_state_dict(state["optimiser"])


def engine_of(
    engine: Engine,
    protocol: str,
    model: nn.Module,
    options: Mapping[str, Any],
    choose: Callable[[str, nn.Module], Any],
) -> Any:
    """A member of the stack that trains `protocol` with these options, or the engine that `choose` has by this name."""
    return join(engine, protocol, model, options) if isinstance(engine, Stack) else choose(engine, model)


def build_training(
    resolved: Resolved, replica: int, corpus: Path | None, engine: Engine, device: torch.device
) -> Training:
    """The training that `resolved.config` names, before its first step; with a stack for an engine, a member of it."""
    protocol = resolved.config["training"]["protocol"]
    made = load(PROTOCOLS[protocol].target, f"src/reprise/catalogue/protocols.py: key PROTOCOLS[{protocol!r}]")
    with told_of(resolved):
        return made(resolved.config, replica, corpus, engine, device)


@contextmanager
def told_of(resolved: Resolved) -> Iterator[None]:
    """Around what makes the experiment's model: one that is refused is a `UserError` that names the experiment."""
    try:
        yield
    except ModelRefused as error:
        file = f"config/papers/{resolved.paper}.yaml"
        model = resolved.config["model"]["name"]
        raise UserError(f"{resolved.id}: model {model}: {error}; change the option in {file}") from error


def load_corpus(path: Path | None) -> Corpus:
    """The corpus that a training was given; UserError without one, and for a file that is none."""
    if path is None:
        raise UserError("this protocol needs a prepared corpus; name it with --corpus")
    return Corpus.load(path)


def load_words(path: Path | None, protocol: str) -> Corpus:
    """The same for a protocol of words: three splits of sentences that end with `</s>`, or of running text."""
    corpus = load_corpus(path)
    if lacking := [split for split in _SPLITS if split not in corpus.splits]:
        raise UserError(f"{path}: no {lacking[0]} split, which the protocol {protocol} needs; name another dataset")
    if corpus.boundaries not in (SENTENCE_END, "none"):
        raise UserError(f"{path}: lines of symbols, where the protocol {protocol} reads words; name another dataset")
    return corpus


def load_sentences(path: Path | None, protocol: str) -> Corpus:
    """The same for a protocol that needs to know where sentences end."""
    corpus = load_words(path, protocol)
    if corpus.boundaries == "none":
        raise UserError(f"{path}: running text has no sentences; the protocol {protocol} needs them")
    return corpus


def parts_of_fold(corpus: Corpus, fold: int, path: Path, protocol: str) -> dict[str, np.ndarray]:
    """Numbers of the lines of each part, by name: which a replica trains on, which choose its epoch, which test it.

    UserError where the corpus, which lies at `path` and which the `protocol` reads, has no such fold, or a part has no
    token to predict.
    """
    folds = corpus.extra.get("part")
    if folds is None:
        raise UserError(f"{path}: this corpus has no folds; the protocol {protocol} needs them")
    if fold >= len(folds):
        raise UserError(f"replica {fold}: {path} has {len(folds)} folds, one a replica; ask for fewer replicas")
    parts = {name: np.flatnonzero(folds[fold] == number) for number, name in enumerate(_SPLITS)}
    lengths = np.diff(corpus.splits["lines"].offsets)
    for name, lines in parts.items():
        if not (lengths[lines] > 1).any():
            raise UserError(f"{path}: the {name} lines of fold {fold} have nothing to predict; use more lines")
    return parts


def generator_for(seed: int, stream: str) -> torch.Generator:
    """A CPU generator for one purpose ("weights", "data", …) of one replica; streams do not touch one another."""
    digest = hashlib.sha256(f"{seed}/{stream}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def dtype_of(config: dict[str, Any]) -> torch.dtype:
    """The tensors' type; UserError for a precision that is not known."""
    known = {"float32": torch.float32, "float64": torch.float64}
    precision = config["precision"]
    if precision not in known:
        raise UserError(f"precision: {precision!r} is not known; write one of {', '.join(known)}")
    return known[precision]
