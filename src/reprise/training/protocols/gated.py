"""Truncated backpropagation through time on parallel streams of text: the training of document 001's GRUs and LSTMs
(section 4), "similar to" Zaremba et al., "Recurrent Neural Network Regularization" (2014).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reprise import counters
from reprise.catalogue.models import MODELS
from reprise.data.corpus import SENTENCE_END, Corpus
from reprise.engines.gated import choose
from reprise.engines.rntn.subsequences import Subsequences, cut
from reprise.errors import UserError
from reprise.models.gated import GatedLanguageModel, Masks, initialise
from reprise.options import COUNT, NOT_NEGATIVE, POSITIVE, SHARE
from reprise.training.protocol import Diverged, Engine, dtype_of, engine_of, generator_for, load_words
from reprise.training.schedule import SPLITS, HalvingPasses

_SOFTMAX_INPUT, _EMBEDDINGS = 1, 2  # streams of dropout masks


class BatchedSGD(HalvingPasses):
    """Epochs over the training text, each followed by the loss on the validation and test text.

    A text is one stream: its sentences joined, `</s>` kept, predicted and counted, and read before the first word. For
    training it is cut into `batch_size` streams of equal length (the remainder, fewer than `batch_size` words, is left
    out), which are read in parallel, `steps` words at a time with one SGD step each; the last window of an epoch may be
    shorter. The state starts at zero in every epoch and is carried from window to window. Validation and test text are
    read in one stream, the state carried from the first word to the last.
    """

    TRAINS = ("gru-lm", "lstm-lm")
    PREDICTED = (
        "all, but for the first of a text without sentences; of the training text fewer than {batch_size} at its end "
        "are left out"
    )
    OPTIONS = {
        "batch_size": COUNT,
        "steps": COUNT,
        "loss_reduction": ("sum-steps", "mean-steps"),
        "learning_rate": POSITIVE,
        "dropout": SHARE,
        "clip_norm": POSITIVE,
        "schedule": ("halve-below-ratio",),
        "halving_ratio": NOT_NEGATIVE,
        "patience": COUNT,
        "max_epochs": COUNT,
    }
    GPU = True
    READS = ("embedding_size", "hidden_size", "weight_range")

    windows = 5  # a call: about a second, so that signals and saves need not wait for an epoch

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine, device: torch.device):
        options = config["training"]["options"]
        loaded = load_words(corpus, "batched-sgd")
        self.data = texts_of(loaded, options, corpus)
        counts = {split: y.numel() for split, (_, y) in self.data.items()}
        super().__init__(options, counts, loaded.facts.get("source_nats", {}))
        self.seed, self.device, self.dtype = seed, device, dtype_of(config)
        model = initial_model(config["model"], len(loaded.vocabulary), seed)
        self.widths = model.embedding, model.hidden
        self.parameters = sum(p.numel() for p in model.parameters())
        model.to(device=device, dtype=self.dtype)
        self.kernel = engine_of(engine, "batched-sgd", model, options, choose)
        self.engine = self.kernel.name
        self.split, self.next = "train", 0  # the text that is read, and the step in it that comes next
        self.losses = dict.fromkeys(SPLITS, 0.0)  # summed nats of this epoch

    @property
    def done(self) -> float:
        before = sum(self.counts[split] for split in SPLITS[: SPLITS.index(self.split)])
        words = before + self.next * self.data[self.split][0].shape[1]
        return self.epoch + words / sum(self.counts.values())

    def advance(self) -> str:
        """Trains on, or evaluates, the next windows. Raises `Diverged`."""
        x, _ = self.data[self.split]
        if self.next == 0:
            self.kernel.reset(x.shape[1])
        for _ in range(self.windows):
            self.losses[self.split] += self._train() if self.split == "train" else self._evaluate()
            if self.next == len(x):
                break
        if not math.isfinite(self.losses[self.split]):
            quantity = "training loss" if self.split == "train" else f"{self.split} loss"
            raise Diverged(epoch=self.epoch + 1, step=self.next, quantity=quantity)
        note = self.note() if self.history else self._first_note()
        if self.next == len(x):
            self._close_split()
        return note

    def _window(self, steps: int) -> tuple[Tensor, Tensor]:
        first, self.next = self.next, min(self.next + steps, len(self.data[self.split][0]))
        x, y = (part[first : self.next].to(self.device, torch.int64) for part in self.data[self.split])
        return x, y

    def _train(self) -> float:
        first = self.next
        x, y = self._window(self.options["steps"])
        return self.kernel.train(
            x,
            y,
            self._masks(first, *x.shape),
            learning_rate=self.learning_rate,
            reduction=self.options["loss_reduction"],
            clip_norm=self.options["clip_norm"],
        )

    def _evaluate(self) -> float:
        return self.kernel.evaluate(*self._window(self.options["steps"] * self.options["batch_size"]))

    def _masks(self, first: int, T: int, B: int) -> Masks | None:
        """Dropout on embeddings and softmax input from step `first` on, (T, B, E) and (T, B, H).

        Word b of step t takes place t B + b of the epoch: its masks depend neither on `steps` nor on the engine.
        """
        p = self.options["dropout"]
        if not p:
            return None
        keys = zip(dropout_keys(self.seed, self.epoch), self.widths, strict=True)
        masks = [self._mask(key, first * B, T * B, w, p) for key, w in keys]
        return masks[0].view(T, B, -1), masks[1].view(T, B, -1)

    def _mask(self, key: int, first: int, words: int, width: int, p: float) -> Tensor:
        if self.device.type == "cpu":  # numpy computes the same bits in less than half the time
            return torch.from_numpy(counters.dropout_mask(key, first, words, width, p)).to(self.dtype)
        return counters.dropout_mask_torch(key, first, words, width, p, self.device, self.dtype)

    def _first_note(self) -> str:
        words = max(1, self.counts["train"] if self.split != "train" else self.next * self.options["batch_size"])
        return f"training loss {self.losses['train'] / words:.4f} nats/token"

    def state(self) -> dict[str, Any]:
        return {
            "parameters": self.kernel.export(),
            "state": tuple(s.clone() for s in self.kernel.state),
            "split": self.split,
            "next": self.next,
            "losses": dict(self.losses),
            **self.schedule_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.kernel.load(state["parameters"])
        self.kernel.state = tuple(s.to(self.device) for s in state["state"])
        self.split, self.next, self.losses = state["split"], state["next"], dict(state["losses"])
        self.restore_schedule(state)


def texts_of(corpus: Corpus, options: dict[str, Any], path: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Inputs and targets of each split as `parallel_streams`; `path` is for the message of the UserError."""
    # Running text, such as text8, has no sentences: its first word is only read.
    start = None if corpus.boundaries == "none" else corpus.vocabulary.index(SENTENCE_END)
    streams = {"train": options["batch_size"], "valid": 1, "test": 1}
    texts = {s: parallel_streams(cut(corpus.splits[s], start, carry=True), count) for s, count in streams.items()}
    if not len(texts["train"][0]):
        raise UserError(f"{path}: the training text has fewer words than batch_size streams; lower it")
    return texts


def dropout_keys(seed: int, epoch: int) -> tuple[int, int]:
    """The keys of an epoch's dropout masks, of embeddings and of softmax input."""
    return counters.key(seed, _EMBEDDINGS, epoch), counters.key(seed, _SOFTMAX_INPUT, epoch)


def parallel_streams(text: Subsequences, count: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of a running text in `count` streams one beside the other, (steps, count) int32 each."""
    steps = len(text.targets) // count
    inputs, targets = (
        torch.from_numpy(words[: steps * count].reshape(count, steps).T.copy()) for words in (text.inputs, text.targets)
    )
    return inputs, targets


def initial_model(config: dict[str, Any], vocabulary: int, seed: int) -> GatedLanguageModel:
    """The readable model with a replica's first weights."""
    options = dict(config["options"])
    sizes = {name: options.pop(f"{name}_size") for name in ("embedding", "hidden")}
    weight_range = options.pop("weight_range")
    model = MODELS[config["name"]].build(vocabulary=vocabulary, **sizes, **options)
    initialise(model, weight_range, generator_for(seed, "weights"))
    return model
