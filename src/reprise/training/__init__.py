"""Training: protocols, checkpoints, locks, the loop that makes one run record of one replica.

This registry is what the configuration may name under `training.protocol`. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from reprise.config.options import Options


@dataclass(frozen=True)
class ProtocolEntry:
    """A protocol's class ("module:Class"), its options, whether it can use a GPU, and whether it trains a model.

    `chance` says whether a replica's number is in its results; where it is not, one replica says all.
    """

    target: str
    options: Options
    gpu: bool
    trains: bool = True
    chance: bool = True


_SENTENCES: Options = {
    "batch_size": int,
    "optimiser": ("adam",),
    "learning_rate": float,
    "clip_norm": float,
    "patience": int,
    "max_epochs": int,
}

PROTOCOLS: dict[str, ProtocolEntry] = {
    "corpus-facts": ProtocolEntry("reprise.training.corpus_facts:CorpusFacts", {}, gpu=False, trains=False),
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
    "character-windows": ProtocolEntry(
        "reprise.training.character_windows:CharacterWindows",
        {
            "batch_size": int,
            "length": int,
            "window_state": ("zero", "carried"),
            "steps": int,
            "learning_rate": float,
            "decay": float,
            "epsilon": float,
            "mean_square_start": ("one", "zero"),
            "clip_norm": float,
            "log_every": int,
            "sample_every": int,
            "table_every": int,
            "samples": int,
            "sample_length": int,
            "final_length": int,
            "completions": int,
            "temperature": float,
        },
        gpu=False,
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
    "line-epochs": ProtocolEntry(
        "reprise.training.line_epochs:LineEpochs",
        {
            "batch_size": int,
            "optimiser": ("adam",),
            "learning_rate": float,
            "clip_norm": float,
            "max_epochs": int,
            "loss_reduction": ("mean-tokens", "mean-lines"),
            "selection": ("best-valid",),
        },
        gpu=False,
    ),
    "windows": ProtocolEntry(
        "reprise.training.windows:Windows",
        {
            "scheme": ("sliding", "streams"),
            "window": int,
            "batch_size": int,
            "optimiser": ("rmsprop",),
            "learning_rate": float,
            "rho": float,
            "epsilon": float,
            "patience": int,
            "max_epochs": int,
            "sample_words": int,
        },
        gpu=False,
    ),
    "ngram": ProtocolEntry(
        "reprise.training.ngram_count:NGramCount", {"counted_lines": ("train", "train-and-valid")}, gpu=False
    ),
    "word-ngram": ProtocolEntry(
        "reprise.training.word_ngram_count:WordNGramCount",
        {"boundary": ("sentence", "text"), "halvings": int},
        gpu=False,
        chance=False,
    ),
    "word-order": ProtocolEntry("reprise.training.word_order:WordOrder", {}, gpu=False),
    "tagging": ProtocolEntry("reprise.training.tagging:Tagging", _SENTENCES, gpu=False),
    "sentence-labels": ProtocolEntry("reprise.training.tagging:SentenceLabels", _SENTENCES, gpu=False),
    "translation": ProtocolEntry(
        "reprise.training.translation:Translation",
        {**_SENTENCES, "output_limit": int},
        gpu=False,
    ),
    "recall": ProtocolEntry(
        "reprise.training.recall:Recall",
        {
            "steps": int,
            "batch_size": int,
            "optimiser": ("adam",),
            "learning_rate": float,
            "clip_norm": float,
            "log_every": int,
        },
        gpu=False,
    ),
    "random-jacobians": ProtocolEntry("reprise.training.recall:RandomJacobians", {}, gpu=False),
    "error-surface": ProtocolEntry(
        "reprise.training.error_surface:ErrorSurface",
        {
            "learning_rate": float,
            "threshold": float,
            "updates": int,
            "points": int,
            **{f"{axis}_{place}": float for axis in "wb" for place in ("start", "low", "high")},
        },
        gpu=False,
        chance=False,
    ),
    "window-sgd": ProtocolEntry(
        "reprise.training.window_sgd:WindowSGD",
        {
            "boundary": ("sentence", "text"),
            "batch_size": int,
            "learning_rate": float,
            "clip_norm": float,
            "schedule": ("halve-below-ratio",),
            "halving_ratio": float,
            "patience": int,
            "max_epochs": int,
        },
        gpu=False,
    ),
}
