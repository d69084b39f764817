"""Protocol character-windows as stacks: how a stack of document 002's character models is built, fed and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from reprise.data.corpus import Corpus
from reprise.engines.books.layerwise import AutogradEngine
from reprise.kernels.stacked_books import StackedBooks
from reprise.kernels.stacked_tensorflow_rmsprop import Law
from reprise.models.deep_lstm import StackedLSTM
from reprise.training.loop import Job
from reprise.training.protocols.books_course import BookCourse, first_model
from reprise.training.rmsprop import FIRST_MEAN_SQUARES, TensorFlowRMSProp, clip_by_global_norm
from reprise.training.stack_check import Made, different, hold, numbers_of
from reprise.training.stack_member import Member
from reprise.training.stack_steps import ROUND, StackSteps

_SPAN = 16
"""Steps of a piece of work."""

STEPS = 3
"""Of the check: the program comes up three times, called, captured and replayed."""

_RATE, _EPSILON = 0.1, 1.0
"""With so large an epsilon a wrong gradient shows in the update, and steps are no larger than those of SGD."""


class BookFamily:
    """Replicas read one book, each windows of its own."""

    epochs = StackSteps

    def __init__(self, corpus: Path, config: Mapping[str, Any]) -> None:
        self.corpus, self.path = Corpus.load(corpus), corpus
        self.options = config["training"]["options"]
        self.dtype, self.tolerance = numbers_of(config)

    def schedule(self, job: Job) -> BookCourse:
        """The course of a replica, before its first step; UserError where the book is too short."""
        return BookCourse(job.resolved.config, job.replica, self.corpus, self.path, self.dtype)

    def model(self, config: dict[str, Any], seed: int) -> nn.Module:
        """The readable model with a replica's first weights."""
        return first_model(config, len(self.corpus.vocabulary), seed).to(self.dtype)

    def build(self, members: Sequence[Member], models: Sequence[nn.Module], device: torch.device) -> StackedBooks:
        laws = [_law_of(member.schedule.options) for member in members]
        carries = [member.schedule.carries for member in members]
        book = self.corpus.splits["train"].tokens
        places = members[0].schedule.places
        sizes = places, self.options["length"], self.options["batch_size"], _SPAN, ROUND
        return StackedBooks(models, laws, carries, book, *sizes, device)

    def feed(self, stack: StackedBooks, members: Sequence[Member], first: int, count: int) -> None:
        """The keys of the next steps' windows, `first` steps after the courses' own; numbers are made on the device."""
        keys = np.zeros((count, len(members)), np.uint64)
        steps = np.zeros(keys.shape, np.int64)
        for r, member in enumerate(members):
            course = member.schedule
            for k in range(count):
                steps[k, r] = course.step + first + k
                keys[k, r] = course.key_of_places(int(steps[k, r]))
        stack.feed(keys, steps)

    def check(self, stack: StackedBooks, members: Sequence[Member], models: Sequence[nn.Module]) -> None:
        """Holds the stack's first steps to the readable models; raises `StackDisagrees`. Changes parameters."""
        stack.begin([_RATE] * len(members), _EPSILON)
        for k in range(STEPS):
            keys = np.array([[member.schedule.key_of_places(k) for member in members]], np.uint64)
            stack.feed(keys, np.full(keys.shape, k))
            stack.train(1, k)
        found = stack.results(STEPS)
        for i in different(members):
            course = members[i].schedule

            def reference(model: StackedLSTM, course: BookCourse = course) -> Made:
                engine, losses, law = AutogradEngine(model), [], _law_of(course.options)
                how = {"decay": law.decay, "epsilon": _EPSILON, "start": law.start}
                optimiser = TensorFlowRMSProp(model.parameters(), learning_rate=_RATE, **how)
                state = zero = model.initial_state(course.options["batch_size"])
                device = model.b_out.device
                for k in range(STEPS):
                    places, fresh = course.places_of(k)
                    if k:
                        anew = fresh[:, None].to(device)
                        state = tuple(
                            tuple(torch.where(anew, other, own) for own, other in zip(pair, others, strict=True))
                            for pair, others in zip(state, zero, strict=True)
                        )
                    x, y = (part.to(device) for part in course.windows(places))
                    loss, state = engine.loss_and_gradients(x, y, state)
                    losses.append(loss)
                    clip_by_global_norm(model.parameters(), law.clip_norm)
                    optimiser.step()
                return Made([sum(losses), losses[-1]], model.state_dict())

            (losses,) = found[i]
            made = Made([sum(losses), losses[-1]], stack.export(i))
            hold(members[i].job.title, models[i], made, reference, STEPS, self.tolerance, stack.device)


def _law_of(options: Mapping[str, Any]) -> Law:
    start = FIRST_MEAN_SQUARES[options["mean_square_start"]]
    return Law(options["clip_norm"], options["decay"], options["epsilon"], start)
