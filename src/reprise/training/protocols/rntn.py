"""Plain SGD on subsequences, batch 1: the training of document 001's s-RNN family (section 4)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reprise import counters
from reprise.catalogue.models import MODELS
from reprise.data.corpus import SENTENCE_END, Corpus
from reprise.engines.rntn import choose
from reprise.engines.rntn.subsequences import Subsequences, cut
from reprise.models.rntn import initialise
from reprise.options import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, Number
from reprise.training.protocol import Diverged, Engine, dtype_of, engine_of, generator_for, load_words
from reprise.training.schedule import SPLITS, HalvingSchedule

_DROPOUT_STREAM = 1


class SubsequenceSGD(HalvingSchedule):
    """Epochs over the training text, each followed by the loss on the validation and test text."""

    TRAINS = ("r-rntn", "m-rnn")
    PREDICTED = "all, but for the first of a text without sentences"
    OPTIONS = {
        # What the engines have room for.
        "subsequence_length": Number(int, at_least=1, at_most=64),
        "loss_reduction": ("sum", "mean"),
        "learning_rate": POSITIVE,
        "dropout": SHARE,
        "schedule": ("halve-below-ratio", "rnnlm"),
        "halving_ratio": NOT_NEGATIVE,
        "patience": COUNT,
        "max_epochs": COUNT,
    }
    GPU = True
    READS = ("hidden_size", "weight_std", "bias_law")

    # Subsequences a call: about a second of the fused engine, so that signals and saves need not wait for an epoch.
    chunk = 1500

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        options = config["training"]["options"]
        self.seed = seed
        loaded = load_words(corpus, "subsequence-sgd")
        self.data = texts_of(loaded, options)
        counts = {split: data.tokens for split, data in self.data.items()}
        super().__init__(options, counts, loaded.facts.get("source_nats", {}))
        module = initial_model(config["model"], len(loaded.vocabulary), seed)
        self.parameters = sum(p.numel() for p in module.parameters())
        self.kernel = engine_of(engine, "subsequence-sgd", module.to(dtype_of(config)), options, choose)
        self.engine = self.kernel.name
        self.next = 0
        self.loss = 0.0
        self.kept: dict[str, Tensor] | None = None  # parameters that an undone epoch goes back to

    @property
    def done(self) -> float:
        return self.epoch + self.next / len(self.data["train"])

    def advance(self) -> str:
        """Trains on the next subsequences; at the end of an epoch evaluates. Raises `Diverged`."""
        train = self.data["train"]
        stop = min(self.next + self.chunk, len(train))
        self.loss += self.kernel.train(
            train.slice(self.next, stop),
            learning_rate=self.learning_rate,
            reduction=self.options["loss_reduction"],
            dropout=self.options["dropout"],
            key=dropout_key(self.seed, self.epoch),
        )
        if not math.isfinite(self.loss):
            raise Diverged(epoch=self.epoch + 1, subsequence=stop, quantity="training loss")
        self.next = stop
        if stop == len(train):
            self._end_epoch()
        return self.note() if self.history else self._first_note()

    def _end_epoch(self) -> None:
        losses = {"train": self.loss / self.counts["train"]}
        for split in ("valid", "test"):
            losses[split] = self.kernel.evaluate(self.data[split]) / self.counts[split]
        undo = self.close_epoch(losses)
        if undo and self.kept is not None:
            self.kernel.load(self.kept)
        elif self.options["schedule"] == "rnnlm":
            self.kept = self.kernel.export()
        self.next, self.loss = 0, 0.0

    def _first_note(self) -> str:
        tokens = max(1, int(self.data["train"].offsets[self.next]))
        return f"training loss {self.loss / tokens:.4f} nats/token"

    def state(self) -> dict[str, Any]:
        return {
            "parameters": self.kernel.export(),
            "hidden": self.kernel.hidden.clone(),
            "next": self.next,
            "loss": self.loss,
            **({"kept": self.kept} if self.kept else {}),
            **self.schedule_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.kernel.load(state["parameters"])
        self.kernel.hidden = state["hidden"]
        self.next, self.loss, self.kept = state["next"], state["loss"], state.get("kept")
        self.restore_schedule(state)


def texts_of(corpus: Corpus, options: dict[str, Any]) -> dict[str, Subsequences]:
    """The subsequences of each split."""
    # Running text, such as text8, has no sentences: its state is carried and never reset.
    running = corpus.boundaries == "none"
    start = None if running else corpus.vocabulary.index(SENTENCE_END)
    return {s: cut(corpus.splits[s], start, options["subsequence_length"], carry=running) for s in SPLITS}


def dropout_key(seed: int, epoch: int) -> int:
    """The key of an epoch's dropout masks."""
    return counters.key(seed, _DROPOUT_STREAM, epoch)


def initial_model(config: dict[str, Any], vocabulary: int, seed: int) -> nn.Module:
    """The readable model with a replica's first weights."""
    options = dict(config["options"])
    std, biases = options.pop("weight_std"), options.pop("bias_law")
    factors = {"v": 1.0} if options.pop("factor_law", "normal") == "one" else None
    model = MODELS[config["name"]].build(vocabulary=vocabulary, hidden=options.pop("hidden_size"), **options)
    initialise(model, std, generator_for(seed, "weights"), biases=biases, constants=factors)
    return model
