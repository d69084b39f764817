"""Recalling a name from two sentences back: document 003, section 2.3, as a task; and the Jacobians meanwhile."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from reprise.data.synthetic.names import Names
from reprise.data.synthetic.phrases import BASE_DISTANCE, FILLERS
from reprise.engines.choice import choose_reference
from reprise.evaluation.jacobians import JacobianNorms, compute_jacobian_norms
from reprise.models.recall_networks import RecallNetwork
from reprise.records.record import Outcome, make_curve, make_metric
from reprise.training.protocol import PieceOfWork, Pieces, Steps, Training

TEST_COUNT = 1000
"""Texts a length that are tested."""
PROBE_COUNT = 10
"""Texts whose Jacobians are measured."""


class _NamedTexts(Training):
    """A training on texts with names: the names and the filler of the data, and a network for them."""

    names: Names
    filler: int

    def make_first_model(self) -> RecallNetwork:
        """Make the configured network, with its first weights."""
        data = self.config["data"]["options"]
        self.names, self.filler = Names(data["names"]), data["filler"]
        model = self.build_model(vocabulary=len(self.names.vocabulary))
        model.initialise(self.make_generator("weights"))
        return model.to(self.dtype)

    def probe(self, model: RecallNetwork) -> dict[str, Any]:
        """Measure the norms on texts with the longest filler, the same texts for all networks of a seed."""
        x, _ = self.names.draw(self.filler, PROBE_COUNT, self.make_generator("probe"))
        return vars(compute_jacobian_norms(model, x))

    def add_norms(self, outcome: Outcome, split: str, columns: Mapping[str, Any]) -> None:
        """Add the norms over the distance, and at the distances from the name to the blank by length of filler."""
        norms = JacobianNorms(**columns)
        outcome.curves += norms.make_curves(split)
        outcome.metrics += norms.make_metrics(
            split, [BASE_DISTANCE + words for words in FILLERS if words <= self.filler], PROBE_COUNT
        )


class Recall(_NamedTexts, Steps):
    """Steps on fresh batches of texts of one length.

    `text_lengths` says how often each length occurs. With "half-without" half of the batches have no filler, the others
    one of 1 to `filler` words. With "alike" fillers of 0 to `filler` words are equally frequent, so that no distance is
    met more often than another.

    The loss is that of the name at the blank alone. Before the first step and after the last the norms of the Jacobians
    are measured on texts with the longest filler. At the end it is also measured how often, and with what probability,
    the name is recalled. That is by the number of words between it and the blank.
    """

    CHECKPOINT_ATTRIBUTES = ("step", "log", "data", "jacobians", "recalled")

    piece_size = 20  # well below a second

    def prepare(self) -> None:
        self.total = self.options["steps"]
        self.model = self.make_first_model()
        self.build_engine(self.model, choose_reference)  # such small networks are fastest on the CPU
        self.use_adam()
        self.data = self.make_generator("data")
        self.log: dict[str, list[float]] = {"step": [], "nats_at_blank": []}
        self.jacobians: dict[str, dict[str, Any]] = {}
        self.recalled: dict[str, list[float]] = {}

    @property
    def finished(self) -> bool:
        return bool(self.recalled)

    def run_piece(self) -> PieceOfWork:
        """Make some steps, or measure. Raises `Diverged` where the loss is not finite."""
        if not self.jacobians:
            self.jacobians["start"] = self.probe(self.get_readable_model())
        if self.step < self.total:
            return (yield from super().run_piece())
        self.jacobians["end"] = self.probe(self.get_readable_model())
        self.recalled = self._test_recall()
        return f"recalled after {BASE_DISTANCE} words: {self.recalled['accuracy'][0]:.3f}"

    def take_step(self) -> PieceOfWork:
        x, y = self.names.draw(self._draw_length(), self.options["batch_size"], self.data)
        loss = yield self.update(x, y)
        self.check_loss(loss)
        if self.step % self.options["log_every"] == 0:
            self.log["step"].append(self.step)
            self.log["nats_at_blank"].append(loss)
        return f"loss {loss:.4f} nats"

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, float]:
        """Compute the mean loss of names y (B,) after texts x (T, B), and its value in nats."""
        loss = functional.cross_entropy(self.model(x), y)
        return loss, loss.item()

    def _draw_length(self) -> int:
        """Draw the number of filler words of the next batch."""
        if not self.filler:
            return 0
        if self.options["text_lengths"] == "alike":
            return int(torch.randint(self.filler + 1, (), generator=self.data))
        with_filler = torch.randint(2, (), generator=self.data)
        return int(with_filler * torch.randint(1, self.filler + 1, (), generator=self.data))

    def measure(self, report_progress: Callable[[str], None]) -> Outcome:
        """Measure how often the name is recalled, and the norms at the end."""
        report_progress("names")
        self.jacobians = {"end": self.probe(self.get_readable_model())}
        self.recalled = self._test_recall()
        return self.make_outcome()

    @torch.no_grad()
    def _test_recall(self) -> dict[str, list[float]]:
        model, generator = self.get_readable_model(), self.make_generator("test")
        columns: dict[str, list[float]] = {"distance": [], "accuracy": [], "probability": []}
        for filler in (f for f in FILLERS if f <= self.filler):
            x, y = self.names.draw(filler, TEST_COUNT, generator)
            p = torch.softmax(model(x).double(), 1)
            columns["distance"].append(BASE_DISTANCE + filler)
            columns["accuracy"].append((p.argmax(1) == y).double().mean().item())
            columns["probability"].append(p.gather(1, y[:, None]).mean().item())
        return columns

    def make_outcome(self) -> Outcome:
        """Report accuracy and probability of the name and the norms over the distance, and the loss over steps."""
        x, y = self.log.values()
        outcome = Outcome(curves=[make_curve("train", "nats_at_blank", "nats", "step", x, y)])
        for split, norms in self.jacobians.items():
            self.add_norms(outcome, split, norms)
        for name in ("accuracy", "probability") if self.recalled else ():
            values = dict(zip(self.recalled["distance"], self.recalled[name], strict=True))
            outcome.curves.append(make_curve("test", name, "share", "distance", values, list(values.values())))
            outcome.metrics += [
                make_metric("test", f"{name}_at_{d}", value, "share", TEST_COUNT) for d, value in values.items()
            ]
        return outcome


class RandomJacobians(_NamedTexts, Pieces):
    """The norms of a network with its first weights, which is not trained; a replica is a draw of weights and texts."""

    unit = "network"
    total = 1
    engine_name = "reference"

    def prepare(self) -> None:
        self.model = self.make_first_model()
        self.parameter_count = sum(p.numel() for p in self.model.parameters())

    def advance(self) -> str:
        self.results.append(self.probe(self.model))
        return f"{len(self.results[0]['norms'])} distances"

    def make_outcome(self) -> Outcome:
        """Report the norms over the distance."""
        outcome = Outcome()
        self.add_norms(outcome, "start", self.results[0])
        return outcome
