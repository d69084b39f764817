"""Training of document 004's models: the LL-RNN of M = 2500, and the softmax RNN that it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reprise.bench import tasks
from reprise.bench.tasks import Shown

WINDOW, SIZE, LAYERS = 8, 256, 2
"""Words of a window, size of embedding and states, LSTM layers (document 004, section 5.3)."""

CHECKED = 3
"""Batches on which every implementation is checked; RMSprop's first step alone shows little but signs."""


@dataclass(frozen=True)
class Workload(tasks.Described):
    """A model of `top` frequent types (0: the softmax RNN) and the windows of a batch."""

    name: str
    batch: int
    top: int
    vocabulary: int = 42_598
    tags: int = 72
    size: int = SIZE

    @property
    def features(self) -> int:
        """Rows of the output layer: features, or types."""
        return self.top + 1 + self.tags if self.top else self.vocabulary

    @property
    def flops_a_token(self) -> int:
        """Those of a target's dense products, forward, backward and update: 6 a weight, in each of the 8 steps."""
        return 6 * self.size * (WINDOW * LAYERS * 8 * self.size + self.features)

    @property
    def options(self) -> dict[str, Any]:
        """Those of the model."""
        kinds = ("features", "log-linear", "corpus") if self.top else ("one-hot", "softmax", "none")
        found = dict(zip(("input", "output", "background"), kinds, strict=True))
        found |= {"features_from": "corpus", "top_types": self.top, "word_identity": bool(self.top)}
        return found | {"embedding_size": self.size, "hidden_size": self.size, "layers": LAYERS}

    def described(self) -> dict[str, Any]:
        """The sizes, for people."""
        return super().described() | {"features": self.features}


@dataclass(frozen=True)
class Task:
    """Windows x (n, WINDOW, B) and targets y (n, B), int32; pieces are batches.

    counts (V,), tag_indptr and tag_indices: corpus counts and tags of the types; weights: the readable model's
    state_dict.
    """

    workload: Workload
    x: np.ndarray
    y: np.ndarray
    counts: np.ndarray
    tag_indptr: np.ndarray
    tag_indices: np.ndarray
    weights: Mapping[str, np.ndarray]
    learning_rate, rho, epsilon = 0.001, 0.9, 1e-8
    block = CHECKED

    def __len__(self) -> int:
        return len(self.x)

    def tokens(self, first: int, last: int) -> int:
        """Targets of batches first .. last-1."""
        return self.y[first:last].size

    @property
    def rates(self) -> dict[str, float]:
        return {"learning_rate": self.learning_rate, "rho": self.rho, "epsilon": self.epsilon}


WORKLOADS = (
    Workload("m2500-b32", batch=32, top=2500),
    Workload("m2500-b128", batch=128, top=2500),
    Workload("softmax-b32", batch=32, top=0),
    Workload("softmax-b128", batch=128, top=0),
)

GOALS = (
    "m2500-b32: fused >= 5 x sparse",
    "m2500-b32: fused >= 10 x dense",
    "m2500-b32: fused >= 10 x sparse (stretch)",
    "m2500-b32: fused >= 20 x dense (stretch)",
    "softmax-b128: fused >= 2 x softmax (stretch)",
)

_PEERS = {"dense": "dense features", "sparse": "torch.sparse"}
SHOWN = (Shown("m2500-b32", "004, LL-RNN, M = 2500, batches of 32", "words", _PEERS),)

BATCHES, _SEED = 60, 1
# Without a treebank: words of a Zipf-Mandelbrot law, and as many bundles of tags as the rarer types of one have.
_BUNDLES, _TAGS_OF_A_TYPE = 450, 4


def build_model(task: Task) -> Any:
    """The readable model with the task's weights, zeros without any."""
    from reprise.models.lexicon import Lexicon, Sparse
    from reprise.models.loglinear import LogLinearRNN

    tags = Sparse(task.tag_indptr, task.tag_indices.astype(np.int64), task.workload.tags)
    types, labels = ([str(i) for i in range(n)] for n in (len(task.counts), task.workload.tags))
    counted, borne = (dict.fromkeys(("corpus", "train"), of) for of in (task.counts, tags))
    model = LogLinearRNN(Lexicon(types, labels, counted, borne), **task.workload.options)
    if task.weights:
        model.load_state_dict(tasks.weights_of(task))
    return model


def make_task(
    workload: Workload, folder: Path, batches: int = BATCHES, corpora: Path = tasks.CORPORA
) -> tuple[Task, dict[str, Any]]:
    """Writes a task of so many batches to `folder`; the task, and facts about it."""
    import torch

    from reprise import counters
    from reprise.models.loglinear import initialise

    tokens, known, origin = _text(workload, corpora)
    starts = counters.uniform32(counters.key(_SEED), 0, batches * workload.batch) % (len(tokens) - WINDOW)
    windows = tokens[starts[:, None] + np.arange(WINDOW + 1)].reshape(batches, workload.batch, WINDOW + 1)
    x, y = windows[..., :-1].transpose(0, 2, 1).copy(), windows[..., -1].copy()
    model = build_model(Task(workload, x, y, **known, weights={}))
    initialise(model, torch.Generator().manual_seed(_SEED))
    task = Task(workload, x, y, **known, weights=tasks.numpy_of(model.state_dict()))
    return tasks.write(task, folder, text=origin, batches=batches)


def _text(workload: Workload, corpora: Path) -> tuple[np.ndarray, dict[str, np.ndarray], str]:
    """Tokens, what is known of their types, and where they come from."""
    V, K = workload.vocabulary, workload.tags
    found = tasks.find_corpus(
        "ud-french-gsd-*.npz", lambda c: (len(c.vocabulary), len(c.facts.get("tags", ()))) == (V, K), corpora
    )
    if found is not None:
        corpus, path = found
        names = {"counts": "corpus_counts", "tag_indptr": "tag_indptr", "tag_indices": "tag_indices"}
        known = {name: corpus.extra[key] for name, key in names.items()}
        return corpus.splits["train"].tokens, known, f"training text of {path}"
    random = np.random.default_rng(0)
    tokens = tasks.zipf(V, 200_000, random)
    bundles = random.random((_BUNDLES, K)) < _TAGS_OF_A_TYPE / K
    types, indices = np.nonzero(bundles[random.integers(_BUNDLES, size=V)])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(types, minlength=V))])
    counts = 1 + np.bincount(tokens, minlength=V)
    known = {"counts": counts, "tag_indptr": indptr, "tag_indices": indices.astype(np.int32)}
    return tokens, known, f"{tasks.RANDOM_WORDS} with random tags"


class Engine(tasks.Implementation):
    """An engine of ours, in the way the training protocol calls it."""

    def __init__(self, task: Task, name: str, double: bool = False, on: str = "cpu") -> None:
        from reprise.engines import loglinear

        self.task = task
        self.x, self.y = (words.to(on) for words in tasks.words_of(task))
        model = build_model(task)
        self.kernel = loglinear.choose(name, (model.double() if double else model).to(on))

    def step(self, batch: int) -> float:
        return self.kernel.train(self.x[batch], self.y[batch], **self.task.rates)

    def log_perplexity(self) -> float:
        """Nats per word of the first batch, in the precision in which it is trained."""
        return self.kernel.evaluate(self.x[0], self.y[0]) / len(self.y[0])


fused = partial(Engine, name="fused")
