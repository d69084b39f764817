"""Small experiments: configurations, a corpus, jobs."""

import copy
from pathlib import Path

from reprise import cli
from reprise.data.synthetic import synthetic
from reprise.files import write_atomically
from reprise.records.resolved import Resolved
from reprise.training.trainer import Job

HALVING = {"schedule": "halve-below-ratio", "halving_ratio": 1.003, "patience": 2, "max_epochs": 2}
SENTENCES = {
    "model": {
        "name": "r-rntn",
        "options": {
            **{"hidden_size": 8, "matrices": 3, "mapping": "f", "bias": "matrix"},
            **{"h_0": 0.0, "weight_std": 0.03, "bias_law": "normal"},
        },
    },
    "data": {"dataset": "synthetic", "options": {}, "raw": {}},
    "training": {
        "protocol": "subsequence-sgd",
        "options": {
            **{"subsequence_length": 20, "loss_reduction": "sum", "learning_rate": 0.1, "dropout": 0.5},
            **HALVING,
        },
    },
    "precision": "float32",
}
WINDOWS = {
    "model": {
        "name": "gru-lm",
        "options": {"embedding_size": 12, "hidden_size": 8, "matrices": 3, "mapping": "f", "weight_range": 0.05},
    },
    "data": {"dataset": "synthetic", "options": {}, "raw": {}},
    "training": {
        "protocol": "batched-sgd",
        "options": {
            **{"batch_size": 4, "steps": 10, "loss_reduction": "sum-steps"},
            **{"learning_rate": 0.1, "dropout": 0.5, "clip_norm": 0.5},
            **HALVING,
        },
    },
    "precision": "float32",
}

DIGITS = {
    "model": {"name": "elman", "options": {"hidden_size": 8, "weight_law": "fan-in-truncated-normal"}},
    "data": {"dataset": "palindromes", "options": {"length": 5}, "raw": {}},
    "training": {
        "protocol": "final-digit",
        "options": {"steps": 1800, "batch_size": 16, "optimiser": "adam", "learning_rate": 0.01}
        | {"clip_norm": 10.0, "log_every": 25},
    },
    "precision": "float32",
}


def make_corpus(folder: Path) -> Path:
    """A corpus of 40 words: 60 sentences to train on, 15 and 15 to evaluate on."""
    options = {"vocabulary_size": 40, "training_sentences": 60, "seed": 1}
    synthetic.prepare(folder / "raw", options, held_out=15).save(folder / "c.npz")
    return folder / "c.npz"


def experiment(name, base, corpus, replicas=1, tier="quick", **changes) -> Resolved:
    """`base` with some options changed, each where it stands."""
    config = copy.deepcopy(base)
    for option, value in changes.items():
        section = next(s for s in ("model", "training") if option in config[s]["options"])
        config[section]["options"][option] = value
    return Resolved("p", name, tier, name, replicas, config, {}, str(corpus) if corpus else None)


def jobs_of(experiments: list[Resolved], folder: Path, engine: str = "auto") -> list[Job]:
    """All replicas; records and checkpoints go to `folder`."""
    return [
        Job(e, replica, folder / e.get_record_path(replica), corpus, engine, "cpu", root=folder)
        for e, corpus in ((e, Path(e.corpus) if e.corpus else None) for e in experiments)
        for replica in range(e.replicas)
    ]


def write(*experiments):
    """Resolved, where `run` looks for them."""
    for one in experiments:
        write_atomically(one.get_config_path(), one.to_json())
    return experiments


def run(*more):
    return cli.main(["run", "--tier", "quick", "--corpora", "corpora", "--output", "out", *more])


def records(resolved, folder="out"):
    return [path for path in resolved.list_record_paths() if (Path(folder) / path).exists()]


def small(name, **changes):
    return experiment(name, SENTENCES, "data/corpora/c.npz", **{"max_epochs": 1, **changes})
