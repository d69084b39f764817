"""Many replicas of one experiment in one training, by the readable models: the engine of a GPU.

With `--engine stacked` it trains on a CPU too.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn

from reprise.engines.loglinear.reference import RMSPropSettings
from reprise.engines.optimisers import INITIAL_MEAN_SQUARES
from reprise.engines.stack.loglinear import LogLinearMember
from reprise.engines.stack.member import NAME, Member, Request, compute_result
from reprise.engines.stack.optimisers import SGD, Adam, Clip, RMSProp
from reprise.engines.stack.sentences import LineMember, SentenceMember, TranslationMember
from reprise.engines.stack.stack import OutOfMemory, Stack
from reprise.engines.stack.symbols import BookMember, PalindromeMember, RecallMember
from reprise.engines.stack.words import GatedMember, SubsequenceMember, WindowMember
from reprise.errors import UserError

__all__ = ["NAME", "Member", "OutOfMemory", "Request", "Stack", "compute_result", "join_stack"]


def join_stack(stack: Stack, protocol: str, model: nn.Module, options: Mapping[str, Any]) -> Member:
    """Make a replica's engine in a stack; `model` has its first weights, `options` are those of `protocol`."""
    clip_norm = options.get("clip_norm", 0.0)
    clip = Clip(clip_norm) if clip_norm else None
    match protocol:
        case "final-digit":
            return PalindromeMember(stack, model, Adam(), Clip(clip_norm, epsilon=1e-6))  # as torch clips
        case "character-windows":
            start = INITIAL_MEAN_SQUARES[options["mean_square_start"]]
            rms = RMSProp(options["decay"], 0.0, epsilon_inside=options["epsilon"], initial_mean_square=start)
            return BookMember(stack, model, rms, clip)
        case "subsequence-sgd":
            if options.get("error_bound"):
                raise UserError("engine: stacked does not bound errors; choose engine: fused or reference")
            return SubsequenceMember(stack, model, SGD(), reduction=options["loss_reduction"])
        case "batched-sgd":
            return GatedMember(stack, model, SGD(), clip, reduction=options["loss_reduction"])
        case "line-epochs":
            return LineMember(stack, model, Adam(), clip)
        case "windows":
            settings = RMSPropSettings.from_options(options)
            rms = RMSProp(settings.rho, settings.epsilon, settings.epsilon_inside)
            return LogLinearMember(stack, model, rms)
        case "window-sgd":
            return WindowMember(stack, model, SGD(), clip)
        case "tagging" | "sentence-labels":
            return SentenceMember(stack, model, Adam(), clip, classifies_words=protocol == "tagging")
        case "translation":
            return TranslationMember(stack, model, Adam(), clip)
        case "recall":
            return RecallMember(stack, model, Adam(), clip)
    raise ValueError(f"no stack trains by the protocol {protocol}")
