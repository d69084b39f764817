"""What the tests of document 000's engines and training share: models, lines, a small corpus in folds."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch

from reprise.data.corpus import Corpus, Split
from reprise.engines.gso.choose import PackedEngine
from reprise.engines.gso.native import FusedPackedEngine
from reprise.engines.gso.packing import PackedBatch
from reprise.engines.gso.reference import PaddedEngine
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration, SymbolModel

ENGINES = {"fused": FusedPackedEngine}
# (vocabulary n, hidden H, second order M, activation) -> model
FAMILIES = {
    "gso": lambda n, H, M, act: GSO(n, H, M, True, True, act),
    "gso without E": lambda n, H, M, act: GSO(n, H, M, True, False, act),
    "gso without D": lambda n, H, M, act: GSO(n, H, M, False, True, act),
    "gso without D, E": lambda n, H, M, act: GSO(n, H, M, False, False, act),
    "first-order": lambda n, H, M, act: FirstOrder(n, H, act),
    "mi-rnn simple": lambda n, H, M, act: MultiplicativeIntegration(n, H, act, "simple"),
    "mi-rnn general": lambda n, H, M, act: MultiplicativeIntegration(n, H, act, "general"),
}


def drawn(family: str, n: int, H: int, M: int, activation: str, seed: int = 0) -> SymbolModel:
    """Normal weights under which states neither vanish nor explode over a hundred steps."""
    model = FAMILIES[family](n, H, M, activation)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            between_states = name in ("A", "C", "E", "W")
            std = 0.6 / p.shape[1] ** 0.5 if between_states else 0.4
            p.copy_(std * torch.randn(p.shape, generator=generator))
    return model


def lines(n: int, lengths: list[int], seed: int = 0) -> Split:
    """Lines of random symbols with so many tokens each."""
    tokens = np.random.default_rng(seed).integers(0, n, sum(lengths), dtype=np.int32)
    return Split(tokens, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def error(engine: type, model: SymbolModel, batch: PackedBatch, reduction: str) -> float:
    """The largest relative error of loss, losses of rows and gradients against the readable model in float64."""
    exact, fast = copy.deepcopy(model).double(), copy.deepcopy(model)
    reference: PackedEngine = PaddedEngine(exact)
    ours: PackedEngine = engine(fast)
    rows, _ = reference.evaluate(batch)
    found, _ = ours.evaluate(batch)
    loss, true = ours.train(batch, reduction), reference.train(batch, reduction)
    errors = [abs(loss - true) / true, np.abs(found - rows).max() / rows.max()]
    for (name, p), q in zip(fast.named_parameters(), exact.parameters(), strict=True):
        assert p.grad.shape == q.shape, name
        size = q.grad.norm()
        difference = (p.grad.double() - q.grad).norm()
        # a batch of one step has no gradient of the matrices between states
        errors.append((difference / size).item() if size else difference.item())
    return max(errors)


def corpus(folder: Path, count: int = 60, folds: int = 2, n: int = 6) -> Path:
    """Lines that can be learned, since most symbols follow from the one before, in `folds` folds."""
    random = np.random.default_rng(3)
    texts = []
    for length in random.integers(1, 30, count).tolist():
        text = [int(random.integers(n))]
        while len(text) < length:
            text.append((2 * text[-1] + 1) % n if random.random() < 0.9 else int(random.integers(n)))
        texts.append(text)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    split = Split(np.concatenate(texts).astype(np.int32), offsets)
    part = np.zeros((folds, count), np.uint8)
    for fold in range(folds):
        part[fold, fold::folds] = 2
        part[fold, np.flatnonzero(part[fold] == 0)[::10]] = 1
    counts = np.bincount(split.tokens, minlength=n).astype(np.int64)
    vocabulary = [" ", *"abcdefghijklmnopqrstuvwxyz"][:n]
    path = folder / "lines.npz"
    Corpus("lines", {"lines": split}, vocabulary, counts, {"boundaries": "line"}, extra={"part": part}).save(path)
    return path
