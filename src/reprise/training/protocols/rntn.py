"""Plain SGD on subsequences, batch 1: the training of document 001's s-RNN family (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from reprise import counters
from reprise.data.corpus import SENTENCE_END, SPLITS
from reprise.engines.rntn import choose
from reprise.engines.rntn.subsequences import cut
from reprise.models.rntn import initialise
from reprise.options import POSITIVE, SHARE, Number
from reprise.training.epochs import SCHEDULE, HalvingSchedule

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
        **SCHEDULE,
        "schedule": ("halve-below-ratio", "rnnlm"),
    }
    GPU = True
    READS = ("hidden_size", "weight_std", "bias_law")
    PARTS = ("train",)
    NEXT = "subsequence"
    KEPT = ("next", "loss", "learning_rate", "epoch", "failures", "history")

    at_once = 1500

    def prepare(self) -> None:
        loaded, options = self.load_words(), self.config["model"]["options"]
        # Running text, such as text8, has no sentences: its state is carried and never reset.
        running = loaded.boundaries == "none"
        start, length = None if running else loaded.vocabulary.index(SENTENCE_END), self.options["subsequence_length"]
        self.data = {s: cut(loaded.splits[s], start, length, carry=running) for s in SPLITS}
        sizes = {"vocabulary": len(loaded.vocabulary), "hidden": options["hidden_size"]}
        model = self.model_of(*self.READS, "factor_law", **sizes)
        factors = {"v": 1.0} if options.get("factor_law") == "one" else None
        std, biases = options["weight_std"], options["bias_law"]
        initialise(model, std, self.generator("weights"), biases=biases, constants=factors)
        self.compute(model, choose)
        self.begin({split: data.tokens for split, data in self.data.items()}, loaded)
        self.shares = {"train": 1.0}
        self.loss = 0.0
        self.kept: dict[str, Tensor] | None = None  # parameters that an undone epoch goes back to

    def length(self) -> int:
        return len(self.data["train"])

    def summed(self) -> float:
        return self.loss

    def read(self) -> None:
        first, self.next = self.next, min(self.next + self.at_once, self.length())
        self.loss += self.kernel.train(
            self.data["train"].slice(first, self.next),
            learning_rate=self.learning_rate,
            reduction=self.options["loss_reduction"],
            dropout=self.options["dropout"],
            key=counters.key(self.seed, _DROPOUT_STREAM, self.epoch),
        )

    def close(self) -> None:
        """Evaluates the other texts."""
        losses = {"train": self.loss / self.counts["train"]}
        for split in SPLITS[1:]:
            losses[split] = self.kernel.evaluate(self.data[split]) / self.counts[split]
        undo = self.close_epoch(losses)
        if undo and self.kept is not None:
            self.kernel.load(self.kept)
        elif self.options["schedule"] == "rnnlm":
            self.kept = self.kernel.export()
        self.next, self.loss = 0, 0.0

    def state(self) -> dict[str, Any]:
        kept = {"kept": self.kept} if self.kept else {}
        return {**super().state(), "hidden": self.kernel.hidden.clone(), **kept}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.kernel.hidden, self.kept = state["hidden"], state.get("kept")
