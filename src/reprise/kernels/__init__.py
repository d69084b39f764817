"""The fast engines, each held to the readable model by a test."""

from __future__ import annotations

import sys

import torch
from torch import nn

from reprise.errors import UserError
from reprise.kernels.build import NoCompiler
from reprise.kernels.fused import FusedEngine
from reprise.kernels.hand import HandEngine
from reprise.kernels.reference import ReferenceEngine
from reprise.kernels.subsequences import SubsequenceEngine, Subsequences, cut

ENGINES = {"reference": ReferenceEngine, "hand": HandEngine, "fused": FusedEngine}

__all__ = ["ENGINES", "SubsequenceEngine", "Subsequences", "choose_engine", "cut"]


def choose_engine(name: str, model: nn.Module) -> SubsequenceEngine:
    """The engine called `name` (reference, hand, fused) around `model`.

    "auto" is fused; hand where there is no compiler, said on stderr, and in other precisions than
    float32. Raises UserError for another name, and where fused is asked for and cannot be had.
    """
    single = model.W_h.dtype == torch.float32
    if name == "auto":
        if not single:
            return HandEngine(model)
        try:
            return FusedEngine(model)
        except NoCompiler as reason:
            print(f"reprise: {reason}: training with torch, 4 times slower or more", file=sys.stderr)
            return HandEngine(model)
    if name not in ENGINES:
        raise UserError(f"engine: {name} is none of auto, {', '.join(ENGINES)}")
    if name == "fused" and not single:
        raise UserError("engine: fused computes in float32 only; choose engine: hand or reference")
    try:
        return ENGINES[name](model)
    except NoCompiler as reason:
        remedy = "install a C++ compiler or choose engine: hand"
        raise UserError(f"engine: fused: {reason}; {remedy}") from reason
