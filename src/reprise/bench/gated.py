"""Training of document 001's gated language models: GRU and LSTM (K = 1), r-GRU and r-LSTM.

Plain SGD on windows, dropout 0.5 of embeddings and softmax input, the gradient's norm clipped: as in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reprise.bench import tasks
from reprise.bench.tasks import Shown

STEPS, STREAMS, EMBEDDING = 35, 20, 650
"""Steps of a window, streams read in parallel, and embedding size (document 001, section 4)."""

CHECKED = 3
"""Windows on which every implementation is checked; their state is carried from one to the next."""


@dataclass(frozen=True)
class Workload(tasks.Described):
    """A gated network's sizes; `cell` is "gru" or "lstm", `matrices` is K."""

    name: str
    cell: str
    hidden: int
    matrices: int = 1
    vocabulary: int = 10_000
    dataset: str = "ptb"
    embedding: int = EMBEDDING

    @property
    def flops_a_token(self) -> int:
        """Those of the dense products, forward, backward and update: 6 for each weight that a token uses."""
        gates = {"gru": 3, "lstm": 4}[self.cell]
        return 6 * (gates * self.hidden * (self.embedding + self.hidden) + self.hidden * self.vocabulary)


@dataclass(frozen=True)
class Task:
    """Windows x -> y, int32 (n, STEPS, STREAMS), and the readable model's state_dict; pieces are windows."""

    workload: Workload
    x: np.ndarray
    y: np.ndarray
    weights: Mapping[str, np.ndarray]
    learning_rate, dropout, clip_norm, key = 1.0, 0.5, 5.0, 1
    block = CHECKED

    def __len__(self) -> int:
        return len(self.x)

    def tokens(self, first: int, last: int) -> int:
        """Words of windows first .. last-1."""
        return self.x[first:last].size

    def masks(self, window: int) -> tuple[Any, Any]:
        """Dropout of a window's embeddings and softmax input, (T, B, E) and (T, B, H), with their scale."""
        import torch

        from reprise import counters

        T, B = self.x.shape[1:]
        found = []
        for stream, width in enumerate((self.workload.embedding, self.workload.hidden), start=1):
            key = counters.key(self.key, stream)
            mask = counters.dropout_mask(key, window * T * B, T * B, width, self.dropout)
            found.append(torch.from_numpy(mask).view(T, B, width))
        return found[0], found[1]


WORKLOADS = (
    Workload("r-gru-244-k100", "gru", hidden=244, matrices=100),
    Workload("r-lstm-254-k100", "lstm", hidden=254, matrices=100),
    Workload("gru-650", "gru", hidden=650),
    Workload("lstm-650", "lstm", hidden=650),
)

GOALS = (
    "r-gru-244-k100: grouped >= 1.6 x eager",
    "r-lstm-254-k100: grouped >= 1.6 x eager",
    "r-gru-244-k100: grouped >= 4 x eager (stretch)",
    "r-lstm-254-k100: grouped >= 4 x eager (stretch)",
    "lstm-650: grouped >= 2 x library (stretch)",
)

SHOWN = (
    Shown("r-gru-244-k100", "001, r-GRU, H = 244, K = 100", "words", {"eager": "eager PyTorch"}),
    Shown("r-lstm-254-k100", "001, r-LSTM, H = 254, K = 100", "words", {"eager": "eager PyTorch"}),
)

WINDOWS = 12
_RANGE, _SEED = 0.05, 1


def build_model(workload: Workload) -> Any:
    """The readable model, its parameters zero."""
    from reprise.models.gated import GRU, LSTM

    kind = {"gru": GRU, "lstm": LSTM}[workload.cell]
    return kind(workload.vocabulary, workload.embedding, workload.hidden, workload.matrices)


def make_task(workload: Workload, folder: Path, windows: int = WINDOWS) -> tuple[Task, dict[str, Any]]:
    """Writes a task of so many windows to `folder`; the task, and facts about it."""
    import torch

    from reprise.models.gated import initialise

    count = STREAMS * windows * STEPS + 1
    split, _, origin = tasks.words_for(workload.dataset, workload.vocabulary, count)
    words = np.resize(split.tokens, count)
    # each stream is a stretch of the text, read in windows
    x, y = (part.reshape(STREAMS, windows, STEPS).transpose(1, 2, 0).copy() for part in (words[:-1], words[1:]))
    model = build_model(workload)
    initialise(model, _RANGE, torch.Generator().manual_seed(_SEED))
    weights = tasks.numpy_of(model.state_dict())
    task = Task(workload, x, y, weights)
    return tasks.write(task, folder, text=origin, windows=windows, steps=STEPS, streams=STREAMS)


class Engine(tasks.Implementation):
    """An engine of ours, in the way the training protocol calls it: it draws the masks of each window."""

    def __init__(self, task: Task, name: str, double: bool = False, on: str = "cpu") -> None:
        from reprise.engines import gated

        self.task, self.on = task, on
        self.x, self.y = (words.to(on) for words in tasks.words_of(task))
        model = build_model(task.workload)
        model.load_state_dict(tasks.weights_of(task))
        self.kernel = gated.choose(name, (model.double() if double else model).to(on))
        self.kernel.reset(task.x.shape[2])

    def step(self, window: int) -> float:
        task = self.task
        return self.kernel.train(
            self.x[window],
            self.y[window],
            tuple(mask.to(self.on) for mask in task.masks(window)),
            learning_rate=task.learning_rate,
            reduction="sum-steps",
            clip_norm=task.clip_norm,
        )


grouped = partial(Engine, name="grouped")
eager = partial(Engine, name="reference")
"""The readable model with autograd: one gather of the words' matrices a window, `unbind`, no fused cell."""
