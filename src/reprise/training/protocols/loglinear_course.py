"""What a training on windows knows of its course, whoever trains it: document 004, sections 5.3 and 5.4."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from reprise import counters
from reprise.catalogue.models import MODELS
from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.evaluation.agreement import Pairs
from reprise.evaluation.continuation import continuations
from reprise.models.lexicon import Features, Lexicon
from reprise.models.loglinear import LogLinearRNN, initialise
from reprise.records.record import Outcome
from reprise.training.early_stopping import SPLITS, EarlyStopping
from reprise.training.protocol import Diverged, generator_for
from reprise.training.protocols.loglinear_text import SCHEMES

EPOCH = tuple(SPLITS)  # an epoch: training, then each other text is read
END = ("training text", "agreement", "sample")  # what is done once, with the last weights
SAMPLES = 3
TOGETHER = 10
"""Batches between two looks at whether the losses are finite."""

_SAMPLE = 2  # stream of random numbers


class WindowCourse(EarlyStopping):
    """Epochs over the training text, each followed by the loss on the validation and both test texts.

    With the scheme "sliding" a target is the word after W others; "streams" is truncated backpropagation on a carried
    state (`window_text.py`). After the last epoch the training text is read with the last weights
    (`cross_entropy_evaluated`); with the scheme "sliding" the agreement pairs are judged, if the corpus has any, and
    words are drawn, `sample_words` a text, after the last window of the training text. Protocols inherit it.
    """

    def __init__(self, options: Mapping[str, Any], seed: int, corpus: Corpus, path: Path) -> None:
        """`options`: of the protocol; `path`: where the corpus lies, for messages. UserError where it does not fit."""
        if missing := [split for split in SPLITS if split not in corpus.splits]:
            raise UserError(f"{path}: has no split {missing[0]}; choose a treebank or synthetic-tags")
        tokens = {split: corpus.splits[split].tokens for split in SPLITS}
        self.text = SCHEMES[options["scheme"]](tokens, options["window"], options["batch_size"], seed)
        super().__init__(options, self.text.counts)
        self.seed, self.lexicon = seed, Lexicon.of(corpus)
        self.source = corpus.facts.get("source_nats", {})
        self.pairs = None if self.text.carried else Pairs.of(corpus, options["window"])
        self.phase = EPOCH[0]  # what is being done
        self.sums = dict.fromkeys((*EPOCH, END[0]), 0.0)  # summed nats
        self.margins: list[float] = []
        self.samples: list[dict[str, Any]] = []

    @property
    def finished(self) -> bool:
        return self.phase == "finished"

    @property
    def learning_rate(self) -> float:
        """0 once the last epoch is over."""
        return 0.0 if self.stopped else self.options["learning_rate"]

    def schedule_state(self) -> dict[str, Any]:
        """What a checkpoint of a stack keeps of the course."""
        return self.stopping_state()

    def restore_schedule(self, state: Mapping[str, Any]) -> None:
        self.restore_stopping(state)

    def check_sum(self, name: str, pieces: int) -> None:
        """Raises `Diverged` where the sum of that text, after so many batches, is not finite."""
        if not math.isfinite(self.sums[name]):
            # What is read at the end is of the last epoch.
            epoch = self.epoch + (name in EPOCH)
            raise Diverged(epoch=epoch, step=pieces, quantity=f"{name} loss")

    def take_losses(self, name: str, losses: Sequence[float]) -> None:
        """Takes the summed nats of all batches of a text. Raises `Diverged` as a training would that made them."""
        for number, loss in enumerate(losses, start=1):
            self.sums[name] += loss
            if number % TOGETHER == 0 or number == len(losses):
                self.check_sum(name, number)

    def end_epoch(self) -> None:
        """Closes the epoch whose texts have all been read."""
        self.close_epoch({split: self.sums[split] / self.counts[split] for split in EPOCH})
        self.sums = dict.fromkeys(self.sums, 0.0)

    def draw(self, log_probabilities: Callable[[Tensor], Tensor], features: Features | None) -> None:
        """Writes the samples: words drawn by `log_probabilities`, with their features, those of the model if any."""
        if self.text.carried:
            return
        words, start = self.options["sample_words"], self.text.tokens["train"][-self.options["window"] :].tolist()
        features = features or self.lexicon.features("corpus", 0, False)
        self.samples = [
            {
                "kind": "generated",
                "epoch": self.epoch,
                "drawn": "from p, after the last window of the training text",
                "words": [self.lexicon.types[i] for i in text],
                "features": [", ".join(features.of(i)) for i in text],
            }
            for text in continuations(log_probabilities, start, SAMPLES, words, counters.key(self.seed, _SAMPLE))
        ]

    def outcome(self) -> Outcome:
        """Losses at the last epoch and at the best one, agreement, and texts with the features of their words."""
        outcome = self.losses()
        if not self.finished:
            return outcome
        evaluated = self.sums[END[0]] / self.counts["train"]
        outcome.metrics.append(self.entropy("train", "cross_entropy_evaluated", evaluated))
        # Where the text was generated, what the best possible model would lose on it.
        outcome.metrics += [self.entropy(split, "source_entropy", value) for split, value in self.source.items()]
        if self.pairs is not None:
            outcome.metrics += self.pairs.metrics(np.array(self.margins))
        outcome.samples += self.samples
        return outcome


def initial_model(config: Mapping[str, Any], lexicon: Lexicon, seed: int) -> LogLinearRNN:
    """The model that `config` names for these types, with its first weights."""
    model = MODELS[config["name"]].build(lexicon=lexicon, **config["options"])
    initialise(model, generator_for(seed, "weights"))
    return model
