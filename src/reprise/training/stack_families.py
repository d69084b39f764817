"""The protocols that stacks train, those of document 001 in full: how a stack is built, fed and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reprise.errors import UserError
from reprise.kernels.stacked import Stack
from reprise.kernels.stacked_subsequences import StackedSubsequences
from reprise.kernels.stacked_text import DeviceText
from reprise.kernels.stacked_windows import StackedWindows, WindowText
from reprise.training.loop import Job
from reprise.training.protocol import load_words
from reprise.training.protocols import gated as batched_sgd
from reprise.training.protocols import rntn as subsequence_sgd
from reprise.training.schedule import HalvingSchedule
from reprise.training.stack_books import BookFamily
from reprise.training.stack_check import check_subsequences, check_windows, numbers_of
from reprise.training.stack_epochs import StackEpochs
from reprise.training.stack_lines import LineFamily
from reprise.training.stack_loglinear import LogLinearFamily
from reprise.training.stack_member import Member
from reprise.training.stack_palindromes import PalindromeFamily

_PIECE_OF_WINDOWS = 8
"""Windows of a piece of work; of an evaluation, as many of its programs."""


class _Halving:
    """What both protocols share: a corpus, and the schedule of every replica."""

    epochs = StackEpochs

    def __init__(self, corpus: Path, config: Mapping[str, Any]) -> None:
        self.corpus, self.options = load_words(corpus, config["training"]["protocol"]), config["training"]["options"]
        self.precision = config["precision"]
        self.dtype, self.tolerance = numbers_of(config)
        self.vocabulary = len(self.corpus.vocabulary)
        self.counts: dict[str, int] = {}

    def schedule(self, job: Job) -> HalvingSchedule:
        """The schedule of a replica, before its first epoch."""
        options = job.resolved.config["training"]["options"]
        return HalvingSchedule(options, self.counts, self.corpus.facts.get("source_nats", {}))


class SubsequenceFamily(_Halving):
    """Protocol subsequence-sgd."""

    def __init__(self, corpus: Path, config: Mapping[str, Any]) -> None:
        super().__init__(corpus, config)
        self.data = subsequence_sgd.texts_of(self.corpus, self.options)
        self.counts |= {split: data.tokens for split, data in self.data.items()}

    def model(self, config: dict[str, Any], seed: int) -> nn.Module:
        """The readable model with a replica's first weights."""
        return subsequence_sgd.initial_model(config, self.vocabulary, seed).to(self.dtype)

    def build(self, members: Sequence[Member], models: Sequence[nn.Module], device: torch.device) -> Stack:
        reductions, dropouts = (_options(members, name) for name in ("loss_reduction", "dropout"))
        longest = self.options["subsequence_length"]
        return StackedSubsequences(models, reductions, dropouts, longest, device)

    def texts(self, stack: StackedSubsequences) -> Mapping[str, DeviceText]:
        return {split: stack.text(data) for split, data in self.data.items()}

    def begin(self, stack: StackedSubsequences, members: Sequence[Member]) -> None:
        keys = [subsequence_sgd.dropout_key(m.job.replica, m.schedule.epoch) for m in members]
        stack.begin([m.learning_rate for m in members], keys)

    def enter(self, stack: StackedSubsequences, split: str) -> None:
        """Nothing: the first subsequence of a text resets the state."""

    def piece_end(self, stack: StackedSubsequences, text: DeviceText, split: str, first: int) -> int:
        return text.piece_end(first, stack.capacity)

    def carried(self, stack: StackedSubsequences) -> tuple[Tensor, ...]:
        return (stack.hidden,)

    def carry(self, stack: StackedSubsequences, carried: tuple[Tensor, ...], split: str) -> None:
        (stack.hidden,) = carried

    def check(
        self,
        stack: StackedSubsequences,
        members: Sequence[Member],
        models: Sequence[nn.Module],
        texts: Mapping[str, DeviceText],
    ) -> None:
        check_subsequences(stack, members, models, self.data["train"], texts["train"], self.tolerance)


class WindowFamily(_Halving):
    """Protocol batched-sgd."""

    def __init__(self, corpus: Path, config: Mapping[str, Any]) -> None:
        super().__init__(corpus, config)
        self.data = batched_sgd.texts_of(self.corpus, self.options, corpus)
        self.counts |= {split: y.numel() for split, (_, y) in self.data.items()}

    def model(self, config: dict[str, Any], seed: int) -> nn.Module:
        """The readable model with a replica's first weights."""
        return batched_sgd.initial_model(config, self.vocabulary, seed).to(self.dtype)

    def build(self, members: Sequence[Member], models: Sequence[nn.Module], device: torch.device) -> Stack:
        own = (_options(members, name) for name in ("loss_reduction", "dropout", "clip_norm"))
        return StackedWindows(models, *own, self.options["steps"], self.options["batch_size"], device)

    def texts(self, stack: StackedWindows) -> Mapping[str, WindowText]:
        return {split: stack.text(x, y) for split, (x, y) in self.data.items()}

    def begin(self, stack: StackedWindows, members: Sequence[Member]) -> None:
        keys = [batched_sgd.dropout_keys(m.job.replica, m.schedule.epoch) for m in members]
        stack.begin([m.learning_rate for m in members], keys)

    def enter(self, stack: StackedWindows, split: str) -> None:
        stack.reset(self.data[split][0].shape[1])

    def piece_end(self, stack: StackedWindows, text: WindowText, split: str, first: int) -> int:
        steps = stack.steps if split == "train" else stack.evaluated
        return min(first + _PIECE_OF_WINDOWS * steps, len(text))

    def carried(self, stack: StackedWindows) -> tuple[Tensor, ...]:
        return stack.state

    def carry(self, stack: StackedWindows, carried: tuple[Tensor, ...], split: str) -> None:
        stack.state = carried

    def check(
        self,
        stack: StackedWindows,
        members: Sequence[Member],
        models: Sequence[nn.Module],
        texts: Mapping[str, WindowText],
    ) -> None:
        check_windows(stack, members, models, self.data, texts, self.tolerance)


FAMILIES = {
    "subsequence-sgd": SubsequenceFamily,
    "batched-sgd": WindowFamily,
    "line-epochs": LineFamily,
    "windows": LogLinearFamily,
    "final-digit": PalindromeFamily,
    "character-windows": BookFamily,
}
_WITHOUT_CORPUS = ("final-digit",)


def family_of(config: Mapping[str, Any], corpus: Path | None) -> Any:
    """The family that a configuration trains with; UserError without the corpus that it needs."""
    if corpus is None and config["training"]["protocol"] not in _WITHOUT_CORPUS:
        raise UserError("this protocol needs a prepared corpus; name the folder with --corpora")
    return FAMILIES[config["training"]["protocol"]](corpus, config)


def _options(members: Sequence[Member], name: str) -> list[Any]:
    return [member.schedule.options[name] for member in members]
