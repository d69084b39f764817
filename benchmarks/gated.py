"""Training of document 001's gated language models: GRU and LSTM (K = 1), r-GRU and r-LSTM.

Plain SGD on windows, dropout 0.5 of embeddings and softmax input, the gradient's norm clipped: as in training.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import tasks
from benchmarks.goals import Goal
from benchmarks.tasks import make_word_tensors

STEPS, STREAMS, EMBEDDING = 35, 20, 650
"""Steps of a window, streams read in parallel, and embedding size (document 001, section 4)."""


@dataclass(frozen=True)
class Workload(tasks.DescribedWorkload):
    """A gated network's sizes; `cell` is "gru" or "lstm", `matrices` is K."""

    name: str
    cell: str
    hidden: int
    matrices: int = 1
    vocabulary: int = 10_000
    dataset: str = "ptb"
    embedding: int = EMBEDDING

    @property
    def _gates(self) -> int:
        return {"gru": 3, "lstm": 4}[self.cell]

    @property
    def sparse_weights(self) -> int:
        """Count the weights that meet what dropout made sparse: those of the inputs, and W_o."""
        return self.hidden * (self._gates * self.embedding + self.vocabulary)

    @property
    def state_weights(self) -> int:
        """Count the weights that meet the states, of one of the K matrices."""
        return self._gates * self.hidden**2

    @property
    def weight_bytes(self) -> int:
        """Bytes of the gates' weights, of W_o and of all matrices of the recurrence."""
        return 4 * (self.sparse_weights + self.state_weights + (self.matrices - 1) * self.hidden**2)


@dataclass(frozen=True, kw_only=True)
class Task(tasks.Windows):
    """Windows of STEPS words of STREAMS streams; the state is carried from one to the next."""

    learning_rate, dropout, clip_norm, key = 1.0, 0.5, 5.0, 1

    @property
    def flops_a_token(self) -> float:
        """Count those of the products, forward, backward and update: 6 for each weight that a token uses.

        Our engine leaves out what dropout zeroed; other implementations do more.
        """
        return 6 * ((1 - self.dropout) * self.workload.sparse_weights + self.workload.state_weights)

    @property
    def bytes_a_token(self) -> float:
        """Traffic of the weights.

        A window reads W_o and the weights of the input forward and back, a step those of the states. Then a gradient is
        written, read for its norm and read for the update, which reads and writes the weights. A word's matrix counts
        once a step and way, and once a window for its update. Packing the weights of the states is left out.
        """
        w, words, update = self.workload, self.x[0].size, 5
        step_weights = w.state_weights - (w.matrices > 1) * w.hidden**2
        own = 0.0
        if w.matrices > 1:
            matrix = build_model(self).choose_matrices(make_word_tensors(self)[0]).numpy()  # (n, T, B)
            used = sum(len(np.unique(step)) for window in matrix for step in window)
            updated = sum(len(np.unique(window)) for window in matrix)
            own = w.hidden**2 * (2 * used + update * updated) / matrix.size
        per_window = ((2 + update) * w.sparse_weights + update * step_weights) / words
        return 4 * (per_window + 2 * step_weights / self.x.shape[2] + own)

    def draw_masks(self, window: int, device: Any = "cpu") -> tuple[Any, ...]:
        """Draw the dropout of a window's embeddings and softmax input, (T, B, E) and (T, B, H), with their scale."""
        from reprise import counters

        T, B = self.x.shape[1:]
        masks = []
        for stream, width in enumerate((self.workload.embedding, self.workload.hidden), start=1):
            key = counters.compute_key(self.key, stream)
            mask = counters.draw_dropout_mask_torch(key, window * T * B, T * B, width, self.dropout, device)
            masks.append(mask.view(T, B, width))
        return tuple(masks)


WORKLOADS = (
    Workload("r-gru-244-k100", "gru", hidden=244, matrices=100),
    Workload("r-lstm-254-k100", "lstm", hidden=254, matrices=100),
    Workload("gru-650", "gru", hidden=650),
    Workload("lstm-650", "lstm", hidden=650),
)

GOALS = (
    *(Goal(workload, "grouped", 4, "eager") for workload in ("r-gru-244-k100", "r-lstm-254-k100")),
    Goal("lstm-650", "grouped", 2, "library", stretch=True),
)

TABLE_ROWS = (
    tasks.TableRow("r-gru-244-k100", "001, r-GRU, H = 244, K = 100", "words", {"eager": "eager PyTorch"}),
    tasks.TableRow("r-lstm-254-k100", "001, r-LSTM, H = 254, K = 100", "words", {"eager": "eager PyTorch"}),
    tasks.TableRow("gru-650", "001, GRU, H = 650", "words", {"eager": "eager PyTorch"}),
    tasks.TableRow("lstm-650", "001, LSTM, H = 650", "words", {"eager": "eager PyTorch", "library": "torch.nn.LSTM"}),
)

WINDOWS = 12


def make_member(stack: Any, model: Any) -> Any:
    """Return a member of a stack that trains as the Engine does."""
    from reprise.engines.stack import join_stack

    return join_stack(stack, "batched-sgd", model, {"loss_reduction": "sum-steps", "clip_norm": Task.clip_norm})


def build_model(task: Task, generator: Any = None) -> Any:
    """Make the readable model; its parameters are zero, or drawn with the `generator`."""
    from reprise.models.gated import GRU, LSTM, initialise

    w = task.workload
    model = {"gru": GRU, "lstm": LSTM}[w.cell](w.vocabulary, w.embedding, w.hidden, w.matrices)
    if generator:
        initialise(model, 0.05, generator)
    return model


def make_task(workload: Workload, folder: Path, windows: int = WINDOWS) -> tuple[Task, dict[str, Any]]:
    """Write a task of so many windows to `folder`; the task, and facts about it."""
    count = STREAMS * windows * STEPS + 1
    split, _, origin = tasks.make_words(workload.dataset, workload.vocabulary, count)
    words = np.resize(split.tokens, count)
    # each stream is a stretch of the text, read in windows
    x, y = (part.reshape(STREAMS, windows, STEPS).transpose(1, 2, 0).copy() for part in (words[:-1], words[1:]))
    facts = {"text": origin, "windows": windows, "steps": STEPS, "streams": STREAMS}
    return tasks.write_task(Task(workload=workload, x=x, y=y), folder, **facts)


class Engine(tasks.Engine):
    """Draws the masks of each window."""

    def prepare(self) -> None:
        super().prepare()
        self.engine.reset(STREAMS)

    def step(self, window: int) -> float:
        task = self.task
        return self.engine.train(
            self.x[window],
            self.y[window],
            task.draw_masks(window, self.engine.device),
            learning_rate=task.learning_rate,
            reduction="sum-steps",
            clip_norm=task.clip_norm,
        )


grouped = partial(Engine, name="grouped")
eager = partial(Engine, name="reference")
"""The readable model with autograd: one gather of the words' matrices a window, `unbind`, no fused cell."""
