"""The palindrome task of document 002, part 1: read T-1 digits, predict the last, a fresh batch every step."""

import torch
from torch import Tensor

from reprise.data.synthetic.palindromes import DIGITS, draw_palindromes
from reprise.engines.palindromes import choose_engine
from reprise.models.initialisation import initialise_by_fan_in
from reprise.records.record import Outcome, make_curve, make_metric
from reprise.sums import add_in_order
from reprise.training.protocol import PieceOfWork, Steps

_UNITS = {"cross_entropy": "nats/token", "accuracy": "share"}


class FinalDigit(Steps):
    """Steps 0, 1, …, `steps` - 1: forward on a fresh batch, log every `log_every` steps, clip, Adam.

    As in the author's code the loss and accuracy that are logged are those of the step's own batch before its update.
    """

    CHECKPOINT_ATTRIBUTES = ("step", "log", "data")

    piece_size = 1

    def prepare(self) -> None:
        self.total, self.length = self.options["steps"], self.config["data"]["options"]["length"]
        self.model = self.build_model(input_size=DIGITS, output_size=DIGITS)
        initialise_by_fan_in(self.model, self.make_generator("weights"))
        self.build_engine(self.model, choose_engine)
        self.use_adam()
        self.data = self.make_generator("data")
        self.log: dict[str, list[float]] = {"step": [], "cross_entropy": [], "accuracy": []}

    def take_step(self) -> PieceOfWork:
        loss, right = yield self.update(*draw_palindromes(self.length, self.options["batch_size"], self.data))
        if self.step % self.options["log_every"] == 0:
            self.check_loss(loss)
            values = (self.step, loss, right / self.options["batch_size"])
            for column, value in zip(self.log.values(), values, strict=True):
                column.append(value)
        return f"loss {self.log['cross_entropy'][-1]:.4f} nats, accuracy {self.log['accuracy'][-1]:.3f}"

    def differentiate(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """Differentiate on digits x (T-1, B) and y (B,); return the mean loss in nats, and how many are right."""
        return self.engine.compute_gradients(x, y)

    def clip(self) -> None:
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options["clip_norm"])

    def make_outcome(self) -> Outcome:
        """Report metrics of the training batches: of the last ten logged, and of the first without a mistake."""
        batch, steps, outcome = self.options["batch_size"], self.log["step"], Outcome()
        outcome.curves = [
            make_curve("train", name, unit, "step", steps, self.log[name]) for name, unit in _UNITS.items()
        ]
        if not steps:
            return outcome
        perfect = [step for step, accuracy in zip(steps, self.log["accuracy"], strict=True) if accuracy == 1]
        last = {name: self.log[name][-10:] for name in _UNITS}
        rows = [
            (f"last_ten_{name}", add_in_order(v) / len(v), _UNITS[name], batch * len(v)) for name, v in last.items()
        ]
        rows.append(("reached_full_accuracy", int(bool(perfect)), "share", 1))
        rows.append(("best_accuracy", max(self.log["accuracy"]), "share", batch))
        if perfect:
            rows.append(("first_full_accuracy_step", perfect[0], "step", batch))
        outcome.metrics = [make_metric("train", *each) for each in rows]
        return outcome
