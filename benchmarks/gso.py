"""Training of document 000's networks: random batches of 64 lines, Adam, at the text's own line lengths."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import tasks
from benchmarks.goals import Goal
from reprise.data.corpus import Corpus, Split, compute_offsets

BATCH = 64
"""Lines of a batch (document 000, section 4)."""

GRADIENT_ROWS = 128
"""Rows whose part of the weight gradients `gso.cpp` sums at a time."""

CHARACTERS, BIGRAMS = 27, 703
"""Symbols of the two ways to cut a text."""
PADDING_TARGET = -1
"""The target where a line is filled up."""


@dataclass(frozen=True)
class Workload(tasks.DescribedWorkload):
    """A model of document 000 and the lines it reads.

    `model` is "gso", with `second_order` (m) and, where `first_order` is true, with D and E; "first-order", or
    "mi-rnn", the general one. `length` predictions a line, or those it has (0). `indexing`: the loop that indexes is
    timed as well, which takes minutes.
    """

    name: str
    model: str
    hidden: int
    second_order: int = 0
    first_order: bool = False
    vocabulary: int = CHARACTERS
    length: int = 0
    indexing: bool = False

    @property
    def recurrent(self) -> int:
        """Count the weights that meet the states."""
        h, m = self.hidden, self.second_order
        return 2 * h * m + self.first_order * h * h if self.model == "gso" else h * h

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights of states and output."""
        return 4 * (self.recurrent + self.hidden * self.vocabulary)

    @property
    def options(self) -> dict[str, Any]:
        """Those of the model and of its start."""
        bias = "f" if self.model == "gso" else "b"
        options = {"hidden_size": self.hidden, "activation": "tanh", "matrix_law": "orthogonal"}
        options |= {f"{bias}_law": "normal", f"{bias}_std": 0.1}
        if self.model == "gso":
            both = dict.fromkeys(("input_term", "recurrent_term"), self.first_order)
            options |= {"second_order_size": self.second_order, **both}
        if self.model == "mi-rnn":
            options |= {"form": "general", "alpha": 1.0, "beta_1": 0.5, "beta_2": 0.5}
        return options


