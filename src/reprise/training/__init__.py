"""Training: protocols, checkpoints, locks, the loop that makes one run record of one replica.

This registry is what the configuration may name under `training.protocol`. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from reprise.config.options import Options


@dataclass(frozen=True)
class ProtocolEntry:
    """A protocol's class ("module:Class"), the models that it calls in the way they are made for, and its options.

    `models` are names of the models' registry; "none" is for a protocol that trains nothing. `gpu` says whether it can
    use a GPU, `chance` whether a replica's number is in its results; where it is not, one replica says all. Of one with
    chance, `counted` names the splits of whose numbers that is not so.
    """

    target: str
    models: tuple[str, ...]
    options: Options
    gpu: bool
    chance: bool = True
    counted: tuple[str, ...] = ()

    @property
    def trains(self) -> bool:
        return self.models != ("none",)


_SENTENCES: Options = {
    "batch_size": int,
    "optimiser": ("adam",),
    "learning_rate": float,
    "clip_norm": float,
    "patience": int,
    "max_epochs": int,
}

# Counted models of which every history is a distribution: the probability of a sentence means something.
_COUNTED = ("relative-ngram", "additive-ngram", "backoff-ngram", "kneser-ney")

PROTOCOLS: dict[str, ProtocolEntry] = {
    "corpus-facts": ProtocolEntry("reprise.training.corpus_facts:CorpusFacts", ("none",), {}, gpu=False),
    "final-digit": ProtocolEntry(
        "reprise.training.final_digit:FinalDigit",
        ("elman", "lstm"),
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
        ("stacked-lstm",),
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
        ("r-rntn", "m-rnn"),
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
        ("gru-lm", "lstm-lm"),
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
        ("gso", "first-order", "mi-rnn"),
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
        ("log-linear",),
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
        "reprise.training.ngram_count:NGramCount",
        ("n-gram",),
        {"counted_lines": ("train", "train-and-valid")},
        gpu=False,
    ),
    "word-ngram": ProtocolEntry(
        "reprise.training.word_ngram_count:WordNGramCount",
        (*_COUNTED, "stupid-backoff"),
        {"boundary": ("sentence", "text"), "halvings": int},
        gpu=False,
        chance=False,
    ),
    "word-order": ProtocolEntry("reprise.training.word_order:WordOrder", _COUNTED, {}, gpu=False, counted=("phrases",)),
    "tagging": ProtocolEntry("reprise.training.tagging:Tagging", ("tagger",), _SENTENCES, gpu=False),
    "sentence-labels": ProtocolEntry(
        "reprise.training.tagging:SentenceLabels", ("sentence-classifier",), _SENTENCES, gpu=False
    ),
    "translation": ProtocolEntry(
        "reprise.training.translation:Translation",
        ("translation",),
        {**_SENTENCES, "output_limit": int},
        gpu=False,
    ),
    "recall": ProtocolEntry(
        "reprise.training.recall:Recall",
        ("notes-rnn", "notes-gru", "notes-lstm"),
        {
            "steps": int,
            "batch_size": int,
            "text_lengths": ("half-without", "alike"),
            "optimiser": ("adam",),
            "learning_rate": float,
            "clip_norm": float,
            "log_every": int,
        },
        gpu=False,
    ),
    "random-jacobians": ProtocolEntry("reprise.training.recall:RandomJacobians", ("notes-rnn",), {}, gpu=False),
    "error-surface": ProtocolEntry(
        "reprise.training.error_surface:ErrorSurface",
        ("single-unit",),
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
        ("window-lm",),
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
