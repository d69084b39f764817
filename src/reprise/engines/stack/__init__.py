"""Many replicas of one experiment in one training, with the readable models: the engine of a GPU, and of `--engine
stacked` on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from reprise.engines.stack.loglinear import LogLinearMember
from reprise.engines.stack.optimisers import Adam, RMSProp
from reprise.engines.stack.sentences import LineMember, SentenceMember, TranslationMember
from reprise.engines.stack.stack import NAME, Member, OutOfMemory, Stack
from reprise.engines.stack.symbols import BookMember, PalindromeMember, RecallMember
from reprise.engines.stack.words import GatedMember, SubsequenceMember, WindowMember

__all__ = ["NAME", "Member", "OutOfMemory", "Stack", "join"]


def join(stack: Stack, protocol: str, model: nn.Module, options: Mapping[str, Any]) -> Member:
    """The engine of a replica in this stack: `model` has its first weights, `options` are those of `protocol`."""
    clip = options.get("clip_norm", 0.0)
    match protocol:
        case "final-digit":
            return PalindromeMember(stack, model, clip)
        case "character-windows":
            first = 1.0 if options["mean_square_start"] == "one" else 0.0
            optimiser = RMSProp(options["decay"], 0.0, inside=options["epsilon"], first=first)
            return BookMember(stack, model, optimiser, clip)
        case "subsequence-sgd":
            return SubsequenceMember(stack, model, options["loss_reduction"])
        case "batched-sgd":
            return GatedMember(stack, model, options["loss_reduction"], clip)
        case "line-epochs":
            return LineMember(stack, model, Adam(epsilon=options.get("epsilon", 1e-8)), clip)
        case "windows":
            epsilon, inside = options["epsilon"], 0.0
            if options["optimiser"] == "rmsprop-epsilon-inside":
                epsilon, inside = inside, epsilon
            return LogLinearMember(stack, model, RMSProp(options["rho"], epsilon, inside))
        case "window-sgd":
            return WindowMember(stack, model, clip)
        case "tagging" | "sentence-labels":
            return SentenceMember(stack, model, clip, of_words=protocol == "tagging")
        case "translation":
            return TranslationMember(stack, model, clip)
        case "recall":
            return RecallMember(stack, model, clip)
    raise ValueError(f"no stack trains by the protocol {protocol}")