@dataclass(frozen=True, kw_only=True)
class Task(tasks.Task):
    """The corpus's lines and the numbers of those to train on.

    Pieces are batches, BATCH lines in their order. Adam minimises the mean loss of a batch's predictions. Its epsilon
    is so large that the first updates are nearly proportional to the gradients: to check them checks the gradients.
    `corpus` is the path of the same lines as a prepared corpus.
    """

    lines: Split
    training: np.ndarray
    corpus: str
    learning_rate, epsilon = 0.3, 1.0

    @property
    def block(self) -> int:
        return len(self)

    def __len__(self) -> int:
        return len(self.training) // BATCH

    def list_lengths(self, first: int, last: int) -> np.ndarray:
        """Count the predictions of each line of batches first .. last-1."""
        return np.diff(self.lines.offsets)[self.training[first * BATCH : last * BATCH]] - 1

    def count_tokens(self, first: int, last: int) -> int:
        return int(self.list_lengths(first, last).sum())

    @property
    def flops_a_token(self) -> float:
        """Those of our engine's dense products, forward, backward and gradients: 6 for each weight that a token uses.

        A line's first token has no product with the state before.
        """
        w, tokens = self.workload, self.count_tokens(0, len(self))
        later = 1 - len(self) * BATCH / tokens
        return 6 * (w.recurrent * later + w.hidden * w.vocabulary)

    @property
    def bytes_a_token(self) -> float:
        """Traffic of the weights of states and output.

        Those of the states are read in every step of a batch but the first, forward and back. Their gradients are read
        and written once for GRADIENT_ROWS rows. The engine copies all weights in two orders, and clears and copies all
        gradients. Adam reads the gradients, and reads and writes weights and both moments.
        """
        w, copies, adam = self.workload, 7, 7
        batches = range(len(self))
        steps = sum(int(self.list_lengths(i, i + 1).max()) - 1 for i in batches)
        gradient_blocks = sum(-(-(self.count_tokens(i, i + 1) - BATCH) // GRADIENT_ROWS) for i in batches)
        passed = 2 * 4 * w.recurrent * (steps + gradient_blocks) + (copies + adam) * w.weight_bytes * len(self)
        return passed / self.count_tokens(0, len(self))

    def pad(self, batch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs and targets of a batch as a framework takes them, every line filled up to the longest.

        Both are int32 (T, BATCH); targets are PADDING_TARGET where filled up.
        """
        lengths, lines = self.list_lengths(batch, batch + 1), self.training[batch * BATCH : (batch + 1) * BATCH]
        inputs = np.zeros((lengths.max(), BATCH), np.int32)
        targets = np.full_like(inputs, PADDING_TARGET)
        for i, (first, length) in enumerate(zip(self.lines.offsets[lines], lengths, strict=True)):
            tokens = self.lines.tokens[first : first + length + 1]
            inputs[:length, i], targets[:length, i] = tokens[:-1], tokens[1:]
        return inputs, targets


WORKLOADS = (
    Workload("full-394", "gso", hidden=394, second_order=394, first_order=True, indexing=True),
    Workload("none-486", "gso", hidden=486, second_order=486),
    Workload("full-394-t110", "gso", hidden=394, second_order=394, first_order=True, length=110, indexing=True),
    Workload("first-order-680", "first-order", hidden=680),
    Workload("mi-rnn-678", "mi-rnn", hidden=678),
    Workload("bigrams-259", "gso", hidden=259, second_order=259, vocabulary=BIGRAMS),
)

_LINES = ("full-394", "none-486")
GOALS = (
    *(Goal(workload, "fused", 3.5, "eager") for workload in _LINES),
    *(Goal(workload, "fused", 6, "eager", stretch=True) for workload in _LINES),
    *(Goal(workload, "fused", 0.45) for workload in _LINES),
    *(Goal(workload, "fused", 0.65, stretch=True) for workload in _LINES),
    Goal("full-394-t110", "fused", 1.4, "jax"),
    *(Goal(workload, "epoch", 0.8, "fused") for workload in _LINES),
)

_PEERS = {"eager": "padded PyTorch", "compile": "compiled"}

TABLE_ROWS = (
    tasks.TableRow("full-394", "000, general model, lines as they are", "characters", _PEERS),
    tasks.TableRow("full-394-t110", "000, the same, lines of one length", "characters", _PEERS | {"jax": "JAX"}),
)

BATCHES = 6

# Lengths of the lines of the Penn Treebank's text: mean 114.7 characters, deviation 57.2, median 109. A Weibull law
# with this mean and deviation has median 108.9. Its random batches of 64 are padded as much as the real ones.
_SHAPE, _SCALE = 2.11, 129.5
_SHORTER = 0.64
"""Bigrams of a line over its characters."""


def make_lines(workload: Workload, batches: int, corpora: Path = tasks.CORPORA) -> tuple[Corpus, str]:
    """Return a corpus of one fold, and where its lines come from: a prepared corpus, else random lines.

    `batches` full batches of training lines, a ninth as many to validate, and one to test.
    """
    training = batches * BATCH
    count = training + training // 9 + 1
    V, random = workload.vocabulary, np.random.default_rng(0)
    match = tasks.find_corpus("wsj-characters-*.npz", lambda c: len(c.vocabulary) == V, corpora)
    if match is None:
        scale = _SCALE * (_SHORTER if V == BIGRAMS else 1)
        lengths = (scale * random.weibull(_SHAPE, count)).round().astype(np.int64).clip(2)
        lines = [random.integers(0, V, length, dtype=np.int32) for length in lengths.tolist()]
        origin = "random lines of a Weibull law of lengths"
    else:
        split, origin = match[0].splits["lines"], f"random lines of {match[1]}"
        predicting = np.flatnonzero(np.diff(split.offsets) > 1)  # some lines twice where they are too few
        rounds = 1 + count // len(predicting)
        chosen = np.concatenate([random.permutation(predicting) for _ in range(rounds)])[:count]
        lines = [split.tokens[slice(*split.offsets[i : i + 2])] for i in chosen.tolist()]
    if workload.length:  # of the lines one behind the other, from the start again where they end
        lines = list(np.resize(np.concatenate(lines), (count, workload.length + 1)))
        origin += ", in pieces of one length"
    offsets = compute_offsets(map(len, lines))
    tokens = np.concatenate(lines).astype(np.int32)
    part = np.repeat([0, 1, 2], [training, count - training - 1, 1]).astype(np.uint8)
    counts = np.bincount(tokens, minlength=V).astype(np.int64)
    splits = {"lines": Split(tokens, offsets)}
    return Corpus("bench", splits, [f"<{i}>" for i in range(V)], counts, extra={"part": part[None]}), origin


def make_member(stack: Any, model: Any) -> Any:
    """Return a member of a stack that trains as the Engine does, by Adam with the task's own epsilon."""
    from reprise.engines.stack.optimisers import Adam
    from reprise.engines.stack.sentences import LineMember

    return LineMember(stack, model, Adam(epsilon=Task.epsilon))


def build_model(task: Task, generator: Any = None) -> Any:
    """Make the readable model, its parameters drawn with the `generator`, or with another."""
    import torch

    from reprise.models.gso_initialisation import make_initial_model

    w = task.workload
    return make_initial_model(w.model, w.options, w.vocabulary, generator or torch.Generator())


def make_task(workload: Workload, folder: Path, batches: int = BATCHES) -> tuple[Task, dict[str, Any]]:
    """Write a task of so many batches to `folder`; the task, and facts about it."""
    corpus, origin = make_lines(workload, batches)
    corpus.save(folder / "corpus.npz")
    lines, training = corpus.splits["lines"], np.flatnonzero(corpus.extra["part"][0] == 0)
    task = Task(workload=workload, lines=lines, training=training, corpus=str(folder / "corpus.npz"))
    predictions = task.count_tokens(0, len(task))
    cells = sum(task.pad(i)[0].size for i in range(len(task)))
    return tasks.write_task(
        task,
        folder,
        text=origin,
        batches=len(task),
        lines_a_batch=BATCH,
        mean_predictions_a_line=round(predictions / len(task.training), 2),
        padded_efficiency=round(predictions / cells, 4),
    )


class Engine(tasks.Engine):
    """Takes batches that are packed already; outside a stack torch's Adam makes the step."""

    def prepare(self) -> None:
        import torch

        from reprise.engines.gso.packing import pack_lines

        self.block, rate = len(self.task), self.task.learning_rate
        self.batches = pack_lines(self.task.lines, self.task.training, BATCH)
        if not self.stacked:
            self.model = self.engine.model
            parameters = self.model.parameters()
            self.optimiser = torch.optim.Adam(parameters, lr=rate, eps=self.task.epsilon, fused=True)

    def step(self, batch: int) -> float:
        if self.stacked:
            return self.engine.update(self.batches[batch], "mean-tokens", self.task.learning_rate)
        loss = self.engine.train(self.batches[batch], "mean-tokens")
        self.optimiser.step()
        return loss

    def parameters(self) -> dict[str, np.ndarray]:
        return super().parameters() if self.stacked else tasks.convert_to_numpy(self.model.state_dict())


class Epochs(tasks.Implementation):
    """Whole epochs of the training protocol: order, packing, training, validation, the best parameters kept.

    The first call, which is checked, trains on the task's own batches.
    """

    def __init__(self, task: Task) -> None:
        self.block, self.task = len(task), task
        self.first = Engine(task, "auto")
        self.training: Any = None

    def train(self, first: int, last: int) -> float:
        """Train one epoch, whatever the numbers; return the summed loss of its training lines in nats."""
        if self.training is None:
            from reprise.training.protocols.gso import LineEpochs

            config, corpus = _make_experiment(self.task.workload), Path(self.task.corpus)
            self.training = LineEpochs(config, 0, corpus, "auto")
            return self.first.train(first, last)
        epoch = self.training.epoch
        while self.training.epoch == epoch:
            self.training.advance()
        return self.training.history[-1]["train"] * self.training.counts["train"]

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the parameters after the first call."""
        return self.first.parameters()


def _make_experiment(w: Workload) -> dict[str, Any]:
    """Return the configuration of an experiment like the workload, without an end."""
    options = {"batch_size": BATCH, "optimiser": "adam", "learning_rate": 0.001, "clip_norm": 0.0}
    options |= {"max_epochs": 10**9, "loss_reduction": "mean-tokens", "selection": "best-valid"}
    training = {"protocol": "line-epochs", "options": options}
    return {"model": {"name": w.model, "options": w.options}, "training": training, "precision": "float32"}


fused = partial(Engine, name="fused")
