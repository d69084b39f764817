"""Training of document 004's models: the LL-RNN of M = 2500, and the softmax RNN that it is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise import counters
from reprise.bench.goals import Goal
from reprise.bench.llrnn_engines import build_model
from reprise.bench.llrnn_task import CHECKED, WINDOW, Task, Workload, write_task
from reprise.bench.task import update_norms
from reprise.bench.tensors import numpy_of, words_of
from reprise.bench.texts import CORPORA
from reprise.data.corpus import Corpus
from reprise.engines.loglinear.choose import ReferenceEngine
from reprise.errors import UserError
from reprise.models.loglinear import initialise

WORKLOADS = (
    Workload("m2500-b32", batch=32, top=2500),
    Workload("m2500-b128", batch=128, top=2500),
    Workload("softmax-b32", batch=32, top=0),
    Workload("softmax-b128", batch=128, top=0),
)

_LL, _SOFTMAX = ("m2500-b32", "fused"), ("softmax-b128", "fused")

GOALS = (
    Goal(_LL, 5.0, ("m2500-b32", "sparse")),
    Goal(_LL, 10.0, ("m2500-b32", "dense")),
    Goal(_LL, 10.0, ("m2500-b32", "sparse"), stretch=True),
    Goal(_LL, 20.0, ("m2500-b32", "dense"), stretch=True),
    Goal(_SOFTMAX, 2.0, ("softmax-b128", "softmax"), stretch=True),
)

BATCHES = 60
_RATES, _SEED = {"learning_rate": 0.001, "rho": 0.9, "epsilon": 1e-8}, 1
_CORPUS = "ud-french-gsd-*.npz"
# Without a treebank: words of a Zipf-Mandelbrot law, and as many bundles of tags as the rarer types of one have.
_SHIFT, _EXPONENT, _BUNDLES, _TAGS_OF_A_TYPE = 2.7, 1.05, 450, 4


def make_task(workload: Workload, folder: Path, batches: int = BATCHES, corpora: Path = CORPORA) -> tuple[Task, dict]:
    """Writes a task of so many batches to `folder`; the task, and facts about it."""
    tokens, known, origin = _text(workload, corpora)
    starts = counters.uniform32(counters.key(_SEED), 0, batches * workload.batch) % (len(tokens) - WINDOW)
    windows = tokens[starts[:, None] + np.arange(WINDOW + 1)].reshape(batches, workload.batch, WINDOW + 1)
    x, y = windows[..., :-1].transpose(0, 2, 1).copy(), windows[..., -1].copy()
    bare = Task(workload, x, y, **known, weights={}, **_RATES)
    model = build_model(bare)
    initialise(model, torch.Generator().manual_seed(_SEED))
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    task = Task(workload, x, y, **known, weights=weights, **_RATES)
    write_task(task, folder)
    return task, {
        "text": origin,
        "batches": batches,
        "parameters": sum(value.numel() for value in model.parameters()),
    }


def expected(task: Task) -> dict[str, Any]:
    """Loss and norms of the updates of the readable model with autograd in double precision.

    Before them its log-perplexity of the first batch, that of the dense computation: engines of ours have to show it.
    """
    engine = ReferenceEngine(build_model(task).double())
    x, y = words_of(task)
    log_perplexity = engine.evaluate(x[0], y[0]) / len(y[0])
    loss = sum(engine.train(x[i], y[i], **task.rates) for i in range(CHECKED))
    return {
        "log_perplexity": log_perplexity,
        "loss": loss,
        "update_norms": update_norms(task.weights, numpy_of(engine.export())),
    }


def _text(workload: Workload, corpora: Path) -> tuple[np.ndarray, dict[str, np.ndarray], str]:
    """Tokens, what is known of their types, and where they come from."""
    for path in sorted(corpora.glob(_CORPUS)):
        try:
            corpus = Corpus.load(path)
        except UserError:
            continue
        if (len(corpus.vocabulary), len(corpus.facts.get("tags", ()))) == (workload.vocabulary, workload.tags):
            names = {"counts": "corpus_counts", "tag_indptr": "tag_indptr", "tag_indices": "tag_indices"}
            known = {name: corpus.extra[key] for name, key in names.items()}
            return corpus.splits["train"].tokens, known, f"training text of {path.as_posix()}"
    return *_random(workload), "random words of a Zipf-Mandelbrot law with random tags"


def _random(workload: Workload) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    V, random = workload.vocabulary, np.random.default_rng(0)
    weights = (np.arange(1, V + 1) + _SHIFT) ** -_EXPONENT
    tokens = random.choice(V, 200_000, p=weights / weights.sum()).astype(np.int32)
    bundles = random.random((_BUNDLES, workload.tags)) < _TAGS_OF_A_TYPE / workload.tags
    types, indices = np.nonzero(bundles[random.integers(_BUNDLES, size=V)])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(types, minlength=V))])
    counts = 1 + np.bincount(tokens, minlength=V)
    return tokens, {"counts": counts, "tag_indptr": indptr, "tag_indices": indices.astype(np.int32)}
