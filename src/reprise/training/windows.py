"""The training of document 004, section 5.3, as Keras does it: RMSprop on windows of eight words, stopped early."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.evaluation.agreement import Pairs
from reprise.evaluation.continuation import continuations
from reprise.kernels.loglinear import choose_window_engine
from reprise.models import MODELS
from reprise.models.lexicon import Lexicon
from reprise.models.loglinear import LogLinearRNN, initialise
from reprise.training import counters
from reprise.training.early_stopping import SPLITS, EarlyStopping
from reprise.training.protocol import Diverged, Outcome, dtype_of, generator_for
from reprise.training.window_text import READING, SCHEMES

EPOCH = tuple(SPLITS)  # an epoch: training, then each other text is read
END = ("training text", "agreement", "sample")  # what is done once, with the last weights
SAMPLES = 3
_SAMPLE = 2  # stream of random numbers


class Windows(EarlyStopping):
    """Epochs over the training text, each followed by the loss on the validation and both test texts.

    With the scheme "sliding" a target is the word after W others; "streams" is truncated backpropagation on a carried
    state (`window_text.py`). After the last epoch the training text is read with the last weights
    (`cross_entropy_evaluated`); with the scheme "sliding" the agreement pairs are judged, if the corpus has any, and
    words are drawn, `sample_words` a text, after the last window of the training text.
    """

    batches = 10  # a call: about a second, so that signals and saves need not wait for an epoch

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del device  # the engines compute on the CPU
        if corpus is None:
            raise UserError("this protocol needs a prepared corpus; name it with --corpus")
        options, loaded = config["training"]["options"], Corpus.load(corpus)
        if missing := [split for split in SPLITS if split not in loaded.splits]:
            raise UserError(f"{corpus}: has no split {missing[0]}; choose a treebank or synthetic-tags")
        tokens = {split: loaded.splits[split].tokens for split in SPLITS}
        self.text = SCHEMES[options["scheme"]](tokens, options["window"], options["batch_size"], seed)
        super().__init__(options, self.text.counts)
        self.seed, self.lexicon = seed, Lexicon.of(loaded)
        self.source = loaded.facts.get("source_nats", {})
        model = initial_model(config["model"], self.lexicon, seed).to(dtype_of(config))
        self.features = model.features or self.lexicon.features("corpus", 0, False)
        self.parameters = sum(p.numel() for p in model.parameters())
        self.kernel = choose_window_engine(engine, model)
        self.engine = self.kernel.name
        self.pairs = None if self.text.carried else Pairs.of(loaded, options["window"])
        self.phase, self.next = EPOCH[0], 0  # what is being done, and the batch that comes next
        self.sums = dict.fromkeys((*EPOCH, END[0]), 0.0)  # summed nats
        self.margins: list[float] = []
        self.samples: list[dict[str, Any]] = []

    @property
    def finished(self) -> bool:
        return self.phase == "finished"

    @property
    def done(self) -> float:
        if self.phase not in EPOCH:
            return self.epoch
        before = sum(self.counts[split] for split in EPOCH[: EPOCH.index(self.phase)])
        now = self.counts[self.phase] * self.next / self._pieces()
        return self.epoch + (before + now) / sum(self.counts.values())

    def advance(self) -> str:
        """Trains on, or reads, the next batches. Raises `Diverged`."""
        pieces = self._pieces()
        last = min(self.next + self.batches, pieces)
        while self.next < last:
            self._do(self.next)
            self.next += 1
        if self.phase in self.sums and not math.isfinite(self.sums[self.phase]):
            raise Diverged(epoch=self.epoch, step=self.next, quantity=f"{self.phase} loss")
        if self.next >= pieces:
            self._close()
        return self.note()

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
            self.sums[self.phase] += self._read(number)
        elif self.phase == "agreement":
            self.margins += self._judge(slice(READING * number, READING * (number + 1)))
        elif not self.text.carried:
            self.samples = self._sample()

    def _read(self, number: int) -> float:
        training = self.phase == "train"
        x, y = self.text.piece(self._split(), number, self.epoch if training else None)
        if self.text.carried and number == 0:
            self.kernel.reset(x.shape[1])
        if not training:
            return self.kernel.evaluate(x, y)
        rates = {name: self.options[name] for name in ("learning_rate", "rho", "epsilon")}
        return self.kernel.train(x, y, **rates)

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

    def _sample(self) -> list[dict[str, Any]]:
        words, start = self.options["sample_words"], self.text.tokens["train"][-self.options["window"] :].tolist()
        key = counters.key(self.seed, _SAMPLE)
        return [
            {
                "kind": "generated",
                "epoch": self.epoch,
                "drawn": "from p, after the last window of the training text",
                "words": [self.lexicon.types[i] for i in text],
                "features": [", ".join(self.features.of(i)) for i in text],
            }
            for text in continuations(self.kernel.log_probabilities, start, SAMPLES, words, key)
        ]

    def _close(self) -> None:
        """Goes on to the next phase."""
        self.next = 0
        if self.phase in EPOCH[:-1]:
            self.phase = EPOCH[EPOCH.index(self.phase) + 1]
        elif self.phase == EPOCH[-1]:
            self.close_epoch({split: self.sums[split] / self.counts[split] for split in EPOCH})
            self.sums = dict.fromkeys(self.sums, 0.0)
            self.phase = END[0] if self.stopped else EPOCH[0]
        else:
            self.phase = (*END, "finished")[END.index(self.phase) + 1]

    def state(self) -> dict[str, Any]:
        carried = self.kernel.state
        return {
            "parameters": self.kernel.export(),
            "optimiser": self.kernel.optimiser_state(),
            "carried": None if carried is None else tuple((h.clone(), c.clone()) for h, c in carried),
            **{name: getattr(self, name) for name in _KEPT},
            **self.stopping_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.kernel.load(state["parameters"])
        self.kernel.restore_optimiser(state["optimiser"])
        self.kernel.state = state["carried"]
        for name in _KEPT:
            setattr(self, name, state[name])
        self.restore_stopping(state)

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


_KEPT = ("phase", "next", "sums", "margins", "samples")


def initial_model(config: dict[str, Any], lexicon: Lexicon, seed: int) -> LogLinearRNN:
    """The model that `config` names for these types, with its first weights."""
    model = MODELS[config["name"]].build(lexicon=lexicon, **config["options"])
    initialise(model, generator_for(seed, "weights"))
    return model
