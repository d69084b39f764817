"""Epochs over lines in random batches, Adam, the epoch of lowest validation loss: the training of document 000
(section 4).
"""

from __future__ import annotations

import copy
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.engines.gated_step import clipped
from reprise.engines.gso.choose import choose_packed_engine
from reprise.engines.gso.packing import by_length, pack
from reprise.options import COUNT, NOT_NEGATIVE, POSITIVE
from reprise.training.protocol import dtype_of, load_corpus
from reprise.training.protocols.gso_course import LineCourse, first_model

_EVALUATED_TOGETHER = 64


class LineEpochs(LineCourse):
    """The training of one replica; see `LineCourse`. UserError without a corpus, or with one that has no such fold."""

    TRAINS = ("gso", "first-order", "mi-rnn")
    PREDICTED = "all but the first of every line"
    OPTIONS = {
        "batch_size": COUNT,
        "optimiser": ("adam",),
        "learning_rate": POSITIVE,
        "clip_norm": NOT_NEGATIVE,  # 0 for none
        "max_epochs": COUNT,
        "loss_reduction": ("mean-tokens", "mean-lines"),
        "selection": ("best-valid",),
    }
    READS = ("matrix_law",)

    seconds = 0.5
    """How long a call works before it returns; nothing that is computed depends on it."""

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del device  # the engines compute on the CPU
        super().__init__(config["training"]["options"], seed, load_corpus(corpus), corpus)
        self.model = first_model(config["model"], len(self.vocabulary), seed).to(dtype_of(config))
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.kernel = choose_packed_engine(engine, self.model)
        self.engine = self.kernel.name
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.learning_rate, fused=True)
        self.next = 0  # the batch of the part that is read that comes next
        self.part = "train"
        self.loss = 0.0  # summed nats of the training lines of this epoch
        self._open(self.part)

    @property
    def done(self) -> float:
        if self.part == "test":
            return self.epoch
        share = self.next / max(1, len(self.batches))
        return self.epoch + (0.9 * share if self.part == "train" else 0.9 + 0.1 * share)

    def advance(self) -> str:
        """Reads the next batches of the part whose turn it is. Raises `Diverged` before the first epoch's end."""
        end = time.perf_counter() + self.seconds
        while self.next < len(self.batches):
            if self.part == "train":
                self._train()
            else:
                batch = self.batches[self.next]
                self.found.append((batch.places, *self.kernel.evaluate(batch)))
                self.next += 1
            if time.perf_counter() >= end:
                break
        if self.next == len(self.batches):
            self._close()
        return self._note()

    def _train(self) -> None:
        batch = self.batches[self.next]
        loss = self.kernel.train(batch, self.options["loss_reduction"])
        if not math.isfinite(loss):
            self.diverge("training loss", batch=self.next)
            self._open("test")
            return
        self.loss += loss
        if self.options["clip_norm"]:
            gradients = [parameter.grad for parameter in self.model.parameters()]
            factor = clipped(1.0, self.options["clip_norm"], gradients)
            for gradient in gradients:
                gradient.mul_(factor)
        self.optimiser.step()
        self.next += 1

    def _close(self) -> None:
        """Goes on to the next part; after the validation lines the epoch is over."""
        if self.part == "train":
            self._open("valid")
            return
        losses = self.losses(*(np.concatenate(column) for column in zip(*self.found, strict=True)))
        if self.part == "test":
            self.tested = losses
            return
        self.close_epoch(self.loss, losses, self.model.state_dict())
        self.loss = 0.0
        self._open("test" if self.trained else "train")

    def _open(self, part: str) -> None:
        """Packs the lines that are read next."""
        self.part, self.next, self.found = part, 0, []
        if part == "train":
            self.batches = pack(self.lines, self.order(), self.options["batch_size"])
            return
        if part == "test":
            self.model.load_state_dict(self.best["parameters"])
        lines = by_length(self.lines, self.parts[part])
        self.batches = pack(self.lines, lines, _EVALUATED_TOGETHER)

    def _note(self) -> str:
        if self.history:
            return f"valid {self.history[-1]['valid']:.4f}, best {self.best['valid']:.4f} nats/token"
        tokens = int(self.batches.rows[self.next]) if self.part == "train" else self.training_tokens
        return f"training loss {self.loss / max(1, tokens):.4f} nats/token"

    def state(self) -> dict[str, Any]:
        """Validation and test losses are not kept: a pass that was interrupted is made again, to the same bits."""
        return {
            **self.schedule_state(),
            "parameters": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "part": self.part,
            "next": self.next if self.part == "train" else 0,
            "loss": self.loss,
        }

    def restore(self, state: dict[str, Any]) -> None:
        state = copy.deepcopy(state)
        self.restore_schedule(state)
        self.loss = state["loss"]
        self.model.load_state_dict(state["parameters"])
        self.optimiser.load_state_dict(state["optimiser"])
        self._open(state["part"])
        self.next, self.tested = state["next"], None
