"""Protocol windows as stacks: how a stack of document 004's networks is built, fed and checked.

In one stack are replicas and experiments of one corpus, sizes, scheme, window and batch that have one-hot vectors in
the same places: the RNN with and without b; all LL-RNNs whatever their M, features, background and identities. Those of
smaller M are filled up to the largest (`kernels/stacked_features.py`). The
controls with one-hot vectors on one side alone, or of other sizes, are stacks of their own. There is no experiment of
this protocol that a stack does not take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from reprise.data.corpus import Corpus
from reprise.kernels.stacked_loglinear import Room, StackedLogLinear
from reprise.kernels.stacked_loglinear_text import WindowPieces
from reprise.models.lexicon import Lexicon
from reprise.training.loop import Job
from reprise.training.protocols.loglinear_course import END, EPOCH, WindowCourse, initial_model
from reprise.training.stack_check import numbers_of
from reprise.training.stack_check_loglinear import check_loglinear
from reprise.training.stack_member import Member
from reprise.training.stack_window_epochs import StackWindowEpochs
from reprise.training.stack_window_texts import StackWindowTexts


class LogLinearFamily:
    """What the stacks of this protocol do in their own way."""

    epochs = StackWindowEpochs

    def __init__(self, corpus: Path, config: Mapping[str, Any]) -> None:
        self.corpus, self.path = Corpus.load(corpus), corpus
        self.lexicon, self.carried = Lexicon.of(self.corpus), config["training"]["options"]["scheme"] == "streams"
        self.dtype, self.tolerance = numbers_of(config)
        self.counts: dict[str, int] = {}

    def schedule(self, job: Job) -> WindowCourse:
        """The course of a replica, before its first epoch; UserError where the corpus does not fit."""
        course = WindowCourse(job.resolved.config["training"]["options"], job.replica, self.corpus, self.path)
        self.counts |= course.counts
        return course

    def model(self, config: dict[str, Any], seed: int) -> nn.Module:
        """The readable model with a replica's first weights."""
        return initial_model(config, self.lexicon, seed).to(self.dtype)

    def build(self, members: Sequence[Member], models: Sequence[nn.Module], device: torch.device) -> StackedLogLinear:
        course = members[0].schedule
        self.texts = StackWindowTexts(self.corpus, course.text)
        names = (*EPOCH, *END[: 2 if course.pairs else 1])
        texts = [self.text(members, name) for name in names]
        room = Room(
            shapes=tuple({shape for text in texts for shape in (text.shape, text.last)}),
            entries=max(text.starts.shape[1] for text in texts),
            pieces=self.texts.most,
            pairs=len(course.pairs or ()),
        )
        return StackedLogLinear(models, self.texts.tokens, self.carried, room, device)

    def text(self, members: Sequence[Member], name: str) -> WindowPieces:
        """What all members read next; those in training read the training windows in the order of their epoch."""
        if name == "train":
            return self.texts.training([] if self.carried else [_order(member.schedule) for member in members])
        if name == END[1]:
            return self.texts.judged(members[0].schedule.pairs)
        return self.texts.reading(name)

    def begin(self, stack: StackedLogLinear, members: Sequence[Member]) -> None:
        """Tells the stack the rates and constants of RMSprop."""
        options = [member.schedule.options for member in members]
        rates = [member.learning_rate for member in members]
        stack.begin(rates, *([own[name] for own in options] for name in ("rho", "epsilon")))

    def check(self, stack: StackedLogLinear, members: Sequence[Member], models: Sequence[nn.Module]) -> None:
        """Holds the stack's first steps to the readable models; raises `StackDisagrees`. Changes parameters."""
        texts = [self.text(members, name) for name in ("train", "valid")]
        check_loglinear(stack, members, models, self.texts.tokens, texts, self.tolerance)


def _order(course: WindowCourse) -> np.ndarray:
    """Of the training windows; once training is over, any: nothing is learnt of them."""
    if course.stopped:
        return np.arange(course.counts["train"])
    return course.text.order(course.epoch).numpy()
