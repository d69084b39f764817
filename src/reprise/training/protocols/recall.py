"""Recalling a name from two sentences back: document 003, section 2.3, as a task; and the Jacobians meanwhile."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from reprise.catalogue.models import MODELS
from reprise.data.synthetic.names import Names
from reprise.data.synthetic.phrases import FILLERS, FIXED
from reprise.engines.choice import reference_alone
from reprise.engines.optimisers import clip_by_global_norm
from reprise.evaluation.jacobians import JacobianNorms, jacobian_norms
from reprise.models.recurrent import Recurrent
from reprise.options import COUNT, POSITIVE
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, Engine, Learner, dtype_of, engine_of, generator_for

TEXTS = 1000
"""Texts a length that are tested."""
PROBED = 10
"""Texts whose Jacobians are measured."""


class Recall(Learner):
    """Steps on fresh batches of texts of one length.

    `text_lengths` says how often each length occurs: "half-without" has half of the batches without a filler, the
    others with one of 1 to `filler` words; "alike" has 0 to `filler` words equally often, so that no distance is met
    more often than another.

    The loss is that of the name at the blank alone. Before the first step and after the last the norms of the
    Jacobians are measured on texts with the longest filler; at the end also how often, and with what probability, the
    name is recalled, by the number of words between it and the blank.
    """

    TRAINS = ("notes-rnn", "notes-gru", "notes-lstm")
    PREDICTED = "the name at the end of every text"
    GPU = True
    OPTIONS = {
        "steps": COUNT,
        "batch_size": COUNT,
        "text_lengths": ("half-without", "alike"),
        "optimiser": ("adam",),
        "learning_rate": POSITIVE,
        "clip_norm": POSITIVE,
        "log_every": COUNT,
    }

    unit = "step"
    steps_at_once = 20  # a call of `advance`: well below a second

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del corpus, device  # the texts are drawn as they are needed; such small networks are fastest on the CPU
        self.options, data = config["training"]["options"], config["data"]["options"]
        self.seed, self.filler = seed, data["filler"]
        self.names = Names(data["names"])
        self.model = initial_model(config, self.names, seed)
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.kernel = engine_of(engine, "recall", self.model, self.options, reference_alone)
        self.engine = self.kernel.name
        rate = self.options["learning_rate"]
        self.optimiser = self.kernel if self.stacked else torch.optim.Adam(self.model.parameters(), lr=rate)
        self.data = generator_for(seed, "data")
        self.total = self.options["steps"]
        self.step = 0
        self.log: dict[str, list[float]] = {"step": [], "nats_at_blank": []}
        self.jacobians: dict[str, JacobianNorms] = {}
        self.recalled: dict[str, list[float]] = {}

    @property
    def finished(self) -> bool:
        return bool(self.recalled)

    @property
    def done(self) -> float:
        return self.step

    def advance(self) -> str:
        """Some steps, or a measurement. Raises `Diverged` where the loss is not finite."""
        if not self.jacobians:
            self.jacobians["start"] = probe(self.readable(), self.names, self.filler, self.seed)
        if self.step == self.total:
            self.jacobians["end"] = probe(self.readable(), self.names, self.filler, self.seed)
            self.recalled = self._test()
            return f"recalled after {FIXED} words: {self.recalled['accuracy'][0]:.3f}"
        for _ in range(min(self.steps_at_once, self.total - self.step)):
            self._step()
        return f"loss {self.log['nats_at_blank'][-1]:.4f} nats"

    def _step(self) -> None:
        x, y = self.names.draw(self._length(), self.options["batch_size"], self.data)
        loss = self._update(x, y)
        if not math.isfinite(loss):
            raise Diverged(step=self.step, quantity="training loss")
        if self.step % self.options["log_every"] == 0:
            self.log["step"].append(self.step)
            self.log["nats_at_blank"].append(loss)
        self.step += 1

    def _update(self, x: Tensor, y: Tensor) -> float:
        """One step on texts x (T, B) and names y (B,): their mean loss in nats before it."""
        if self.stacked:
            return self.kernel.update(x, y, self.options["learning_rate"])
        loss = functional.cross_entropy(self.model(x), y)
        self.optimiser.zero_grad()
        loss.backward()
        clip_by_global_norm(self.model.parameters(), self.options["clip_norm"])  # Algorithm 1
        self.optimiser.step()
        return loss.item()

    def _length(self) -> int:
        """Words of filler of the next batch."""
        if not self.filler:
            return 0
        if self.options["text_lengths"] == "alike":
            return int(torch.randint(self.filler + 1, (), generator=self.data))
        with_filler = torch.randint(2, (), generator=self.data)
        return int(with_filler * torch.randint(1, self.filler + 1, (), generator=self.data))

    @torch.no_grad()
    def _test(self) -> dict[str, list[float]]:
        model, generator = self.readable(), generator_for(self.seed, "test")
        found: dict[str, list[float]] = {"distance": [], "accuracy": [], "probability": []}
        for filler in (f for f in FILLERS if f <= self.filler):
            x, y = self.names.draw(filler, TEXTS, generator)
            p = torch.softmax(model(x).double(), 1)
            found["distance"].append(FIXED + filler)
            found["accuracy"].append((p.argmax(1) == y).double().mean().item())
            found["probability"].append(p.gather(1, y[:, None]).mean().item())
        return found

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "log": self.log,
            **self.learnt(),
            "data": self.data.get_state(),
            "jacobians": {split: vars(norms) for split, norms in self.jacobians.items()},
            "recalled": self.recalled,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.step, self.log, self.recalled = state["step"], state["log"], state["recalled"]
        self.restore_learnt(state)
        self.data.set_state(state["data"])
        self.jacobians = {split: JacobianNorms(**norms) for split, norms in state["jacobians"].items()}

    def outcome(self) -> Outcome:
        """Accuracy and probability of the name over the distance, the norms over the distance, the loss over steps."""
        fixed = {"split": "train", "metric": "nats_at_blank", "unit": "nats", "axis": "step"}
        outcome = Outcome(curves=[fixed | {"x": self.log["step"], "y": self.log["nats_at_blank"]}])
        for split, norms in self.jacobians.items():
            outcome.curves += norms.curves(split)
            outcome.metrics += norms.metrics(split, distances(self.filler), PROBED)
        for metric in ("accuracy", "probability") if self.recalled else ():
            values = dict(zip(self.recalled["distance"], self.recalled[metric], strict=True))
            fixed = {"split": "test", "metric": metric, "unit": "share"}
            outcome.curves.append(fixed | {"axis": "distance", "x": list(values), "y": list(values.values())})
            outcome.metrics += [
                fixed | {"metric": f"{metric}_at_{distance}", "value": value, "n": TEXTS}
                for distance, value in values.items()
            ]
        return outcome


class RandomJacobians:
    """The norms of a network with its first weights, which is not trained; a replica is a draw of weights and texts."""

    TRAINS = ("notes-rnn",)

    unit = "network"
    total = 1
    engine = "reference"

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del corpus, engine, device
        data = config["data"]["options"]
        self.names, self.filler, self.seed = Names(data["names"]), data["filler"], seed
        self.model = initial_model(config, self.names, seed)
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.norms: JacobianNorms | None = None

    @property
    def finished(self) -> bool:
        return self.norms is not None

    @property
    def done(self) -> float:
        return float(self.finished)

    def advance(self) -> str:
        self.norms = probe(self.model, self.names, self.filler, self.seed)
        return f"{len(self.norms.norms)} distances"

    def state(self) -> dict[str, Any]:
        return {"norms": vars(self.norms) if self.norms else None}

    def restore(self, state: dict[str, Any]) -> None:
        self.norms = JacobianNorms(**state["norms"]) if state["norms"] else None

    def outcome(self) -> Outcome:
        """The norms over the distance."""
        return Outcome(self.norms.metrics("start", distances(self.filler), PROBED), self.norms.curves("start"))


def initial_model(config: dict[str, Any], names: Names, seed: int) -> Recurrent:
    """The network that `config` names for these texts, with its first weights."""
    section = config["model"]
    model = MODELS[section["name"]].build(vocabulary=len(names.vocabulary), **section["options"])
    model.initialise(generator_for(seed, "weights"))
    return model.to(dtype_of(config))


def probe(model: Recurrent, names: Names, filler: int, seed: int) -> JacobianNorms:
    """The norms on texts with so long a filler, the same texts for all networks of a seed."""
    x, _ = names.draw(filler, PROBED, generator_for(seed, "probe"))
    return jacobian_norms(model, x)


def distances(filler: int) -> list[int]:
    """Those from the name to the blank, by length of filler."""
    return [FIXED + words for words in FILLERS if words <= filler]
