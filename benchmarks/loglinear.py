"""Training of document 004's models: the LL-RNN of M = 2500, and the softmax RNN that it is compared with."""

import statistics
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import tasks
from benchmarks.goals import Goal
from reprise.data.corpus import pack_sparse_rows

WINDOW, SIZE, LAYERS = 8, 256, 2
"""Words of a window, size of embedding and states, LSTM layers (document 004, section 5.3)."""


@dataclass(frozen=True)
class Workload(tasks.DescribedWorkload):
    """A model of `top` frequent types (0: the softmax RNN) and the windows of a batch."""

    name: str
    batch: int
    top: int
    vocabulary: int = 42_598
    tags: int = 72
    size: int = SIZE
    derived = (*tasks.DescribedWorkload.derived, "features")

    @property
    def features(self) -> int:
        """Return the rows of the output layer: features, or types."""
        return self.top + 1 + self.tags if self.top else self.vocabulary

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights of LSTM and output layer."""
        return 4 * self.size * (LAYERS * 8 * self.size + self.features)

    @property
    def options(self) -> dict[str, Any]:
        """Those of the model."""
        kinds = ("features", "log-linear", "corpus") if self.top else ("one-hot", "softmax", "none")
        options = dict(zip(("input", "output", "background"), kinds, strict=True))
        options |= {"features_from": "corpus", "top_types": self.top, "word_identity": bool(self.top)}
        return options | {"embedding_size": self.size, "hidden_size": self.size, "layers": LAYERS}


@dataclass(frozen=True, kw_only=True)
class Task(tasks.Windows):
    """Batches x (n, WINDOW, B) and their targets y (n, B).

    counts (V,), tag_indptr and tag_indices: corpus counts and tags of the types.
    """

    counts: np.ndarray
    tag_indptr: np.ndarray
    tag_indices: np.ndarray
    learning_rate, rho, epsilon = 0.001, 0.9, 1e-8

    @property
    def flops_a_token(self) -> float:
        """Those of a target's dense products in our engine, forward, backward and update: 6 a weight and row.

        W_1 has a row for each class of a batch, in place of each word. A window's first step has no product with U.
        """
        w = self.workload
        rows = LAYERS * (WINDOW - 1) + (LAYERS - 1) * WINDOW + self._count_classes() / w.batch
        return 6 * w.size * (4 * w.size * rows + w.features)

    def _count_classes(self) -> float:
        """Return the mean number of distinct classes in a batch: of types with equal features, or of types."""
        from reprise.engines.loglinear.classes import Classes

        model = build_model(self)
        classes = Classes.from_features(model.features, model.E).class_of_type.numpy() if model.features else None
        numbers = self.x if classes is None else classes[self.x]
        return statistics.mean(len(np.unique(batch)) for batch in numbers)

    @property
    def bytes_a_token(self) -> float:
        """Traffic of the weights: those of the states are read in every step but the first, forward and back.

        The others are read once forward and once back. RMSProp reads and writes all weights and their mean squares; it
        reads the output layer's on the way back.
        """
        w = self.workload
        state_bytes, output_bytes = 4 * LAYERS * 4 * w.size**2, 4 * w.size * w.features
        products = 2 * (WINDOW - 1) * state_bytes + 2 * (w.weight_bytes - state_bytes)
        return (products + 4 * w.weight_bytes - output_bytes) / w.batch


WORKLOADS = (
    Workload("m2500-b32", batch=32, top=2500),
    Workload("m2500-b128", batch=128, top=2500),
    Workload("softmax-b32", batch=32, top=0),
    Workload("softmax-b128", batch=128, top=0),
)

GOALS = (
    Goal("m2500-b32", "fused", 5, "sparse"),
    Goal("m2500-b32", "fused", 10, "dense"),
    Goal("m2500-b32", "fused", 10, "sparse", stretch=True),
    Goal("m2500-b32", "fused", 20, "dense", stretch=True),
    Goal("softmax-b128", "fused", 2, "softmax", stretch=True),
)

_PEERS = {"dense": "dense features", "sparse": "torch.sparse"}
TABLE_ROWS = (tasks.TableRow("m2500-b32", "004, LL-RNN, M = 2500, batches of 32", "words", _PEERS),)

BATCHES = 60
# Without a treebank: words of a Zipf-Mandelbrot law, and as many bundles of tags as the rarer types of one have.
_BUNDLES, _TAGS_OF_A_TYPE = 450, 4


def make_member(stack: Any, model: Any) -> Any:
    """Return a member of a stack that trains as the Engine does."""
    from reprise.engines.stack import join_stack

    options = {"optimiser": "rmsprop", "learning_rate": Task.learning_rate, "rho": Task.rho, "epsilon": Task.epsilon}
    return join_stack(stack, "windows", model, options)


def build_model(task: Task, generator: Any = None) -> Any:
    """Make the readable model; its parameters are zero, or drawn with the `generator`."""
    from reprise.models.lexicon import BooleanCSR, Lexicon
    from reprise.models.loglinear import LogLinearRNN, initialise

    tags = BooleanCSR(task.tag_indptr, task.tag_indices.astype(np.int64), task.workload.tags)
    types, labels = ([str(i) for i in range(n)] for n in (len(task.counts), task.workload.tags))
    counted, tags_of = (dict.fromkeys(("corpus", "train"), values) for values in (task.counts, tags))
    model = LogLinearRNN(Lexicon(types, labels, counted, tags_of), **task.workload.options)
    if generator:
        initialise(model, generator)
    return model


def make_task(
    workload: Workload, folder: Path, batches: int = BATCHES, corpora: Path = tasks.CORPORA
) -> tuple[Task, dict[str, Any]]:
    """Write a task of so many batches to `folder`; the task, and facts about it."""
    from reprise import counters

    tokens, arrays, origin = _make_text(workload, corpora)
    starts = counters.draw_uniform32(counters.compute_key(tasks.SEED), 0, batches * workload.batch) % (
        len(tokens) - WINDOW
    )
    windows = tokens[starts[:, None] + np.arange(WINDOW + 1)].reshape(batches, workload.batch, WINDOW + 1)
    x, y = windows[..., :-1].transpose(0, 2, 1).copy(), windows[..., -1].copy()
    return tasks.write_task(Task(workload=workload, x=x, y=y, **arrays), folder, text=origin, batches=batches)


def _make_text(workload: Workload, corpora: Path) -> tuple[np.ndarray, dict[str, np.ndarray], str]:
    """Return tokens, what is known of their types, and where they come from."""
    V, K = workload.vocabulary, workload.tags
    match = tasks.find_corpus(
        "ud-french-gsd-*.npz", lambda c: (len(c.vocabulary), len(c.facts.get("tags", ()))) == (V, K), corpora
    )
    if match is not None:
        corpus, path = match
        names = {"counts": "corpus_counts", "tag_indptr": "tag_indptr", "tag_indices": "tag_indices"}
        arrays = {name: corpus.extra[key] for name, key in names.items()}
        return corpus.splits["train"].tokens, arrays, f"training text of {path}"
    random = np.random.default_rng(0)
    tokens = tasks.draw_zipf(V, 200_000, random)
    bundles = random.random((_BUNDLES, K)) < _TAGS_OF_A_TYPE / K
    indptr, indices = pack_sparse_rows(bundles[random.integers(_BUNDLES, size=V)])
    arrays = {"counts": 1 + np.bincount(tokens, minlength=V), "tag_indptr": indptr, "tag_indices": indices}
    return tokens, arrays, f"{tasks.RANDOM_WORDS} with random tags"


class Engine(tasks.Engine):
    """Says its log-perplexity besides."""

    def step(self, batch: int) -> float:
        from reprise.engines.loglinear import RMSPropSettings

        task = self.task
        settings = RMSPropSettings(learning_rate=task.learning_rate, rho=task.rho, epsilon=task.epsilon)
        return self.engine.train(self.x[batch], self.y[batch], settings)

    def log_perplexity(self) -> float:
        """Nats per word of the first batch, in the precision in which it is trained."""
        return self.engine.evaluate(self.x[0], self.y[0]) / len(self.y[0])


fused = partial(Engine, name="fused")
