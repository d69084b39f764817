"""How long stacks would take on a named GPU: a model of the work, not a measurement.

An epoch of a stack takes the kernels that wait for each other, whatever the replicas, plus every replica's arithmetic
or memory traffic, whichever is slower. Only what trains in stacks is modelled; everything else keeps to CPU cores.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reprise.data.corpus import Corpus
from reprise.models.sizes import first_order_parameters, gso_parameters
from reprise.records.resolved import Resolved

KERNEL_SECONDS = 2e-6
"""From one kernel of a replayed graph to the next that waits for it: a common figure of recent GPUs."""
SHARE = 0.4
"""Of the peak arithmetic that products of these sizes reach; an assumption."""
_FLOAT = 4


@dataclass(frozen=True)
class Gpu:
    """Peak float32 operations a second outside tensor cores, and bytes a second, as the maker's data sheet has them."""

    title: str
    flops: float
    bandwidth: float


GPUS = {
    "v100": Gpu("NVIDIA V100 SXM2 32 GB", 15.7e12, 0.9e12),
    "a100": Gpu("NVIDIA A100 SXM 80 GB", 19.5e12, 2.039e12),
    "l40s": Gpu("NVIDIA L40S", 91.6e12, 0.864e12),
    "rtx4090": Gpu("NVIDIA GeForce RTX 4090", 82.6e12, 1.008e12),
    "h100": Gpu("NVIDIA H100 SXM 80 GB", 67e12, 3.35e12),
    "h200": Gpu("NVIDIA H200 SXM", 67e12, 4.8e12),
}


@dataclass(frozen=True)
class Work:
    """An epoch with its evaluations, or a step: kernels one after another, one replica's operations and bytes."""

    kernels: float
    flops: float
    traffic: float

    def seconds(self, gpu: Gpu, replicas: int) -> float:
        """Of one epoch, or step, of a stack of so many replicas."""
        one = max(self.flops / (SHARE * gpu.flops), self.traffic / gpu.bandwidth)
        return self.kernels * KERNEL_SECONDS + replicas * one


def seconds_of_stack(experiment: Resolved, replicas: int, count: float, gpu: Gpu, root: Path) -> float | None:
    """Seconds of `count` epochs, or steps, of a stack of so many replicas; None where the corpus is not prepared."""
    path = root / experiment.corpus if experiment.corpus else None
    if path is not None and not path.is_file():
        return None
    return count * work_of(experiment, _corpus(path) if path else None).seconds(gpu, replicas)


def work_of(experiment: Resolved, corpus: Corpus | None) -> Work:
    """The work of one epoch, or of one step where steps are counted; KeyError for what trains in no stack."""
    config = experiment.config
    options = {**config.get("data", {}).get("options", {}), **config["training"]["options"]}
    return _WORK[config["training"]["protocol"]](config["model"], options, corpus)


@functools.lru_cache(maxsize=2)
def _corpus(path: Path) -> Corpus:
    """Experiments of one paper share a corpus, and follow one another."""
    return Corpus.load(path)


def _subsequences(model: Mapping[str, Any], training: Mapping[str, Any], corpus: Corpus) -> Work:
    """Batch 1, an update a subsequence: two kernels a word forward, two back, and about a dozen a subsequence."""
    H, V = model["options"]["hidden_size"], len(corpus.vocabulary)
    train, other = corpus.splits["train"], _words(corpus) - len(corpus.splits["train"].tokens)
    lengths = np.diff(train.offsets)
    N, S = len(train.tokens), int(np.ceil(lengths / training["subsequence_length"]).sum())
    kernels = 4 * N + 12 * S + 2 * other
    flops = (6 * N + 2 * other) * (H * V + H * H)
    # The output matrix is read forward and back, and read and written by the update; so is a word's own matrix.
    return Work(kernels, flops, 4 * _FLOAT * (S * H * V + N * H * H))


def _windows(model: Mapping[str, Any], training: Mapping[str, Any], corpus: Corpus) -> Work:
    """Windows of a batch of streams: about ten kernels a step, twenty a window; evaluated word by word."""
    options, V = model["options"], len(corpus.vocabulary)
    H, E, gates = options["hidden_size"], options["embedding_size"], 3 if "gru" in model["name"] else 4
    weights = gates * (E * H + H * H) + H * V
    N = len(corpus.splits["train"].tokens)
    other = _words(corpus) - N
    steps = N / training["batch_size"]
    windows = steps / training["steps"]
    traffic = 4 * _FLOAT * windows * weights + _FLOAT * (2 * steps + other) * gates * H * H
    return Work(10 * steps + 20 * windows + 5 * other, (6 * N + 2 * other) * weights, traffic)


