"""The palindrome task of document 002, part 1: read T-1 digits, predict the last, a fresh batch every step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reprise.catalogue.models import MODELS
from reprise.data.synthetic.palindromes import DIGITS, palindromes
from reprise.engines.palindromes import choose
from reprise.models.initialisation import initialise_by_fan_in
from reprise.options import COUNT, POSITIVE
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, Engine, Learner, dtype_of, engine_of, generator_for

_UNITS = {"cross_entropy": "nats/token", "accuracy": "share"}


class FinalDigit(Learner):
    """Steps 0, 1, …, `steps` - 1: forward on a fresh batch, log every `log_every` steps, clip, Adam.

    As in the author's code the loss and accuracy that are logged are those of the step's own batch before its update.
    """

    TRAINS = ("elman", "lstm")
    PREDICTED = "the last one of every palindrome"
    OPTIONS = {
        "steps": COUNT,
        "batch_size": COUNT,
        "optimiser": ("adam",),
        "learning_rate": POSITIVE,
        "clip_norm": POSITIVE,
        "log_every": COUNT,
    }
    GPU = True

    unit = "step"

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del corpus  # the batches are drawn as they are needed
        self.options, self.device = config["training"]["options"], device
        self.total, self.length = self.options["steps"], config["data"]["options"]["length"]
        self.model = _first_model(config["model"], seed).to(device=device, dtype=dtype_of(config))
        self.kernel = engine_of(engine, "final-digit", self.model, self.options, choose)
        self.engine = self.kernel.name
        self.parameters = sum(p.numel() for p in self.model.parameters())
        rate = self.options["learning_rate"]
        self.optimiser = self.kernel if self.stacked else torch.optim.Adam(self.model.parameters(), lr=rate)
        self.data = generator_for(seed, "data")
        self.step = 0
        self.log: dict[str, list[float]] = {"step": [], "cross_entropy": [], "accuracy": []}

    @property
    def finished(self) -> bool:
        return self.step >= self.total

    @property
    def done(self) -> float:
        return self.step

    def advance(self) -> str:
        """One step. Raises `Diverged` where the loss is to be logged and not finite."""
        loss, right = self._update(*palindromes(self.length, self.options["batch_size"], self.data))
        if self.step % self.options["log_every"] == 0:
            if not math.isfinite(loss):
                raise Diverged(step=self.step, quantity="training loss")
            self.log["step"].append(self.step)
            self.log["cross_entropy"].append(loss)
            self.log["accuracy"].append(right / self.options["batch_size"])
        self.step += 1
        return f"loss {self.log['cross_entropy'][-1]:.4f} nats, accuracy {self.log['accuracy'][-1]:.3f}"

    def _update(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """One step on digits x (T-1, B) and y (B,): their mean loss in nats before it, and how many are right."""
        if self.stacked:
            return self.kernel.update(x, y, self.options["learning_rate"])
        found = self.kernel.loss_and_gradients(x.to(self.device), y.to(self.device))
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options["clip_norm"])
        self.optimiser.step()
        return found

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "log": self.log,
            "data": self.data.get_state(),
            **self.learnt(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.step, self.log = state["step"], state["log"]
        self.data.set_state(state["data"])
        self.restore_learnt(state)

    def outcome(self) -> Outcome:
        """Metrics of the training batches: the last ten logged, and the first that was predicted without a mistake."""
        batch, steps, outcome = self.options["batch_size"], self.log["step"], Outcome()
        for metric, unit in _UNITS.items():
            fixed = {"split": "train", "metric": metric, "unit": unit, "axis": "step"}
            outcome.curves.append(fixed | {"x": steps, "y": self.log[metric]})
        if not steps:
            return outcome
        for metric, unit in _UNITS.items():
            last = self.log[metric][-10:]
            outcome.metrics.append(_metric(f"last_ten_{metric}", sum(last) / len(last), unit, n=batch * len(last)))
        perfect = [step for step, accuracy in zip(steps, self.log["accuracy"], strict=True) if accuracy == 1]
        outcome.metrics.append(_metric("reached_full_accuracy", int(bool(perfect)), "share", n=1))
        outcome.metrics.append(_metric("best_accuracy", max(self.log["accuracy"]), "share", n=batch))
        if perfect:
            outcome.metrics.append(_metric("first_full_accuracy_step", perfect[0], "step", n=batch))
        return outcome


def _first_model(model: Mapping[str, Any], seed: int) -> nn.Module:
    """The readable model that a configuration names, with a replica's first weights in float32."""
    made = MODELS[model["name"]].build(input_size=DIGITS, output_size=DIGITS, **model["options"])
    initialise_by_fan_in(made, generator_for(seed, "weights"))
    return made


def _metric(metric: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"split": "train", "metric": metric, "value": value, "unit": unit, "n": n}
