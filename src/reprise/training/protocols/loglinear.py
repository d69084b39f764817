"""The training of document 004, section 5.3, as Keras does it: RMSprop on windows of eight words, stopped early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.catalogue.wording import ByOption
from reprise.engines.loglinear.choose import choose_window_engine
from reprise.options import COUNT, NOT_NEGATIVE, POSITIVE, SHARE
from reprise.training.protocol import dtype_of, load_corpus
from reprise.training.protocols.loglinear_course import END, EPOCH, TOGETHER, WindowCourse, initial_model
from reprise.training.protocols.loglinear_text import READING


class Windows(WindowCourse):
    """The training of one replica; see `WindowCourse`. UserError without a corpus, or with one that does not fit."""

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
        "optimiser": ("rmsprop",),
        "learning_rate": POSITIVE,
        "rho": SHARE,
        "epsilon": NOT_NEGATIVE,
        "patience": COUNT,
        "max_epochs": COUNT,
        "sample_words": COUNT,
    }

    batches = TOGETHER  # a call: about a second, so that signals and saves need not wait for an epoch

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del device  # the engines compute on the CPU
        super().__init__(config["training"]["options"], seed, load_corpus(corpus), corpus)
        model = initial_model(config["model"], self.lexicon, seed).to(dtype_of(config))
        self.features = model.features
        self.parameters = sum(p.numel() for p in model.parameters())
        self.kernel = choose_window_engine(engine, model)
        self.engine = self.kernel.name
        self.next = 0  # the batch that comes next

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
        if self.phase in self.sums:
            self.check_sum(self.phase, self.next)
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
        else:
            self.draw(self.kernel.log_probabilities, self.features)

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

    def _close(self) -> None:
        """Goes on to the next phase."""
        self.next = 0
        if self.phase in EPOCH[:-1]:
            self.phase = EPOCH[EPOCH.index(self.phase) + 1]
        elif self.phase == EPOCH[-1]:
            self.end_epoch()
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


_KEPT = ("phase", "next", "sums", "margins", "samples")
