"""Plain SGD on windows of words, shuffled: the training of the window-based model of document 003, section 1.3."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reprise.catalogue.models import MODELS
from reprise.data.corpus import SENTENCE_END
from reprise.engines.lecture.window import choose
from reprise.models.ngram_counts import Positions
from reprise.models.window import WindowModel, initialise
from reprise.options import COUNT, NOT_NEGATIVE, POSITIVE
from reprise.training.protocol import Diverged, Engine, dtype_of, engine_of, generator_for, load_sentences
from reprise.training.schedule import SPLITS, HalvingPasses

_READING = 500
"""Windows that are evaluated at once."""


class WindowSGD(HalvingPasses):
    """Epochs over the windows of the training text in a new order each, every one followed by both other texts.

    A target is a word, its window the n words before it; before the first word of a sentence (`boundary` "sentence")
    or of the text ("text") stand boundary words, `</s>`, which is predicted and counted itself.
    """

    TRAINS = ("window-lm",)
    PREDICTED = "all"
    OPTIONS = {
        "boundary": ("sentence", "text"),
        "batch_size": COUNT,
        "learning_rate": POSITIVE,
        "clip_norm": POSITIVE,
        "schedule": ("halve-below-ratio",),
        "halving_ratio": NOT_NEGATIVE,
        "patience": COUNT,
        "max_epochs": COUNT,
    }
    GPU = True
    READS = ("embedding_size", "hidden_size", "window")

    windows_at_once = 10_000  # a call: about a second, so that signals and saves need not wait for an epoch

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        del device  # the engine is made for the CPU, whose epochs take minutes
        options, loaded = config["training"]["options"], load_sentences(corpus, "window-sgd")
        end, window = loaded.vocabulary.index(SENTENCE_END), config["model"]["options"]["window"]
        texts = {s: Positions.of(loaded.splits[s], window, end, options["boundary"]) for s in SPLITS}
        self.data = {
            # The latest word last, as the model reads them.
            split: (torch.from_numpy(text.before[::-1].T.copy()), torch.from_numpy(text.words))
            for split, text in texts.items()
        }
        counts = {split: len(text) for split, text in texts.items()}
        super().__init__(options, counts, loaded.facts.get("source_nats", {}))
        self.seed = seed
        model = _initial_model(config["model"], len(loaded.vocabulary), seed)
        self.parameters = sum(p.numel() for p in model.parameters())
        self.kernel = engine_of(engine, "window-sgd", model.to(dtype_of(config)), options, choose)
        self.engine = self.kernel.name
        self.split, self.next = "train", 0  # the text that is read, and the window that comes next
        self.losses = dict.fromkeys(SPLITS, 0.0)  # summed nats of this epoch
        self._order: tuple[int, Tensor] | None = None

    @property
    def done(self) -> float:
        before = sum(self.counts[split] for split in SPLITS[: SPLITS.index(self.split)])
        return self.epoch + (before + self.next) / sum(self.counts.values())

    def advance(self) -> str:
        """Trains on, or evaluates, the next windows. Raises `Diverged`."""
        size = self.options["batch_size"] if self.split == "train" else _READING
        last = min(self.next + self.windows_at_once, self.counts[self.split])
        while self.next < last:
            some = slice(self.next, min(self.next + size, self.counts[self.split]))
            self.losses[self.split] += self._train(some) if self.split == "train" else self._evaluate(some)
            self.next = some.stop
        if not math.isfinite(self.losses[self.split]):
            quantity = "training loss" if self.split == "train" else f"{self.split} loss"
            raise Diverged(epoch=self.epoch + 1, window=self.next, quantity=quantity)
        note = self.note() if self.history else self._first_note()
        if self.next == self.counts[self.split]:
            self._close_split()
        return note

    def _train(self, some: slice) -> float:
        x, y = self.data["train"]
        chosen = self.order()[some]
        clip_norm = self.options["clip_norm"]
        return self.kernel.train(x[chosen], y[chosen], learning_rate=self.learning_rate, clip_norm=clip_norm)

    def _evaluate(self, some: slice) -> float:
        x, y = self.data[self.split]
        return self.kernel.evaluate(x[some], y[some])

    def order(self) -> Tensor:
        """The windows of this epoch in the order in which they are read; it follows from seed and epoch alone."""
        if self._order is None or self._order[0] != self.epoch:
            generator = generator_for(self.seed, f"order {self.epoch}")
            self._order = self.epoch, torch.randperm(self.counts["train"], generator=generator)
        return self._order[1]

    def _first_note(self) -> str:
        windows = self.next if self.split == "train" else self.counts["train"]
        return f"training loss {self.losses['train'] / windows:.4f} nats/token"

    def state(self) -> dict[str, Any]:
        return {
            "parameters": self.kernel.export(),
            "split": self.split,
            "next": self.next,
            "losses": dict(self.losses),
            **self.schedule_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.kernel.load(state["parameters"])
        self.split, self.next, self.losses = state["split"], state["next"], dict(state["losses"])
        self.restore_schedule(state)


def _initial_model(config: dict[str, Any], vocabulary: int, seed: int) -> WindowModel:
    options = dict(config["options"])
    sizes = {name: options.pop(f"{name}_size") for name in ("embedding", "hidden")}
    model = MODELS[config["name"]].build(vocabulary=vocabulary, **sizes, **options)
    initialise(model, generator_for(seed, "weights"))
    return model
