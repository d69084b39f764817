"""Training: protocols, checkpoints, locks, the loop that makes one run record of one replica.

This registry is what the configuration may name under `training.protocol`. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from reprise.catalogue.wording import ByOption, Wording
from reprise.options import COUNT, NATURAL, NOT_NEGATIVE, POSITIVE, SHARE, Number, Options, at_least


@dataclass(frozen=True)
class ProtocolEntry:
    """A protocol's class ("module:Class"), the models that it calls in the way they are made for, and its options.

    `models` are names of the models' registry; "none" is for a protocol that trains nothing. `predicted` says which
    tokens are predicted and counted, "" where none is. `gpu` says whether it can use a GPU, `chance` whether a
    replica's number is in its results; where it is not, one replica says all. Of one with chance, `counted` names the
    splits of whose numbers that is not so. `model_options` are those of every model of its that it reads itself, where
    it does not hand all to the model: for the sizes and the first weights.
    """

    target: str
    models: tuple[str, ...]
    predicted: Wording
    options: Options
    gpu: bool
    chance: bool = True
    counted: tuple[str, ...] = ()
    model_options: tuple[str, ...] = ()

    @property
    def trains(self) -> bool:
        return self.models != ("none",)


_SENTENCES: Options = {
    "batch_size": COUNT,
    "optimiser": ("adam",),
    "learning_rate": POSITIVE,
    "clip_norm": POSITIVE,
    "patience": COUNT,
    "max_epochs": COUNT,
}

_LINES = "all but the first of every line"

# Counted models of which every history is a distribution: the probability of a sentence means something.
_COUNTED = ("relative-ngram", "additive-ngram", "backoff-ngram", "kneser-ney")

PROTOCOLS: dict[str, ProtocolEntry] = {
    "corpus-facts": ProtocolEntry("reprise.training.protocols.corpus_facts:CorpusFacts", ("none",), "", {}, gpu=False),
    "final-digit": ProtocolEntry(
        "reprise.training.protocols.palindromes:FinalDigit",
        ("elman", "lstm"),
        "the last one of every palindrome",
        {
            "steps": COUNT,
            "batch_size": COUNT,
            "optimiser": ("adam",),
            "learning_rate": POSITIVE,
            "clip_norm": POSITIVE,
            "log_every": COUNT,
        },
        gpu=True,
    ),
    "character-windows": ProtocolEntry(
        "reprise.training.protocols.books:CharacterWindows",
        ("stacked-lstm",),
        "{length} of every window, all but its first; of a text that the model writes, all that it writes",
        {
            "batch_size": COUNT,
            "length": COUNT,
            "window_state": ("zero", "carried"),
            "steps": COUNT,
            "learning_rate": POSITIVE,
            "decay": SHARE,
            "epsilon": NOT_NEGATIVE,
            "mean_square_start": ("one", "zero"),
            "clip_norm": POSITIVE,
            # Some step is logged within the hundred steps around every mark.
            "log_every": Number(int, at_least=1, at_most=100),
            "sample_every": COUNT,
            "table_every": COUNT,
            "samples": COUNT,
            "sample_length": COUNT,
            "final_length": COUNT,
            "completions": NATURAL,
            "temperature": POSITIVE,
        },
        gpu=False,
    ),
    "subsequence-sgd": ProtocolEntry(
        "reprise.training.protocols.rntn:SubsequenceSGD",
        ("r-rntn", "m-rnn"),
        "all, but for the first of a text without sentences",
        {
            # What the engines have room for.
            "subsequence_length": Number(int, at_least=1, at_most=64),
            "loss_reduction": ("sum", "mean"),
            "learning_rate": POSITIVE,
            "dropout": SHARE,
            "schedule": ("halve-below-ratio", "rnnlm"),
            "halving_ratio": NOT_NEGATIVE,
            "patience": COUNT,
            "max_epochs": COUNT,
        },
        gpu=False,
        model_options=("hidden_size", "weight_std", "bias_law"),
    ),
    "batched-sgd": ProtocolEntry(
        "reprise.training.protocols.gated:BatchedSGD",
        ("gru-lm", "lstm-lm"),
        "all, but for the first of a text without sentences; of the training text fewer than {batch_size} at its end "
        "are left out",
        {
            "batch_size": COUNT,
            "steps": COUNT,
            "loss_reduction": ("sum-steps", "mean-steps"),
            "learning_rate": POSITIVE,
            "dropout": SHARE,
            "clip_norm": POSITIVE,
            "schedule": ("halve-below-ratio",),
            "halving_ratio": NOT_NEGATIVE,
            "patience": COUNT,
            "max_epochs": COUNT,
        },
        gpu=True,
        model_options=("embedding_size", "hidden_size", "weight_range"),
    ),
    "line-epochs": ProtocolEntry(
        "reprise.training.protocols.gso:LineEpochs",
        ("gso", "first-order", "mi-rnn"),
        _LINES,
        {
            "batch_size": COUNT,
            "optimiser": ("adam",),
            "learning_rate": POSITIVE,
            "clip_norm": NOT_NEGATIVE,  # 0 for none
            "max_epochs": COUNT,
            "loss_reduction": ("mean-tokens", "mean-lines"),
            "selection": ("best-valid",),
        },
        gpu=False,
        model_options=("matrix_law",),
    ),
    "windows": ProtocolEntry(
        "reprise.training.protocols.loglinear:Windows",
        ("log-linear",),
        ByOption(
            "scheme",
            {
                "sliding": "all but the first {window} of a split",
                "streams": "all but the first of a split; of the training text fewer than {batch_size} at its end are "
                "left out",
            },
        ),
        {
            "scheme": ("sliding", "streams"),
            "window": COUNT,
            "batch_size": COUNT,
            "optimiser": ("rmsprop", "rmsprop-epsilon-inside"),
            "learning_rate": POSITIVE,
            "rho": SHARE,
            "epsilon": NOT_NEGATIVE,
            "patience": COUNT,
            "max_epochs": COUNT,
            "sample_words": COUNT,
        },
        gpu=False,
    ),
    "ngram": ProtocolEntry(
        "reprise.training.protocols.ngram:NGramCount",
        ("n-gram",),
        _LINES,
        {"counted_lines": ("train", "train-and-valid")},
        gpu=False,
    ),
    "word-ngram": ProtocolEntry(
        "reprise.training.protocols.word_ngram:WordNGramCount",
        (*_COUNTED, "stupid-backoff"),
        "all",
        {"boundary": ("sentence", "text"), "halvings": NATURAL},
        gpu=False,
        chance=False,
    ),
    "word-order": ProtocolEntry(
        "reprise.training.protocols.word_order:WordOrder", _COUNTED, "", {}, gpu=False, counted=("phrases",)
    ),
    "tagging": ProtocolEntry(
        "reprise.training.protocols.tagging:Tagging", ("tagger",), "a tag for every one", _SENTENCES, gpu=False
    ),
    "sentence-labels": ProtocolEntry(
        "reprise.training.protocols.tagging:SentenceLabels",
        ("sentence-classifier",),
        "a label for every sentence",
        _SENTENCES,
        gpu=False,
    ),
    "translation": ProtocolEntry(
        "reprise.training.protocols.translation:Translation",
        ("translation",),
        "all, each after the true ones before it",
        {**_SENTENCES, "output_limit": COUNT},
        gpu=False,
    ),
    "recall": ProtocolEntry(
        "reprise.training.protocols.recall:Recall",
        ("notes-rnn", "notes-gru", "notes-lstm"),
        "the name at the end of every text",
        {
            "steps": COUNT,
            "batch_size": COUNT,
            "text_lengths": ("half-without", "alike"),
            "optimiser": ("adam",),
            "learning_rate": POSITIVE,
            "clip_norm": POSITIVE,
            "log_every": COUNT,
        },
        gpu=False,
    ),
    "random-jacobians": ProtocolEntry(
        "reprise.training.protocols.recall:RandomJacobians", ("notes-rnn",), "", {}, gpu=False
    ),
    "error-surface": ProtocolEntry(
        "reprise.training.protocols.error_surface:ErrorSurface",
        ("single-unit",),
        "",
        {
            "learning_rate": POSITIVE,
            "threshold": POSITIVE,
            "updates": COUNT,
            "points": at_least(2),
            **{f"{axis}_{place}": float for axis in "wb" for place in ("start", "low", "high")},
        },
        gpu=False,
        chance=False,
    ),
    "window-sgd": ProtocolEntry(
        "reprise.training.protocols.window:WindowSGD",
        ("window-lm",),
        "all",
        {
            "boundary": ("sentence", "text"),
            "batch_size": COUNT,
            "learning_rate": POSITIVE,
            "clip_norm": POSITIVE,
            "schedule": ("halve-below-ratio",),
            "halving_ratio": NOT_NEGATIVE,
            "patience": COUNT,
            "max_epochs": COUNT,
        },
        gpu=False,
        model_options=("embedding_size", "hidden_size", "window"),
    ),
}
