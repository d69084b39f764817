"""Training of document 001's gated language models: GRU and LSTM (K = 1), r-GRU and r-LSTM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from reprise.bench.gated_engines import build_model, eager
from reprise.bench.gated_task import STEPS, STREAMS, Task, Workload, write_task
from reprise.bench.goals import Goal
from reprise.bench.task import checked
from reprise.bench.texts import running_words
from reprise.models.gated import GRU, LSTM, initialise

WORKLOADS = (
    Workload("r-gru-244-k100", "gru", hidden=244, matrices=100),
    Workload("r-lstm-254-k100", "lstm", hidden=254, matrices=100),
    Workload("gru-650", "gru", hidden=650),
    Workload("lstm-650", "lstm", hidden=650),
)

GOALS = (
    Goal(("r-gru-244-k100", "grouped"), 1.6, ("r-gru-244-k100", "eager")),
    Goal(("r-lstm-254-k100", "grouped"), 1.6, ("r-lstm-254-k100", "eager")),
    Goal(("r-gru-244-k100", "grouped"), 4.0, ("r-gru-244-k100", "eager"), stretch=True),
    Goal(("r-lstm-254-k100", "grouped"), 4.0, ("r-lstm-254-k100", "eager"), stretch=True),
    Goal(("lstm-650", "grouped"), 2.0, ("lstm-650", "library"), stretch=True),
)

WINDOWS = 12
_LEARNING_RATE, _DROPOUT, _CLIP_NORM, _RANGE, _SEED = 1.0, 0.5, 5.0, 0.05, 1


def make_task(workload: Workload, folder: Path, windows: int = WINDOWS) -> tuple[Task, dict[str, Any]]:
    """Writes a task of so many windows to `folder`; the task, and facts about it."""
    steps = windows * STEPS
    words, origin = running_words(workload.dataset, workload.vocabulary, STREAMS * steps + 1)
    # each stream is a stretch of the text, read in windows
    x, y = (part.reshape(STREAMS, windows, STEPS).transpose(1, 2, 0).copy() for part in (words[:-1], words[1:]))
    model = {"gru": GRU, "lstm": LSTM}[workload.cell](
        workload.vocabulary, workload.embedding, workload.hidden, workload.matrices
    )
    initialise(model, _RANGE, torch.Generator().manual_seed(_SEED))
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    task = Task(workload, x, y, weights, _LEARNING_RATE, _DROPOUT, _CLIP_NORM, key=_SEED)
    write_task(task, folder)
    count = sum(value.numel() for value in model.parameters())
    return task, {"text": origin, "windows": windows, "steps": STEPS, "streams": STREAMS, "parameters": count}


def expected(task: Task) -> dict[str, Any]:
    """Loss and norms of the updates of the readable model with autograd in double precision."""
    engine = eager(task)
    engine.kernel.model.load_state_dict(build_model(task).state_dict())
    engine.kernel.model.double()
    engine.kernel.reset(task.x.shape[2])
    return checked(task, engine)
