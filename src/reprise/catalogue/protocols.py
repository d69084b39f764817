"""The training protocols that the configuration may name; their options are in `reprise.catalogue.options`."""

from dataclasses import dataclass, replace

from reprise.catalogue.loading import source_of
from reprise.catalogue.wording import ByOption, Wording

_NGRAMS = ("relative-ngram", "additive-ngram", "backoff-ngram", "kneser-ney")


@dataclass(frozen=True)
class Protocol:
    """A protocol's class, "module:Class", and what is known of it without running it."""

    target: str
    models: tuple[str, ...]
    """The models that it trains; "none" where it trains nothing."""
    predicted: Wording = ""
    """Which tokens are predicted and counted, for readers of a loss; "" where none is."""
    gpu: bool = True
    """Whether it can use a GPU."""
    chance: bool = True
    """Whether a replica's number is in its results; where it is not, one replica says all."""
    any_module: bool = False
    """Whether it trains torch modules of one's own, named by import path, and no others."""
    counted: tuple[str, ...] = ()
    """Splits whose numbers have no chance in them, of a protocol that has."""

    @property
    def file(self) -> str:
        return source_of(self.target.partition(":")[0])

    @property
    def trains(self) -> bool:
        return self.models != ("none",)


_ROWS = {
    "corpus-facts": Protocol("corpus_facts:CorpusFacts", ("none",), gpu=False),
    "final-digit": Protocol("palindromes:FinalDigit", ("elman", "lstm"), "the last one of every palindrome"),
    "character-windows": Protocol(
        "books:CharacterWindows",
        ("stacked-lstm",),
        "{length} of every window, all but its first; of a text that the model writes, all that it writes",
    ),
    "subsequence-sgd": Protocol(
        "rntn:SubsequenceSGD", ("r-rntn", "m-rnn"), "all, but for the first of a text without sentences"
    ),
    "batched-sgd": Protocol(
        "gated:BatchedSGD",
        ("gru-lm", "lstm-lm"),
        "all, but for the first of a text without sentences; of the training text fewer than {batch_size} at its end "
        "are left out",
    ),
    "line-epochs": Protocol("gso:LineEpochs", ("gso", "first-order", "mi-rnn"), "all but the first of every line"),
    "windows": Protocol(
        "loglinear:Windows",
        ("log-linear", "log-linear-logistic"),
        ByOption(
            "scheme",
            {
                "sliding": "all but the first {window} of a split",
                "sliding-in-order": "all but the first {window} of a split",
                "streams": "all but the first of a split; of the training text fewer than {batch_size} at its end are "
                "left out",
            },
        ),
    ),
    "ngram": Protocol("ngram:NGramCount", ("n-gram",), "all but the first of every line", gpu=False),
    "word-ngram": Protocol("word_ngram:WordNGramCount", (*_NGRAMS, "stupid-backoff"), "all", gpu=False, chance=False),
    "word-order": Protocol("word_order:WordOrder", _NGRAMS, gpu=False, counted=("phrases",)),
    "language-model": Protocol(
        "language_model:LanguageModel",
        (),
        "all, but for the first of a text without sentences; of the training text fewer than {batch_size} at its end "
        "are left out",
        any_module=True,
    ),
    "tagging": Protocol("tagging:Tagging", ("tagger",), "a tag for every one"),
    "sentence-labels": Protocol("tagging:SentenceLabels", ("sentence-classifier",), "a label for every sentence"),
    "translation": Protocol("translation:Translation", ("translation",), "all, each after the true ones before it"),
    "recall": Protocol("recall:Recall", ("notes-rnn", "notes-gru", "notes-lstm"), "the name at the end of every text"),
    "random-jacobians": Protocol("recall:RandomJacobians", ("notes-rnn",), gpu=False),
    "error-surface": Protocol("error_surface:ErrorSurface", ("single-unit",), gpu=False, chance=False),
    "window-sgd": Protocol("window:WindowSGD", ("window-lm",), "all"),
}
PROTOCOLS = {name: replace(row, target=f"reprise.training.protocols.{row.target}") for name, row in _ROWS.items()}
"""`training: {protocol: …}` -> file and class in src/reprise/training/protocols/, and what is known of it."""
