"""What the tests of the training on parallel streams share: a configuration, a corpus, an engine that is watched."""

from __future__ import annotations

import torch

from reprise.catalogue.spec import DatasetSpec
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus, Split
from reprise.training.protocols.gated import BatchedSGD

CPU = torch.device("cpu")


def config(model="gru-lm", sizes=None, **training):
    options = {
        "batch_size": 4,
        "steps": 10,
        "loss_reduction": "sum-steps",
        "learning_rate": 1.0,
        "dropout": 0.5,
        "clip_norm": 5.0,
        "schedule": "halve-below-ratio",
        "halving_ratio": 1.003,
        "patience": 2,
        "max_epochs": 2,
    }
    small = {"embedding_size": 12, "hidden_size": 8, "matrices": 3, "mapping": "f", "weight_range": 0.05}
    return {
        "model": {"name": model, "options": small | (sizes or {})},
        "data": {"dataset": "synthetic", "options": {}, "raw": {}},
        "training": {"protocol": "batched-sgd", "options": options | training},
        "precision": "float32",
    }


def make_corpus(folder):
    """The path of a corpus of 40 words and a few thousand tokens, of known entropy."""
    spec = DatasetSpec("synthetic", "generated", "none", "", "synthetic")
    options = {"vocabulary_size": 40, "training_sentences": 200, "seed": 1}
    prepare_corpus(spec, options, folder / "raw", folder / "all.npz")
    whole = Corpus.load(folder / "all.npz")
    for split in ("valid", "test"):  # 60 of 400 sentences are enough
        offsets = whole.splits[split].offsets[:61]
        whole.splits[split] = Split(whole.splits[split].tokens[: offsets[-1]], offsets)
    whole.save(folder / "c.npz")
    return folder / "c.npz"


class Recorder:
    """Stands before an engine and keeps what it is given."""

    def __init__(self, engine):
        self.engine, self.trained, self.evaluated = engine, [], []

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def train(self, x, y, masks, **options):
        before = tuple(s.clone() for s in self.engine.state)
        loss = self.engine.train(x, y, masks, **options)
        self.trained.append((x, y, masks, options, before, self.engine.state))
        return loss

    def evaluate(self, x, y):
        before = tuple(s.clone() for s in self.engine.state)
        loss = self.engine.evaluate(x, y)
        self.evaluated.append((x, y, before, loss))
        return loss


def recorded(*arguments, **training):
    made = BatchedSGD(config(**training), 0, *arguments, "auto", CPU)
    made.kernel = Recorder(made.kernel)
    return made


def epoch(training):
    while training.epoch == 0:
        training.advance()
    return training.kernel
