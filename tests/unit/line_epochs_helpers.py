"""What the tests of the training by epochs over lines share: configurations, and the same losses line by line."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from reprise.data.corpus import Corpus
from reprise.models.gso import GSO

CPU = torch.device("cpu")
MODEL_OPTIONS = {
    "gso": {
        "hidden_size": 12,
        "second_order_size": 9,
        "input_term": True,
        "recurrent_term": False,
        "activation": "tanh",
        "matrix_law": "orthogonal",
        "f_law": "normal",
        "f_std": 0.1,
    },
    "first-order": {
        "hidden_size": 10,
        "activation": "tanh",
        "matrix_law": "glorot-uniform",
        "b_law": "zero",
        "b_std": 0.1,
    },
}


def config(model="gso", sizes=None, **training):
    options = {
        "batch_size": 8,
        "optimiser": "adam",
        "learning_rate": 0.02,
        "clip_norm": 0.0,
        "max_epochs": 3,
        "loss_reduction": "mean-tokens",
        "selection": "best-valid",
    }
    return {
        "model": {"name": model, "options": MODEL_OPTIONS[model] | (sizes or {})},
        "data": {"dataset": "lines", "options": {"folds": 2}, "raw": {}},
        "training": {"protocol": "line-epochs", "options": options | training},
        "precision": "float32",
    }


def losses_line_by_line(path, fold, part, parameters):
    """Nats of each predicted token of the part's lines, from the readable model on one line after another."""
    loaded = Corpus.load(path)
    model = GSO(len(loaded.vocabulary), 12, 9, True, False, "tanh")
    model.load_state_dict(parameters)
    found, split = [], loaded.splits["lines"]
    for i in np.flatnonzero(loaded.extra["part"][fold] == part):
        tokens = torch.from_numpy(split.tokens[split.offsets[i] : split.offsets[i + 1]]).long()
        if len(tokens) > 1:
            with torch.no_grad():
                found.append(functional.cross_entropy(model(tokens[:-1, None])[:, 0], tokens[1:], reduction="none"))
    return found


def lines_of(batch):
    """The places of each line's targets."""
    line = np.arange(len(batch)) - np.repeat(batch.starts[:-1], batch.active)
    return [batch.places[line == i].tolist() for i in range(batch.active[0])]
