"""The palindrome task of document 002, part 1: read T-1 digits, predict the last, a fresh batch every step."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from reprise.data.palindromes import palindromes
from reprise.kernels.sequence import choose_engine
from reprise.models import MODELS
from reprise.models.initialisation import initialise_by_fan_in
from reprise.training.protocol import Diverged, Outcome, dtype_of, generator_for

DIGITS = 10


class FinalDigit:
    """Steps 0, 1, …, `steps` - 1: forward on a fresh batch, log every `log_every` steps, clip, Adam.

    As in the author's code the loss and accuracy that are logged are those of the step's own batch before its update.
    """

    unit = "step"

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del corpus  # the batches are drawn as they are needed
        self.options = config["training"]["options"]
        self.length = config["data"]["options"]["length"]
        self.total = self.options["steps"]
        self.device = device
        model = config["model"]
        sizes = {"input_size": DIGITS, "output_size": DIGITS}
        self.model = MODELS[model["name"]].build(**sizes, **model["options"])
        initialise_by_fan_in(self.model, generator_for(seed, "weights"))
        self.model.to(device=device, dtype=dtype_of(config))
        self.kernel = choose_engine(engine, self.model)
        self.engine = self.kernel.name
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.options["learning_rate"])
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
        """One step. Raises `Diverged` where the loss is not finite."""
        x, y = palindromes(self.length, self.options["batch_size"], self.data)
        x, y = x.to(self.device), y.to(self.device)
        loss, correct = self.kernel.loss_and_gradients(x, y)
        if self.step % self.options["log_every"] == 0:
            self._log(loss, correct / len(y))
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options["clip_norm"])
        self.optimiser.step()
        self.step += 1
        return f"loss {self.log['cross_entropy'][-1]:.4f} nats, accuracy {self.log['accuracy'][-1]:.3f}"

    def _log(self, loss: float, accuracy: float) -> None:
        if not math.isfinite(loss):
            raise Diverged(step=self.step, quantity="training loss")
        self.log["step"].append(self.step)
        self.log["cross_entropy"].append(loss)
        self.log["accuracy"].append(accuracy)

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "log": self.log,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "data": self.data.get_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.step, self.log = state["step"], state["log"]
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.data.set_state(state["data"])

    def outcome(self) -> Outcome:
        """Metrics of the training batches: the last ten logged, and the first that was predicted without a mistake."""
        batch = self.options["batch_size"]
        steps, curves = self.log["step"], []
        units = {"cross_entropy": "nats/token", "accuracy": "share"}
        for metric, unit in units.items():
            curves.append(
                {
                    "split": "train",
                    "metric": metric,
                    "unit": unit,
                    "axis": "step",
                    "x": steps,
                    "y": self.log[metric],
                }
            )
        if not steps:
            return Outcome(curves=curves)
        metrics = []
        for metric, unit in units.items():
            last = self.log[metric][-10:]
            value = sum(last) / len(last)
            metrics.append(_metric(f"last_ten_{metric}", value, unit, n=batch * len(last)))
        perfect = [step for step, accuracy in zip(steps, self.log["accuracy"], strict=True) if accuracy == 1]
        metrics.append(_metric("reached_full_accuracy", int(bool(perfect)), "share", n=1))
        metrics.append(_metric("best_accuracy", max(self.log["accuracy"]), "share", n=batch))
        if perfect:
            metrics.append(_metric("first_full_accuracy_step", perfect[0], "step", n=batch))
        return Outcome(metrics=metrics, curves=curves)


def _metric(metric: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"split": "train", "metric": metric, "value": value, "unit": unit, "n": n}
