"""Plain SGD on subsequences, batch 1: the training of document 001's s-RNN family (section 4)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.kernels import choose_engine
from reprise.kernels.subsequences import Subsequences, cut
from reprise.models import MODELS
from reprise.models.rntn import initialise
from reprise.training import counters
from reprise.training.protocol import Diverged, Outcome, dtype_of, generator_for

SPLITS = ("train", "valid", "test")
END_OF_SENTENCE = "</s>"
_DROPOUT_STREAM = 1


class SubsequenceSGD:
    """Epochs over the training text, each followed by the loss on the validation and test text.

    Schedule `halve-below-ratio` (document 001, section 4): with r = PPL of the epoch before / PPL now on the validation
    text, r < `halving_ratio` halves the learning rate; after `patience` such epochs in a row training stops. The test
    loss that counts is that of the epoch with the lowest validation loss.
    """

    unit = "epoch"
    # Subsequences a call: about a second of the fused engine, so that signals and saves need not wait for an epoch.
    chunk = 1500

    def __init__(
        self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device
    ):
        if corpus is None:
            raise UserError("this protocol needs a prepared corpus; name it with --corpus")
        if device.type != "cpu":
            device = torch.device("cpu")
        self.options = config["training"]["options"]
        self.seed = seed
        self.total = self.options["max_epochs"]
        loaded = Corpus.load(corpus)
        start = loaded.vocabulary.index(END_OF_SENTENCE)
        self.source = loaded.facts.get("source_nats", {})
        self.data: dict[str, Subsequences] = {
            s: cut(loaded.splits[s], start, self.options["subsequence_length"]) for s in SPLITS
        }
        module = _initial_model(config["model"], len(loaded.vocabulary), seed)
        self.parameters = sum(p.numel() for p in module.parameters())
        self.kernel = choose_engine(engine, module.to(dtype_of(config)))
        self.engine = self.kernel.name
        self.learning_rate = self.options["learning_rate"]
        self.epoch = self.next = self.failures = 0
        self.loss = 0.0
        self.history: list[dict[str, float]] = []

    @property
    def finished(self) -> bool:
        return self.epoch >= self.total or self.failures >= self.options["patience"]

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
            key=counters.key(self.seed, _DROPOUT_STREAM, self.epoch),
        )
        if not math.isfinite(self.loss):
            raise Diverged(epoch=self.epoch, subsequence=stop, quantity="training loss")
        self.next = stop
        if stop == len(train):
            self._end_epoch()
        return self._note()

    def _end_epoch(self) -> None:
        losses = {"train": self.loss / len(self.data["train"].targets)}
        for split in ("valid", "test"):
            losses[split] = self.kernel.evaluate(self.data[split]) / len(self.data[split].targets)
            if not math.isfinite(losses[split]):
                raise Diverged(epoch=self.epoch, quantity=f"{split} loss")
        if self.history:
            ratio = math.exp(self.history[-1]["valid"] - losses["valid"])
            if ratio < self.options["halving_ratio"]:
                self.learning_rate /= 2
                self.failures += 1
            else:
                self.failures = 0
        self.history.append({"learning_rate": self.learning_rate, **losses})
        self.epoch, self.next, self.loss = self.epoch + 1, 0, 0.0

    def _note(self) -> str:
        if not self.history:
            return f"training loss {self.loss / self._tokens_so_far():.4f} nats/token"
        last = self.history[-1]
        return (
            f"valid ppl {math.exp(last['valid']):.2f}, test ppl {math.exp(last['test']):.2f}, "
            f"next learning rate {self.learning_rate:g}"
        )

    def _tokens_so_far(self) -> int:
        return max(1, int(self.data["train"].offsets[self.next]))

    def state(self) -> dict[str, Any]:
        return {
            "parameters": self.kernel.export(),
            "hidden": self.kernel.hidden.clone(),
            "learning_rate": self.learning_rate,
            "epoch": self.epoch,
            "next": self.next,
            "failures": self.failures,
            "loss": self.loss,
            "history": self.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.kernel.load(state["parameters"])
        self.kernel.hidden = state["hidden"]
        for name in ("learning_rate", "epoch", "next", "failures", "loss", "history"):
            setattr(self, name, state[name])

    def outcome(self) -> Outcome:
        """Losses at the epoch with the lowest validation loss (best-valid) and the curve of every epoch."""
        epochs = list(range(1, len(self.history) + 1))
        curves = [
            _curve(split, "cross_entropy", "nats/token", epochs, [h[split] for h in self.history])
            for split in SPLITS
        ]
        rates = [h["learning_rate"] for h in self.history]
        curves.append(_curve("train", "next_learning_rate", "1", epochs, rates))
        if not self.history:
            return Outcome(curves=curves)
        best = min(range(len(self.history)), key=lambda i: self.history[i]["valid"])
        metrics = [
            {
                "split": split,
                "metric": "cross_entropy",
                "value": self.history[best][split],
                "unit": "nats/token",
                "n": len(self.data[split].targets),
            }
            for split in SPLITS
        ]
        # Where the text was generated, what the best possible model would lose on it.
        metrics += [
            {
                "split": s,
                "metric": "source_entropy",
                "value": v,
                "unit": "nats/token",
                "n": len(self.data[s].targets),
            }
            for s, v in self.source.items()
        ]
        metrics.append({"split": "valid", "metric": "best_epoch", "value": best + 1, "unit": "epoch", "n": 1})
        metrics.append({"split": "train", "metric": "epochs", "value": self.epoch, "unit": "epoch", "n": 1})
        return Outcome(metrics=metrics, curves=curves)


def _initial_model(config: dict[str, Any], vocabulary: int, seed: int) -> nn.Module:
    options = dict(config["options"])
    std, biases = options.pop("weight_std"), options.pop("bias_law")
    factors = {"v": 1.0} if options.pop("factor_law", "normal") == "one" else None
    model = MODELS[config["name"]].build(vocabulary=vocabulary, hidden=options.pop("hidden_size"), **options)
    initialise(model, std, generator_for(seed, "weights"), biases=biases, constants=factors)
    return model


def _curve(split: str, metric: str, unit: str, x: list[int], y: list[float]) -> dict[str, Any]:
    return {"split": split, "metric": metric, "unit": unit, "axis": "epoch", "x": x, "y": y}
