"""Training of document 000's networks: random batches of 64 lines, Adam, at the text's own line lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from reprise.bench.goals import Goal
from reprise.bench.gso_engines import Engine, build_model, with_weights
from reprise.bench.gso_lines import lines_for
from reprise.bench.gso_task import BATCH, Task, Workload, write_task
from reprise.bench.task import checked
from reprise.models.gso_start import initialise

WORKLOADS = (
    Workload("full-394", "gso", hidden=394, second_order=394, first_order=True, indexing=True),
    Workload("none-486", "gso", hidden=486, second_order=486),
    Workload("full-394-t110", "gso", hidden=394, second_order=394, first_order=True, length=110, indexing=True),
    Workload("first-order-680", "first-order", hidden=680),
    Workload("mi-rnn-678", "mi-rnn", hidden=678),
    Workload("bigrams-259", "gso", hidden=259, second_order=259, tokens="bigrams"),
)

GOALS = (
    *(Goal((name, "fused"), 3.5, (name, "eager")) for name in ("full-394", "none-486")),
    *(Goal((name, "fused"), 6.0, (name, "eager"), stretch=True) for name in ("full-394", "none-486")),
    *(Goal((name, "fused"), 0.45) for name in ("full-394", "none-486")),
    *(Goal((name, "fused"), 0.65, stretch=True) for name in ("full-394", "none-486")),
    Goal(("full-394-t110", "fused"), 1.4, ("full-394-t110", "jax")),
    *(Goal((name, "epoch"), 0.8, (name, "fused")) for name in ("full-394", "none-486")),
)

BATCHES = 6
_LEARNING_RATE, _EPSILON, _SEED = 0.3, 1.0, 1


def make_task(workload: Workload, folder: Path, batches: int = BATCHES) -> tuple[Task, dict[str, Any]]:
    """Writes a task of so many batches to `folder`; the task, and facts about it."""
    corpus, origin = lines_for(workload, batches)
    model = build_model(workload)
    multipliers = {"alpha": 1.0, "beta_1": 0.5, "beta_2": 0.5}
    generator = torch.Generator().manual_seed(_SEED)
    initialise(model, generator, "orthogonal", "normal", 0.1, multipliers)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    task = write_task(folder, workload, corpus, weights, _LEARNING_RATE, _EPSILON)
    cells = sum(task.padded(i).inputs.size for i in range(len(task)))
    return task, {
        "text": origin,
        "batches": len(task),
        "lines_a_batch": BATCH,
        "mean_predictions_a_line": round(task.tokens(0, len(task)) / len(task.training), 2),
        "padded_efficiency": round(task.tokens(0, len(task)) / cells, 4),
        "parameters": sum(value.numel() for value in model.parameters()),
    }


def expected(task: Task) -> dict[str, Any]:
    """Loss and norms of the updates of the readable model with autograd in double precision."""
    return checked(task, Engine(task, "reference", with_weights(task).double()))
