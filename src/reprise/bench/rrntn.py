"""Batch-1 training of document 001's language models: r-RNTN (K = 1 is the s-RNN, K = V the RNTN), m-RNN.

One step of SGD for every 20 words on their summed loss, dropout 0.5 of the softmax input, as in training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from reprise import counters
from reprise.bench.engines import Engine, build_model
from reprise.bench.goals import Goal
from reprise.bench.task import Task, Workload, checked, write_task
from reprise.bench.texts import text_for
from reprise.models.rntn import initialise

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

_FUSED = ("ptb-h100-k100", "fused")
_RNTN = ("ptb-h100-k10000", "fused")
_TEXT8_FUSED = ("text8-h100-k376", "fused")

GOALS = (
    Goal(_FUSED, 8.0, ("ptb-h100-k100", "eager")),
    Goal(_FUSED, 12.0, ("ptb-h100-k100", "eager"), stretch=True),
    Goal(_FUSED, 2.5, ("ptb-h100-k100", "jax")),
    Goal(_FUSED, 2.5, ("ptb-h100-k100", "jax-rows")),
    Goal(_FUSED, 4.0, ("ptb-h100-k100", "jax"), stretch=True),
    Goal(_FUSED, 0.6),
    Goal(_FUSED, 0.75, stretch=True),
    Goal(_RNTN, 0.9, ("ptb-h100-k1", "fused")),
    Goal(_RNTN, 0.97, ("ptb-h100-k1", "fused"), stretch=True),
    Goal(_RNTN, 200.0, ("ptb-h100-k10000", "eager")),
    Goal(_RNTN, 300.0, ("ptb-h100-k10000", "eager"), stretch=True),
    Goal(_RNTN, 3.5, ("ptb-h100-k10000", "eager-sparse")),
    Goal(_TEXT8_FUSED, 6.0, ("text8-h100-k376", "eager")),
    Goal(_TEXT8_FUSED, 0.45),
    Goal(_TEXT8_FUSED, 0.65, stretch=True),
)

SUBSEQUENCES = 2000
_LEARNING_RATE, _DROPOUT, _DEVIATION, _SEED = 0.1, 0.5, 0.1**1.5, 1


def make_task(workload: Workload, folder: Path, count: int = SUBSEQUENCES) -> tuple[Task, dict[str, Any]]:
    """Writes a task of `count` subsequences (a multiple of BLOCK) to `folder`; the task, and facts about it."""
    data, origin = text_for(workload, count)
    model = build_model(workload)
    initialise(model, _DEVIATION, torch.Generator().manual_seed(_SEED))
    key = counters.key(_SEED, 0)
    task = Task(
        workload=workload,
        inputs=data.inputs,
        targets=data.targets,
        offsets=data.offsets,
        reset=data.reset,
        masks=counters.dropout_mask(key, 0, data.tokens, workload.hidden, _DROPOUT),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        learning_rate=_LEARNING_RATE,
        dropout=_DROPOUT,
        key=key,
    )
    write_task(task, folder)
    facts = {
        "text": origin,
        "subsequences": len(data),
        "mean_length": round(data.tokens / len(data), 2),
        "parameters": sum(value.numel() for value in model.parameters()),
    }
    return task, facts


def expected(task: Task) -> dict[str, Any]:
    """Loss and norms of the updates of the readable model with autograd over the first subsequences."""
    return checked(task, Engine(task, "reference"))
