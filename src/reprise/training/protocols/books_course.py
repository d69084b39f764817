"""What a training on windows of a book knows of its course, whatever computes it: document 002, question 2.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.catalogue.models import MODELS
from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.models.deep_lstm import StackedLSTM, initialise
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, generator_for
from reprise.training.protocols.books_texts import BookTexts, Metric
from reprise.training.protocols.step_course import StepCourse

_OFFSETS, _STARTS = 1, 2  # streams of random numbers
NEIGHBOURS = 100
"""Losses of so many steps before and after one are averaged with its own: a single batch's is noisy."""


class BookCourse(StepCourse):
    """Knows where the windows of a step begin, and keeps losses and texts.

    The loss that is logged, every `log_every` steps, is the mean over the step's own characters before its update, in
    nats; texts are written after the update, every `sample_every`, by `model`, whose parameters are those of then.
    """

    def __init__(self, config: Mapping[str, Any], seed: int, corpus: Corpus, path: Path, dtype: torch.dtype) -> None:
        """`config`: of the experiment, resolved; `path`: where the corpus lies, for messages."""
        super().__init__(config["training"]["options"])
        self.seed = seed
        self.tokens = torch.from_numpy(corpus.splits["train"].tokens.astype(np.int64))
        # As in the author's code, which leaves the last two characters out.
        self.places = len(self.tokens) - self.options["length"] - 2
        if self.places < 1:
            raise UserError(f"{path}: {len(self.tokens)} characters are too few for windows of `length`; lower it")
        self.source = corpus.facts.get("source_nats", {}).get("train")
        self.texts = BookTexts(corpus, self.options, seed)
        self.model = first_model(config["model"], len(corpus.vocabulary), seed).to(dtype)
        self.carries = self.options["window_state"] == "carried"
        self.losses: dict[int, float] = {}
        self.measures: list[tuple[int, Metric]] = []
        self.samples: list[dict[str, Any]] = []

    @property
    def loss(self) -> float:
        """The last that was logged."""
        return list(self.losses.values())[-1]

    @property
    def until(self) -> int:
        """The next step after which somebody has to see the network's parameters."""
        every = self.options["sample_every"]
        return min(self.total, ((self.step - 1) // every + 1) * every + 1)

    @property
    def due(self) -> bool:
        """Whether somebody has to see the network's parameters: to write texts, or because they are the last."""
        return self.finished or self._writes

    @property
    def _writes(self) -> bool:
        return self.step > 0 and (self.step - 1) % self.options["sample_every"] == 0

    def key_of_places(self, step: int) -> int:
        """The key of the counters that say where the windows of a step begin, or the streams that it goes on with."""
        return counters.key(self.seed, _STARTS) if self.carries else counters.key(self.seed, _OFFSETS, step)

    def take(self, losses: Sequence[float]) -> None:
        """Takes the mean losses, nats, of the next steps. Raises `Diverged` at the first that is not finite."""
        for loss in losses:
            if not math.isfinite(loss):
                raise Diverged(step=self.step, quantity="training loss")
            if self.step % self.options["log_every"] == 0:
                self.losses[self.step] = round(loss, 6)
            self.step += 1

    def look(self, parameters: Mapping[str, Tensor]) -> None:
        """Sees the parameters after the last step, where that is due."""
        self.model.load_state_dict(parameters)
        self.write_texts()

    def write_texts(self) -> None:
        """Has the model write, after a step that asks for it."""
        if self._writes:
            step = self.step - 1
            metrics, samples = self.texts.while_training(self.model, step)
            # A step that goes astray shows in the texts before it shows in a loss: no record holds what is no number.
            self.measures += [(step, metric) for metric in metrics if math.isfinite(metric.value)]
            self.samples += samples

    def places_of(self, step: int) -> tuple[Tensor, Tensor]:
        """Where the windows of a step begin, (B,) int64, and which of them begin anew."""
        B, T = self.options["batch_size"], self.options["length"]
        numbers = counters.uniform32(self.key_of_places(step), 0, B).astype(np.int64)
        # The product with a 32-bit number is exact in 64 bits: a book has less than 2**31 characters.
        places = torch.from_numpy(numbers) * self.places >> 32
        if not self.carries:
            return places, torch.ones(B, dtype=torch.bool)
        places = (places + step * T) % self.places
        return places, places < T if step else torch.ones(B, dtype=torch.bool)

    def windows(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Characters and their next ones, (T, B) each."""
        spans = self.tokens[torch.arange(self.options["length"] + 1)[:, None] + places]
        return spans[:-1], spans[1:]

    def schedule_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the course."""
        return {
            "step": self.step,
            "losses": dict(self.losses),
            "measures": [(step, asdict(metric)) for step, metric in self.measures],
            "samples": list(self.samples),
        }

    def restore_schedule(self, state: Mapping[str, Any]) -> None:
        self.step, self.losses, self.samples = state["step"], dict(state["losses"]), list(state["samples"])
        self.measures = [(step, Metric(**metric)) for step, metric in state["measures"]]

    def outcome(self) -> Outcome:
        """Losses near every mark and of the last steps, and what the texts show; see `BookTexts`.

        Mark k is step k * `table_every`, a row of the document's tables; its loss that of its NEIGHBOURS too.
        """
        steps = list(self.losses)
        curves = [_curve("train", "cross_entropy", "nats/character", steps, list(self.losses.values()))]
        found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
        for step, m in self.measures:
            found.setdefault((m.split, m.metric, m.unit), []).append((step, round(m.value, 6)))
        curves += [_curve(*names, [x for x, _ in points], [y for _, y in points]) for names, points in found.items()]
        if not self.finished:
            return Outcome(curves=curves, samples=self.samples)
        every, last = self.options["table_every"], self.total - 1
        marks = enumerate(range(0, self.total, every))
        near = {f"cross_entropy_mark_{k}": (s - NEIGHBOURS, s + NEIGHBOURS) for k, s in marks}
        near["final_cross_entropy"] = (last - 2 * NEIGHBOURS, last)
        metrics = [self._mean_loss(name, *bounds) for name, bounds in near.items()]
        if self.source is not None:
            metrics.append(Metric("train", "source_entropy", self.source, "nats/character", len(self.tokens)))
        x, _ = self.windows(self.places_of(self.total)[0])
        of_texts, samples = self.texts.at_the_end(self.model, last, x)
        return Outcome([asdict(m) for m in (*metrics, *of_texts)], curves, [*self.samples, *samples])

    def _mean_loss(self, name: str, first: int, last: int) -> Metric:
        losses = [loss for step, loss in self.losses.items() if first <= step <= last]
        n = len(losses) * self.options["batch_size"] * self.options["length"]
        return Metric("train", name, sum(losses) / len(losses), "nats/character", n)


def first_model(model: Mapping[str, Any], vocabulary: int, seed: int) -> StackedLSTM:
    """The readable model that a configuration names, with a replica's first weights in float32."""
    made = MODELS[model["name"]].build(vocabulary=vocabulary, **model["options"])
    initialise(made, generator_for(seed, "weights"))
    return made


def _curve(split: str, metric: str, unit: str, x: list[int], y: list[float]) -> dict[str, Any]:
    return {"split": split, "metric": metric, "unit": unit, "axis": "step", "x": x, "y": y}
