"""The training of document 004, sections 5.3 and 5.4, as Keras does it: RMSprop on windows of words, stopped early."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise import counters
from reprise.catalogue.models import MODELS
from reprise.catalogue.stated import ByOption
from reprise.engines.loglinear import choose
from reprise.errors import UserError
from reprise.evaluation.agreement import Pairs
from reprise.evaluation.continuation import continuations
from reprise.models.lexicon import Lexicon
from reprise.models.loglinear import LogLinearRNN, initialise
from reprise.options import COUNT, NOT_NEGATIVE, POSITIVE, SHARE
from reprise.records.record import Outcome
from reprise.training.protocol import Diverged, Engine, dtype_of, engine_of, generator_for, load_corpus
from reprise.training.protocols.loglinear_text import READING, SCHEMES

SPLITS = ("train", "valid", "test1", "test2")
"""An epoch: training, then each other text is read."""
BOTH, TESTS = "tests", ("test1", "test2")
"""The split of what is measured on both tests together, every token counting the same."""
END = ("training text", "agreement", "sample")
"""What is done once, with the last weights."""
SAMPLES = 3
_SAMPLE = 2  # stream of random numbers
_KEPT = ("epoch", "failures", "history", "phase", "next", "sums", "margins", "samples")


class Windows:
    """Epochs over the training text, each followed by the loss on the validation and both test texts.

    With the scheme "sliding" a target is the word after W others; "streams" is truncated backpropagation on a carried
    state (`loglinear_text.py`). Training ends after `patience` epochs in a row whose validation loss is not below the
    lowest before them, or after `max_epochs`. Reported are the losses of the last epoch, as of a training whose weights
    are not taken back (`cross_entropy`), and those of the epoch with the lowest validation loss (`cross_entropy_best`).
    The training loss of an epoch is the mean over its batches, each under the weights before its step, as Keras shows
    it.

    After the last epoch the training text is read with the last weights (`cross_entropy_evaluated`); with the scheme
    "sliding" the agreement pairs are judged, if the corpus has any, and words are drawn, `sample_words` a text, after
    the last window of the training text. UserError without a corpus, or with one that does not fit.
    """

    TRAINS = ("log-linear",)
    PREDICTED = ByOption(
        "scheme",
        {
            "sliding": "all but the first {window} of a split",
            "streams": "all but the first of a split; of the training text fewer than {batch_size} at its end are "
            "left out",
        },
    )
    OPTIONS = {
        "scheme": ("sliding", "streams"),
        "window": COUNT,
        "batch_size": COUNT,
        "optimiser": ("rmsprop", "rmsprop-epsilon-inside"),
        "learning_rate": POSITIVE,
        "rho": SHARE,
        "epsilon": NOT_NEGATIVE,
        "patience": COUNT,
        "max_epochs": COUNT,
        "sample_words": COUNT,
    }
    GPU = True

    unit = "epoch"
    batches_at_once = 10  # a call: about a second, so that signals and saves need not wait for an epoch

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del device  # the engines compute on the CPU
        loaded = load_corpus(corpus)
        if missing := [split for split in SPLITS if split not in loaded.splits]:
            raise UserError(f"{corpus}: has no split {missing[0]}; choose a treebank or synthetic-tags")
        self.options, self.seed = config["training"]["options"], seed
        tokens = {split: loaded.splits[split].tokens for split in SPLITS}
        self.text = SCHEMES[self.options["scheme"]](tokens, self.options["window"], self.options["batch_size"], seed)
        self.counts = self.text.counts
        self.lexicon = Lexicon.of(loaded)
        self.source = loaded.facts.get("source_nats", {})
        self.pairs = None if self.text.carried else Pairs.of(loaded, self.options["window"])
        model = initial_model(config["model"], self.lexicon, seed).to(dtype_of(config))
        self.features = model.features
        self.parameters = sum(p.numel() for p in model.parameters())
        self.kernel = engine_of(engine, "windows", model, self.options, choose)
        self.engine = self.kernel.name
        self.total = self.options["max_epochs"]
        self.epoch = self.failures = 0
        self.history: list[dict[str, float]] = []
        self.phase, self.next = SPLITS[0], 0  # what is being done, and the batch that comes next
        self.sums = dict.fromkeys((*SPLITS, END[0]), 0.0)  # summed nats
        self.margins: list[float] = []
        self.samples: list[dict[str, Any]] = []

    @property
    def finished(self) -> bool:
        return self.phase == "finished"

    @property
    def done(self) -> float:
        if self.phase not in SPLITS:
            return self.epoch
        before = sum(self.counts[split] for split in SPLITS[: SPLITS.index(self.phase)])
        now = self.counts[self.phase] * self.next / self._pieces()
        return self.epoch + (before + now) / sum(self.counts.values())

    @property
    def best(self) -> int:
        """The epoch of the lowest validation loss, the first of equals; from 0."""
        return min(range(len(self.history)), key=lambda i: self.history[i]["valid"])

    def advance(self) -> str:
        """Trains on, or reads, the next batches. Raises `Diverged`."""
        pieces = self._pieces()
        last = min(self.next + self.batches_at_once, pieces)
        while self.next < last:
            self._do(self.next)
            self.next += 1
        if self.phase in self.sums and not math.isfinite(self.sums[self.phase]):
            # What is read at the end is of the last epoch.
            epoch = self.epoch + (self.phase in SPLITS)
            raise Diverged(epoch=epoch, step=self.next, quantity=f"{self.phase} loss")
        if self.next >= pieces:
            self._close()
        return self._note()

    def _pieces(self) -> int:
        if self.phase == "train":
            return self.text.pieces("train", self.epoch)
        if self.phase in self.sums:
            return self.text.pieces(self._split(), None)
        return -(-len(self.pairs or ()) // READING) if self.phase == "agreement" else 1

    def _split(self) -> str:
        return "train" if self.phase == END[0] else self.phase

    def _do(self, number: int) -> None:
        """One batch of the phase."""
        if self.phase in self.sums:
            self.sums[self.phase] += self._nats(number)
        elif self.phase == "agreement":
            self.margins += self._judge(slice(READING * number, READING * (number + 1)))
        elif not self.text.carried:
            self._draw()

    def _nats(self, number: int) -> float:
        training = self.phase == "train"
        x, y = self.text.piece(self._split(), number, self.epoch if training else None)
        if self.text.carried and number == 0:
            self.kernel.reset(x.shape[1])
        if not training:
            return self.kernel.evaluate(x, y)
        return self.kernel.train(x, y, **rates_of(self.options))

    def _judge(self, some: slice) -> list[float]:
        """log p(right) - log p(wrong) of these pairs."""
        pairs, margins = self.pairs, np.zeros(len(self.pairs.right[some]))
        for number, split in enumerate(pairs.splits):
            (here,) = np.nonzero(pairs.split[some] == number)
            if len(here):
                log_p = self.kernel.log_probabilities(
                    self.text.before(split, torch.from_numpy(pairs.position[some][here]))
                )
                right, wrong = (
                    torch.from_numpy(a[some][here].astype(np.int64))[:, None] for a in (pairs.right, pairs.wrong)
                )
                margins[here] = (log_p.gather(1, right) - log_p.gather(1, wrong))[:, 0].double().numpy()
        return margins.tolist()

    def _draw(self) -> None:
        """Writes the samples, words with their features: those of the model if it has any."""
        words, start = self.options["sample_words"], self.text.tokens["train"][-self.options["window"] :].tolist()
        features = self.features or self.lexicon.features("corpus", 0, False)
        key = counters.key(self.seed, _SAMPLE)
        self.samples = [
            {
                "kind": "generated",
                "epoch": self.epoch,
                "drawn": "from p, after the last window of the training text",
                "words": [self.lexicon.types[i] for i in text],
                "features": [", ".join(features.of(i)) for i in text],
            }
            for text in continuations(self.kernel.log_probabilities, start, SAMPLES, words, key)
        ]

    def _close(self) -> None:
        """Goes on to the next phase."""
        self.next = 0
        if self.phase in SPLITS[:-1]:
            self.phase = SPLITS[SPLITS.index(self.phase) + 1]
        elif self.phase == SPLITS[-1]:
            self._close_epoch()
            stopped = self.epoch >= self.total or self.failures >= self.options["patience"]
            self.phase = END[0] if stopped else SPLITS[0]
        else:
            self.phase = (*END, "finished")[END.index(self.phase) + 1]

    def _close_epoch(self) -> None:
        """Closes the epoch whose texts have all been read."""
        self.history.append({split: self.sums[split] / self.counts[split] for split in SPLITS})
        self.failures = len(self.history) - 1 - self.best
        self.epoch += 1
        self.sums = dict.fromkeys(self.sums, 0.0)

    def _note(self) -> str:
        """What the last epoch brought, for the progress line."""
        if not self.history:
            return "first epoch"
        last = self.history[-1]
        return f"nats/token: train {last['train']:.3f}, valid {last['valid']:.3f}, test1 {last['test1']:.3f}"

    def state(self) -> dict[str, Any]:
        carried = self.kernel.state
        return {
            "parameters": self.kernel.export(),
            "optimiser": self.kernel.optimiser_state(),
            "carried": None if carried is None else tuple((h.clone(), c.clone()) for h, c in carried),
            **{name: getattr(self, name) for name in _KEPT},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.kernel.load(state["parameters"])
        self.kernel.restore_optimiser(state["optimiser"])
        self.kernel.state = state["carried"]
        for name in _KEPT:
            setattr(self, name, state[name])

    def outcome(self) -> Outcome:
        """Losses at the last epoch and at the best one, agreement, and texts with the features of their words."""
        epochs = list(range(1, len(self.history) + 1))
        fixed = {"metric": "cross_entropy", "unit": "nats/token", "axis": "epoch", "x": epochs}
        outcome = Outcome(curves=[fixed | {"split": s, "y": [h[s] for h in self.history]} for s in SPLITS])
        if self.history:
            for metric, epoch in (("cross_entropy", -1), ("cross_entropy_best", self.best)):
                losses = self.history[epoch]
                both = sum(losses[s] * self.counts[s] for s in TESTS) / self._count(BOTH)
                outcome.metrics += [self._entropy(s, metric, value) for s, value in (losses | {BOTH: both}).items()]
            best = {"split": "valid", "metric": "best_epoch", "value": self.best + 1, "unit": "epoch", "n": 1}
            outcome.metrics.append(best)
            outcome.metrics.append({"split": "train", "metric": "epochs", "value": self.epoch, "unit": "epoch", "n": 1})
        if not self.finished:
            return outcome
        evaluated = self.sums[END[0]] / self.counts["train"]
        outcome.metrics.append(self._entropy("train", "cross_entropy_evaluated", evaluated))
        # Where the text was generated, what the best possible model would lose on it.
        outcome.metrics += [self._entropy(split, "source_entropy", value) for split, value in self.source.items()]
        if self.pairs is not None:
            outcome.metrics += self.pairs.metrics(np.array(self.margins))
        outcome.samples += self.samples
        return outcome

    def _entropy(self, split: str, metric: str, value: float) -> dict[str, Any]:
        return {"split": split, "metric": metric, "value": value, "unit": "nats/token", "n": self._count(split)}

    def _count(self, split: str) -> int:
        return sum(self.counts[s] for s in TESTS) if split == BOTH else self.counts[split]


def rates_of(options: Mapping[str, Any]) -> dict[str, float]:
    """RMSprop's settings; "rmsprop-epsilon-inside" has its epsilon inside the root, as Keras up to 0.3."""
    place = {
        "rmsprop": {"epsilon": options["epsilon"]},
        "rmsprop-epsilon-inside": {"epsilon": 0.0, "inside": options["epsilon"]},
    }
    return {"learning_rate": options["learning_rate"], "rho": options["rho"], **place[options["optimiser"]]}


def initial_model(config: Mapping[str, Any], lexicon: Lexicon, seed: int) -> LogLinearRNN:
    """The model that `config` names for these types, with its first weights."""
    model = MODELS[config["name"]].build(lexicon=lexicon, **config["options"])
    initialise(model, generator_for(seed, "weights"))
    return model
