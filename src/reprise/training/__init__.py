"""Training: protocols, checkpoints, locks, the loop that makes one run record of one replica.

This registry is what the configuration may name under `training.protocol`. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from reprise.config.options import Options


@dataclass(frozen=True)
class ProtocolEntry:
    """A protocol's class ("module:Class"), its options, and whether it can use a GPU."""

    target: str
    options: Options
    gpu: bool


PROTOCOLS: dict[str, ProtocolEntry] = {
    "final-digit": ProtocolEntry(
        "reprise.training.final_digit:FinalDigit",
        {
            "steps": int,
            "batch_size": int,
            "optimiser": ("adam",),
            "learning_rate": float,
            "clip_norm": float,
            "log_every": int,
        },
        gpu=True,
    ),
    "subsequence-sgd": ProtocolEntry(
        "reprise.training.subsequence_sgd:SubsequenceSGD",
        {
            "subsequence_length": int,
            "loss_reduction": ("sum", "mean"),
            "learning_rate": float,
            "dropout": float,
            "schedule": ("halve-below-ratio", "rnnlm"),
            "halving_ratio": float,
            "patience": int,
            "max_epochs": int,
        },
        gpu=False,
    ),
    "batched-sgd": ProtocolEntry(
        "reprise.training.batched_sgd:BatchedSGD",
        {
            "batch_size": int,
            "steps": int,
            "loss_reduction": ("sum-steps", "mean-steps"),
            "learning_rate": float,
            "dropout": float,
            "clip_norm": float,
            "schedule": ("halve-below-ratio",),
            "halving_ratio": float,
            "patience": int,
            "max_epochs": int,
        },
        gpu=True,
    ),
}
