"""Batch-1 training of document 001's language models: r-RNTN (K = 1 is the s-RNN, K = V the RNTN), m-RNN.

As in training, SGD makes a step for every 20 words on their summed loss, with dropout 0.5 of the softmax input.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import tasks
from benchmarks.goals import Goal

LENGTH = 20
"""The longest subsequence, in words (document 001, section 4)."""

BLOCK = 20
"""Subsequences in one call of a compiled loop, and in the check that comes first."""


@dataclass(frozen=True)
class Workload(tasks.DescribedWorkload):
    """A model's sizes and the text it reads. `factors` makes it an m-RNN, else `matrices` is K.

    `sentences`: subsequences end where sentences do, as in training; else all have LENGTH words.
    """

    name: str
    dataset: str
    vocabulary: int
    hidden: int
    matrices: int = 1
    factors: int = 0
    sentences: bool = False

    @property
    def flops_a_token(self) -> int:
        """Those of the dense products, forward, backward and update: 6 for each weight that a token uses."""
        H = self.hidden
        return 6 * (H * self.vocabulary + (2 * H * self.factors or H * H))

    @property
    def weight_bytes(self) -> int:
        """Bytes of W_o and of all matrices of the recurrence."""
        H = self.hidden
        return 4 * (H * self.vocabulary + (2 * H * self.factors or self.matrices * H * H))

    @property
    def tables(self) -> dict[str, str]:
        """Return the parameters of which a word uses one row alone, and what numbers the rows: word or matrix."""
        if self.factors:
            return {"W_h": "word", "v": "word"}
        if self.matrices == 1:
            return {"W_h": "word"}
        return {"W_h": "word", "b_h": "matrix", "U_h": "matrix"}


@dataclass(frozen=True, kw_only=True)
class Task(tasks.Task):
    """The arrays of `Subsequences` and one dropout mask a token (n, H).

    Engines that draw masks themselves draw these from `key`: counters start at the first token.
    """

    inputs: np.ndarray
    targets: np.ndarray
    offsets: np.ndarray
    reset: np.ndarray
    masks: np.ndarray
    key: int
    learning_rate, dropout = 0.1, 0.5
    block = BLOCK

    def __len__(self) -> int:
        return len(self.reset)

    def count_tokens(self, first: int, last: int) -> int:
        return int(self.offsets[last] - self.offsets[first])

    @property
    def traffic(self) -> list[tuple[float, int]]:
        """Return bytes of W_o and of shared matrices, which a subsequence reads twice and writes once.

        A word's own matrix is read and written; between its three passes a cache keeps it.
        """
        w, length = self.workload, len(self.inputs) / len(self)
        output = 4 * w.hidden * w.vocabulary
        matrices = w.weight_bytes - output
        shared = w.factors or w.matrices == 1
        own = 3 * matrices / length if shared else 2 * 4 * w.hidden**2
        return [(3 * output / length, output), (own, matrices)]

    @property
    def bytes_a_token(self) -> float:
        """Return the sum of `traffic`."""
        return sum(passed for passed, _ in self.traffic)

    def pad(self) -> tuple[np.ndarray, ...]:
        """Return the same s subsequences, filled up to LENGTH words, for programs that are compiled for one length.

        Returns:
            Words and targets (s, T) int32, masks (s, T, H), and weights (s, T), which are 0 where filled up. Then the
            place of the last word (s,), and whether the state is reset (s,).
        """
        lengths = np.diff(self.offsets)
        is_word = np.arange(LENGTH) < lengths[:, None]  # (s, T)

        def fill(values: np.ndarray) -> np.ndarray:
            rows = np.zeros((*is_word.shape, *values.shape[1:]), values.dtype)
            rows[is_word] = values
            return rows

        filled = (fill(values) for values in (self.inputs, self.targets, self.masks))
        return *filled, is_word.astype(np.float32), (lengths - 1).astype(np.int32), self.reset


_PTB, _TEXT8 = ("ptb", 10_000), ("text8", 37_751)

WORKLOADS = (
    Workload("ptb-h100-k1", *_PTB, hidden=100),
    Workload("ptb-h100-k100", *_PTB, hidden=100, matrices=100),
    Workload("ptb-h100-k100-sentences", *_PTB, hidden=100, matrices=100, sentences=True),
    Workload("ptb-h100-k10000", *_PTB, hidden=100, matrices=10_000),
    Workload("ptb-h150-k100", *_PTB, hidden=150, matrices=100),
    Workload("ptb-h100-mrnn", *_PTB, hidden=100, factors=100),
    Workload("text8-h100-k376", *_TEXT8, hidden=100, matrices=376),
    Workload("text8-h150-k376", *_TEXT8, hidden=150, matrices=376),
)

GOALS = (
    Goal("ptb-h100-k100", "fused", 8, "eager"),
    Goal("ptb-h100-k100", "fused", 12, "eager", stretch=True),
    Goal("ptb-h100-k100", "fused", 2.5, "jax"),
    Goal("ptb-h100-k100", "fused", 2.5, "jax-rows"),
    Goal("ptb-h100-k100", "fused", 4, "jax", stretch=True),
    Goal("ptb-h100-k100", "fused", 0.6),
    Goal("ptb-h100-k100", "fused", 0.75, stretch=True),
    Goal("ptb-h100-k10000", "fused", 0.9, "fused", of="ptb-h100-k1"),
    Goal("ptb-h100-k10000", "fused", 0.97, "fused", of="ptb-h100-k1", stretch=True),
    Goal("ptb-h100-k10000", "fused", 200, "eager"),
    Goal("ptb-h100-k10000", "fused", 300, "eager", stretch=True),
    Goal("ptb-h100-k10000", "fused", 3.5, "eager-sparse"),
    Goal("text8-h100-k376", "fused", 6, "eager"),
    Goal("text8-h100-k376", "fused", 0.45),
    Goal("text8-h100-k376", "fused", 0.65, stretch=True),
)

_PEERS = {"eager": "eager PyTorch", "jax": "JAX", "jax-rows": "JAX by rows"}

TABLE_ROWS = (
    tasks.TableRow("ptb-h100-k100", "001, r-RNTN, H = K = 100", "words", _PEERS),
    tasks.TableRow("ptb-h100-k10000", "001, RNTN, H = 100, K = 10000", "words", _PEERS | {"eager-sparse": "sparse"}),
    tasks.TableRow("text8-h100-k376", "001, r-RNTN, H = 100, K = 376, 37,751 words", "words", _PEERS),
)

SUBSEQUENCES = 2000


def make_member(stack: Any, model: Any) -> Any:
    """Return a member of a stack that trains as the Engine does."""
    from reprise.engines.stack import join_stack

    return join_stack(stack, "subsequence-sgd", model, {"loss_reduction": "sum"})


def build_model(task: Task, generator: Any = None) -> Any:
    """Make the readable model; its parameters are zero, or drawn with the `generator`."""
    from reprise.models.mrnn import MRNN
    from reprise.models.rntn import RNTN, initialise

    w = task.workload
    model = MRNN(w.vocabulary, w.hidden, w.factors) if w.factors else RNTN(w.vocabulary, w.hidden, w.matrices)
    if generator:
        initialise(model, 0.1**1.5, generator)
    return model


def find_text(workload: Workload, count: int, corpora: Path = tasks.CORPORA) -> tuple[Any, str]:
    """Find `count` `Subsequences`, or the whole blocks that the text is enough for, and where they come from.

    Unless the workload asks for sentences they are ignored, and all subsequences have LENGTH words.
    """
    from reprise.engines.rntn import cut_subsequences

    split, end, origin = tasks.make_words(workload.dataset, workload.vocabulary, count * LENGTH, corpora)
    sentences = workload.sentences and end is not None
    data = cut_subsequences(split, end if sentences else None, LENGTH, carry=not sentences)
    return data.slice(0, min(count, len(data)) // BLOCK * BLOCK), origin


def make_task(workload: Workload, folder: Path, count: int = SUBSEQUENCES) -> tuple[Task, dict[str, Any]]:
    """Write a task of `count` subsequences (a multiple of BLOCK) to `folder`; the task, and facts about it."""
    from reprise import counters

    data, origin = find_text(workload, count)
    key = counters.compute_key(tasks.SEED, 0)
    masks = counters.draw_dropout_mask(key, 0, data.token_count, workload.hidden, Task.dropout)
    arrays = {name: getattr(data, name) for name in ("inputs", "targets", "offsets", "reset")}
    facts = {"text": origin, "subsequences": len(data), "mean_length": round(data.token_count / len(data), 2)}
    return tasks.write_task(Task(workload=workload, **arrays, masks=masks, key=key), folder, **facts)


class Engine(tasks.Engine):
    """Takes many subsequences in one call."""

    def prepare(self) -> None:
        from reprise.engines.rntn import SGDSettings, Subsequences

        task = self.task
        rates = {"learning_rate": task.learning_rate, "dropout": task.dropout}
        self.settings = SGDSettings(**rates, reduction="sum", key=task.key)
        self.data = Subsequences(task.inputs, task.targets, task.offsets, task.reset)

    def train(self, first: int, last: int) -> float:
        return self.engine.train(self.data.slice(first, last), self.settings)

    def make_calls(self, first: int, last: int) -> Iterator[Any]:
        """See `tasks.Engine`: one call."""
        yield self.train(first, last)


fused = partial(Engine, name="fused")
