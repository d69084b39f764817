"""What the tests of the training on windows of characters share: a small configuration and a small corpus."""

from __future__ import annotations

import torch

from reprise.data.synthetic.synthetic_prose import prepare

CPU = torch.device("cpu")


def config(model=None, **training):
    options = {
        "batch_size": 4,
        "length": 10,
        "window_state": "zero",
        "steps": 41,
        "learning_rate": 0.0025,
        "decay": 0.96,
        "epsilon": 1e-10,
        "mean_square_start": "one",
        "clip_norm": 5.0,
        "log_every": 10,
        "sample_every": 20,
        "table_every": 20,
        "samples": 3,
        "sample_length": 30,
        "final_length": 50,
        "completions": 2,
        "temperature": 0.8,
    }
    sizes = {"hidden_size": 8, "layers": 2, "activation": "relu", "forget_bias": 1.0}
    laws = {"kernel_law": "glorot-uniform", "output_law": "fan-in-truncated-normal"}
    return {
        "model": {"name": "stacked-lstm", "options": sizes | laws | (model or {})},
        "data": {"dataset": "synthetic-prose", "options": {}, "raw": {}},
        "training": {"protocol": "character-windows", "options": options | training},
        "precision": "float32",
    }


def make_corpus(folder):
    """The path of a corpus of some 10,000 characters, of known entropy."""
    options = {"vocabulary_size": 60, "training_sentences": 200, "licence_sentences": 40, "seed": 1}
    prepare(folder, options).save(folder / "c.npz")
    return folder / "c.npz"
