"""What a training on palindromes knows of its course, whatever computes it: document 002, part 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from reprise.catalogue.models import MODELS
from reprise.data.synthetic.palindromes import DIGITS, palindromes
from reprise.models.initialisation import initialise_by_fan_in
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, generator_for
from reprise.training.protocols.step_course import StepCourse


class PalindromeCourse(StepCourse):
    """Keeps what is logged, every `log_every` steps.

    As in the author's code the loss and accuracy that are logged are those of the step's own batch before its update.
    """

    due = False  # nobody ever has to see the network's parameters

    def __init__(self, config: Mapping[str, Any], seed: int) -> None:
        """`config`: of the experiment, resolved."""
        super().__init__(config["training"]["options"])
        self.length = config["data"]["options"]["length"]
        self.data = generator_for(seed, "data")
        self.log: dict[str, list[float]] = {"step": [], "cross_entropy": [], "accuracy": []}

    @property
    def until(self) -> int:
        """Up to which step nobody has to see the network's parameters."""
        return self.total

    def batch(self) -> tuple[Tensor, Tensor]:
        """The palindromes of the next step that has none yet; see `palindromes`."""
        return palindromes(self.length, self.options["batch_size"], self.data)

    def take(self, losses: Sequence[float], right: Sequence[int]) -> None:
        """Takes the mean losses, nats, and right answers of the next steps.

        Raises `Diverged` at the first that is to be logged and whose loss is not finite.
        """
        for loss, correct in zip(losses, right, strict=True):
            if self.step % self.options["log_every"] == 0:
                if not math.isfinite(loss):
                    raise Diverged(step=self.step, quantity="training loss")
                self.log["step"].append(self.step)
                self.log["cross_entropy"].append(loss)
                self.log["accuracy"].append(correct / self.options["batch_size"])
            self.step += 1

    @property
    def loss(self) -> float:
        """The last that was logged."""
        return self.log["cross_entropy"][-1]

    def schedule_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the course."""
        return {"step": self.step, "log": self.log, "data": self.data.get_state()}

    def restore_schedule(self, state: Mapping[str, Any]) -> None:
        self.step, self.log = state["step"], state["log"]
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


def first_model(model: Mapping[str, Any], seed: int) -> nn.Module:
    """The readable model that a configuration names, with a replica's first weights in float32."""
    made = MODELS[model["name"]].build(input_size=DIGITS, output_size=DIGITS, **model["options"])
    initialise_by_fan_in(made, generator_for(seed, "weights"))
    return made


def _metric(metric: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"split": "train", "metric": metric, "value": value, "unit": unit, "n": n}
