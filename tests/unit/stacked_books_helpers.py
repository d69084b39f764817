"""What the tests of stacks on a book share: a text, models that differ, a course each, the training of one alone."""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import torch
from windows_helpers import config

from reprise.data.corpus import Corpus, Split
from reprise.engines.books.layerwise import AutogradEngine
from reprise.kernels.stacked_books import StackedBooks
from reprise.kernels.stacked_tensorflow_rmsprop import Law
from reprise.training.protocols.books_course import BookCourse, first_model
from reprise.training.rmsprop import TensorFlowRMSProp, clip_by_global_norm

CPU = torch.device("cpu")
SYMBOLS = "abcdefg h,"
BATCH, LENGTH, SPAN = 5, 7, 100
ALL = (0, 1, 2)
RATES = (0.0025, 0.01, 0.005)
LAWS = (Law(5.0, 0.96, 1e-10, 1.0), Law(0.2, 0.9, 1e-3, 1.0), Law(0.05, 0.96, 1e-4, 0.0))
STATES = ("zero", "carried", "carried")


@cache
def book():
    """150 characters: streams come to its end."""
    tokens = np.random.default_rng(3).integers(0, len(SYMBOLS), 150).astype(np.int32)
    split = Split(tokens, np.array([0, 150], np.int64))
    return Corpus("book", {"train": split}, list(SYMBOLS), np.bincount(tokens, minlength=len(SYMBOLS)))


def course_of(r, activation="relu", layers=2):
    settings = config(
        {"activation": activation, "layers": layers}, batch_size=BATCH, length=LENGTH, window_state=STATES[r]
    )
    return BookCourse(settings, r, book(), None, torch.float32)


def models_of(activation="relu", layers=2, dtype=torch.float32):
    options = config({"activation": activation, "layers": layers})["model"]
    return [first_model(options, len(SYMBOLS), seed).to(dtype) for seed in ALL]


def stack_of(models, which=ALL, device=CPU, capture=True):
    """A stack of the replicas `which`, whose models these are."""
    tokens = book().splits["train"].tokens
    laws, carried = [LAWS[r] for r in which], [STATES[r] == "carried" for r in which]
    sizes = len(tokens) - LENGTH - 2, LENGTH, BATCH, SPAN, SPAN
    stack = StackedBooks(models, laws, carried, tokens, *sizes, device, capture)
    stack.begin([RATES[r] for r in which])
    return stack


def train(stack, first, last, which=ALL):
    """Steps first .. last-1, fed at once."""
    steps = np.tile(np.arange(first, last)[:, None], len(which))
    courses = [course_of(r) for r in which]
    keys = np.array([[course.key_of_places(step) for course in courses] for step in range(first, last)], np.uint64)
    stack.feed(keys, steps)
    stack.train(last - first, first)


def alone(model, r, steps, rate=None, epsilon=None, clip=None):
    """Replica r after the same training by autograd, its losses step by step and its last state."""
    model, course, law = copy.deepcopy(model), course_of(r), LAWS[r]
    engine, losses = AutogradEngine(model), []
    how = {"decay": law.decay, "epsilon": epsilon or law.epsilon, "start": law.start}
    optimiser = TensorFlowRMSProp(model.parameters(), learning_rate=rate or RATES[r], **how)
    after = model.initial_state(BATCH)
    for step in range(steps):
        places, fresh = course.places_of(step)
        keep = (~fresh)[:, None].to(model.b_out.dtype)
        state = tuple((h * keep, c * keep) for h, c in after)
        loss, after = engine.loss_and_gradients(*course.windows(places), state)
        losses.append(loss)
        clip_by_global_norm(model.parameters(), clip or law.clip_norm)
        optimiser.step()
    return model, losses, after
