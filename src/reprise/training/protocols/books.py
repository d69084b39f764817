"""Training of document 002, question 2.1: windows of a book's characters from random places, RMSProp, texts meanwhile.

What the document leaves open is as in its author's code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.catalogue.models import MODELS
from reprise.engines.books import choose
from reprise.engines.optimisers import FIRST_MEAN_SQUARES, TensorFlowRMSProp, clip_by_global_norm
from reprise.errors import UserError
from reprise.models.deep_lstm import DeepLSTM, State, initialise
from reprise.options import COUNT, NATURAL, NOT_NEGATIVE, POSITIVE, SHARE, Number
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, Engine, Learner, dtype_of, engine_of, generator_for, load_corpus
from reprise.training.protocols.books_texts import BookTexts, Metric

_OFFSETS, _STARTS = 1, 2  # streams of random numbers
NEIGHBOURS = 100
"""Losses of so many steps before and after one are averaged with its own: a single batch's is noisy."""


class CharacterWindows(Learner):
    """Steps 0, 1, …, `steps` - 1 on `batch_size` windows of `length` characters, each of which predicts the next.

    `window_state` zero: windows begin anywhere, drawn with replacement, and are read from a zero state. carried: each
    of the streams begins at a random place and goes on where its last window ended, with its state; at the end of the
    book it goes on from the beginning, from zero.

    The loss that is logged, every `log_every` steps, is the mean over the step's own characters before its update, in
    nats; texts are written after the update, every `sample_every`.
    """

    TRAINS = ("stacked-lstm",)
    PREDICTED = "{length} of every window, all but its first; of a text that the model writes, all that it writes"
    OPTIONS = {
        "batch_size": COUNT,
        "length": COUNT,
        "window_state": ("zero", "carried"),
        "steps": COUNT,
        "learning_rate": POSITIVE,
        "decay": SHARE,
        "epsilon": NOT_NEGATIVE,
        "mean_square_start": ("one", "zero"),
        "clip_norm": POSITIVE,
        # Some step is logged within the hundred steps around every mark.
        "log_every": Number(int, at_least=1, at_most=100),
        "sample_every": COUNT,
        "table_every": COUNT,
        "samples": COUNT,
        "sample_length": COUNT,
        "final_length": COUNT,
        "completions": NATURAL,
        "temperature": POSITIVE,
    }
    GPU = True

    unit = "step"
    steps_at_once = 16  # a call of `advance`: about half a second

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del device  # texts are drawn and measured on the CPU, which trains as fast as they are needed
        loaded = load_corpus(corpus)
        self.options, self.seed = config["training"]["options"], seed
        self.total = self.options["steps"]
        self.tokens = torch.from_numpy(loaded.splits["train"].tokens.astype(np.int64))
        # As in the author's code, which leaves the last two characters out.
        self.places = len(self.tokens) - self.options["length"] - 2
        if self.places < 1:
            raise UserError(f"{corpus}: {len(self.tokens)} characters are too few for windows of `length`; lower it")
        self.source = loaded.facts.get("source_nats", {}).get("train")
        self.texts = BookTexts(loaded, self.options, seed)
        self.model = _first_model(config["model"], len(loaded.vocabulary), seed).to(dtype_of(config))
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.kernel = engine_of(engine, "character-windows", self.model, self.options, choose)
        self.engine = self.kernel.name
        self.optimiser = self.kernel if self.stacked else self._own_optimiser()
        self.carries = self.options["window_state"] == "carried"
        self.carried: State = self.model.initial_state(self.options["batch_size"])
        self.step = 0
        self.losses: dict[int, float] = {}
        self.measures: list[tuple[int, Metric]] = []
        self.samples: list[dict[str, Any]] = []

    def _own_optimiser(self) -> TensorFlowRMSProp:
        return TensorFlowRMSProp(
            self.model.parameters(),
            learning_rate=self.options["learning_rate"],
            decay=self.options["decay"],
            epsilon=self.options["epsilon"],
            start=FIRST_MEAN_SQUARES[self.options["mean_square_start"]],
        )

    @property
    def finished(self) -> bool:
        return self.step >= self.total

    @property
    def done(self) -> float:
        return self.step

    def advance(self) -> str:
        """Some steps. Raises `Diverged` where a loss is not finite."""
        for _ in range(min(self.steps_at_once, self.total - self.step)):
            loss = self._step()
        return f"loss {loss:.4f} nats/character"

    def _step(self) -> float:
        places, fresh = self.places_of(self.step)
        state = self.model.initial_state(len(places))
        if self.carries:
            keep = (~fresh)[:, None].to(self.carried[0][0])
            state = tuple((h * keep, c * keep) for h, c in self.carried)
        loss, self.carried = self._update(*self.windows(places), state)
        if not math.isfinite(loss):
            raise Diverged(step=self.step, quantity="training loss")
        if self.step % self.options["log_every"] == 0:
            self.losses[self.step] = round(loss, 6)
        if self.step % self.options["sample_every"] == 0:
            metrics, samples = self.texts.while_training(self.readable(), self.step)
            # A step that goes astray shows in the texts before it shows in a loss: no record holds what is no number.
            self.measures += [(self.step, metric) for metric in metrics if math.isfinite(metric.value)]
            self.samples += samples
        self.step += 1
        return loss

    def _update(self, x: Tensor, y: Tensor, state: State) -> tuple[float, State]:
        """One step on characters and their next ones, (T, B) each: the mean loss, nats, before it; the last state."""
        if self.stacked:
            return self.kernel.update(x, y, state, self.options["learning_rate"])
        found = self.kernel.loss_and_gradients(x, y, state)
        clip_by_global_norm(self.model.parameters(), self.options["clip_norm"])
        self.optimiser.step()
        return found

    def places_of(self, step: int) -> tuple[Tensor, Tensor]:
        """Where the windows of a step begin, (B,) int64, and which of them begin anew."""
        B, T = self.options["batch_size"], self.options["length"]
        stream = (_STARTS,) if self.carries else (_OFFSETS, step)
        numbers = counters.uniform32(counters.key(self.seed, *stream), 0, B).astype(np.int64)
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

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "losses": dict(self.losses),
            "measures": [(step, asdict(metric)) for step, metric in self.measures],
            "samples": list(self.samples),
            **self.learnt(),
            "carried": [part.clone() for pair in self.carried for part in pair],
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.step, self.losses, self.samples = state["step"], dict(state["losses"]), list(state["samples"])
        self.measures = [(step, Metric(**metric)) for step, metric in state["measures"]]
        self.restore_learnt(state)
        self.carried = tuple(zip(state["carried"][::2], state["carried"][1::2], strict=True))

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
        of_texts, samples = self.texts.at_the_end(self.readable(), last, x)
        return Outcome([asdict(m) for m in (*metrics, *of_texts)], curves, [*self.samples, *samples])

    def _mean_loss(self, name: str, first: int, last: int) -> Metric:
        losses = [loss for step, loss in self.losses.items() if first <= step <= last]
        n = len(losses) * self.options["batch_size"] * self.options["length"]
        return Metric("train", name, sum(losses) / len(losses), "nats/character", n)


def _first_model(model: Mapping[str, Any], vocabulary: int, seed: int) -> DeepLSTM:
    """The readable model that a configuration names, with a replica's first weights in float32."""
    made = MODELS[model["name"]].build(vocabulary=vocabulary, **model["options"])
    initialise(made, generator_for(seed, "weights"))
    return made


def _curve(split: str, metric: str, unit: str, x: list[int], y: list[float]) -> dict[str, Any]:
    return {"split": split, "metric": metric, "unit": unit, "axis": "step", "x": x, "y": y}