def _lines(model: Mapping[str, Any], training: Mapping[str, Any], corpus: Corpus) -> Work:
    """Batches of whole lines: as many steps as a batch's longest line, about a dozen kernels each."""
    options, V = model["options"], len(corpus.vocabulary)
    if model["name"] == "gso":
        terms = options["input_term"], options["recurrent_term"]
        weights = gso_parameters(options["hidden_size"], options["second_order_size"], V, *terms)
    else:
        weights = first_order_parameters(options["hidden_size"], V)
    lengths = np.concatenate([np.diff(split.offsets) for split in corpus.splits.values()])
    longest = _longest_of_batches(lengths, training["batch_size"])
    # Of five folds one is for testing, and a tenth of the others for validation.
    train = 0.8 * 0.9
    steps, tokens = float(longest.sum()), float(lengths.sum())
    kernels = (12 * train + 4 * (1 - train)) * steps + 40 * train * len(longest)
    flops = (6 * train + 2 * (1 - train)) * tokens * weights
    return Work(kernels, flops, _FLOAT * (3 * train + (1 - train)) * steps * weights)


def _log_linear(model: Mapping[str, Any], training: Mapping[str, Any], corpus: Corpus) -> Work:
    """RMSprop on windows of words: thirteen kernels a step of time and layer, seventy a batch; read forward besides.

    Every parameter goes through memory fifteen times in a step, whether the batch holds its word or not.
    """
    options, V, T = model["options"], len(corpus.vocabulary), training["window"]
    D, H, layers = (options[name] for name in ("embedding_size", "hidden_size", "layers"))
    tags = options["word_identity"] * (options["top_types"] + 1) + len(corpus.facts.get("tags", ()))
    inputs, outputs = (V if options[side] in ("one-hot", "softmax") else tags for side in ("input", "output"))
    lstm = 4 * H * (D + H) + 8 * H * H * (layers - 1)
    N, reads = len(corpus.splits["train"].tokens), T if training["scheme"] == "sliding" else 1  # words a target
    other, batches = _words(corpus) - N, N * reads / (T * training["batch_size"])
    weights = reads * lstm + H * outputs
    traffic = _FLOAT * (15 * batches * (D * inputs + H * outputs + lstm) + 20 * N * reads * layers * H)
    return Work((13 * T * layers + 70) * batches, (6 * N + 2 * other) * weights, traffic)


def _palindromes(model: Mapping[str, Any], training: Mapping[str, Any], corpus: None) -> Work:
    """A step on palindromes of ten digits: every digit but the last is read, there and back."""
    T, B, n = training["length"] - 1, training["batch_size"], model["options"]["hidden_size"]
    gates, kernels = (1, 4) if model["name"] == "elman" else (4, 12)
    return _of_steps(T, B, [gates * n * n], 10 * (gates + 1) * n, gates * n, kernels)


def _books(model: Mapping[str, Any], training: Mapping[str, Any], corpus: Corpus) -> Work:
    """A step on windows of a book: layer after layer, there and back."""
    n, layers, V = model["options"]["hidden_size"], model["options"]["layers"], len(corpus.vocabulary)
    between = [4 * n * n] * layers
    return _of_steps(training["length"], training["batch_size"], between, 5 * V * n + sum(between[1:]), 4 * n, 13)


def _of_steps(T: int, B: int, between: list[int], others: int, gates: int, kernels: int) -> Work:
    """T steps of time of B sequences: weights `between` states, a layer each, and `others`; sixty kernels at the end.

    Weights between states are read in every step of time, there and back; what a gate is goes through memory a dozen
    times.
    """
    flops = 6 * T * B * (sum(between) + others)
    traffic = _FLOAT * (2 * T * sum(between) + 12 * T * B * gates * len(between) + 10 * (sum(between) + others))
    return Work(kernels * T * len(between) + 60, flops, traffic)


def _longest_of_batches(lengths: np.ndarray, size: int) -> np.ndarray:
    """The longest line of every batch of an epoch in random order."""
    order = np.random.default_rng(0).permutation(len(lengths))
    return np.array([lengths[order[i : i + size]].max() for i in range(0, len(lengths), size)], dtype=float)


def _words(corpus: Corpus) -> int:
    return sum(len(split.tokens) for split in corpus.splits.values())


_WORK = {
    "subsequence-sgd": _subsequences,
    "batched-sgd": _windows,
    "line-epochs": _lines,
    "windows": _log_linear,
    "final-digit": _palindromes,
    "character-windows": _books,
}
