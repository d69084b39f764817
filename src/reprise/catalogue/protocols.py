"""The training protocols that the configuration may name; their options are in `reprise.catalogue.options`."""

from dataclasses import dataclass, replace

from reprise.catalogue.wording import ByOption, Wording, get_source_path

_NGRAMS = ("relative-ngram", "additive-ngram", "backoff-ngram", "kneser-ney")
_SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Measures:
    """What every record of a protocol can hold: metrics of splits, and metrics on curves over an axis."""

    metrics: tuple[str, ...]
    curves: tuple[str, ...]
    axis: str
    splits: tuple[str, ...] = _SPLITS

    def has_metric(self, metric: str) -> bool:
        """Tell whether it is a metric, or the point of a curve, "<metric>@<axis>=<number>"."""
        name, at, place = metric.partition("@")
        if not at:
            return name in (*self.metrics, *self.curves)
        axis, _, number = place.rpartition("=")
        return name in self.curves and axis == self.axis and number.isdecimal()

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names that may be used, as people read them."""
        return *self.metrics, *(f"{name}@{self.axis}=<number>" for name in self.curves)


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
    measures: Measures | None = None
    """What its records hold; None where only they can say it, because it depends on text or options."""
    losses_by_count: tuple[str, ...] = ()
    """Test texts whose losses an evaluation splits by the counts of words in training."""

    @property
    def file(self) -> str:
        """Return the file of its class."""
        return get_source_path(self.target.partition(":")[0])

    @property
    def trains(self) -> bool:
        """Return whether a model learns in it."""
        return self.models != ("none",)


_LOSSES = Measures(
    ("cross_entropy", "perplexity", "source_entropy", "best_epoch", "epochs"),
    curves=("cross_entropy", "next_learning_rate"),
    axis="epoch",
)
"""Of language models that train by epochs with a learning rate for each."""

_ROWS = {
    "corpus-facts": Protocol("corpus_facts:CorpusFacts", ("none",), gpu=False),
    "final-digit": Protocol("palindromes:FinalDigit", ("elman", "lstm"), "the last one of every palindrome"),
    "character-windows": Protocol(
        "books:CharacterWindows",
        ("stacked-lstm",),
        "{length} of every window, all but its first; of a text that the model writes, all that it writes",
    ),
    "subsequence-sgd": Protocol(
        "rntn:SubsequenceSGD",
        ("r-rntn", "m-rnn"),
        "all, but for the first of a text without sentences",
        measures=_LOSSES,
        losses_by_count=("test",),
    ),
    "batched-sgd": Protocol(
        "gated:BatchedSGD",
        ("gru-lm", "lstm-lm"),
        "all, but for the first of a text without sentences; of the training text fewer than {batch_size} at its end "
        "are left out",
        measures=_LOSSES,
    ),
    "line-epochs": Protocol("gso:LineEpochs", ("gso", "first-order", "mi-rnn"), "all but the first of every line"),
    "windows": Protocol(
        "loglinear:WindowRMSProp",
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
        losses_by_count=("test1", "test2"),
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
        measures=_LOSSES,
    ),
    "tagging": Protocol("tagging:Tagging", ("tagger",), "a tag for every one"),
    "sentence-labels": Protocol("tagging:SentenceLabels", ("sentence-classifier",), "a label for every sentence"),
    "translation": Protocol("translation:Translation", ("translation",), "all, each after the true ones before it"),
    "recall": Protocol("recall:Recall", ("notes-rnn", "notes-gru", "notes-lstm"), "the name at the end of every text"),
    "random-jacobians": Protocol("recall:RandomJacobians", ("notes-rnn",), gpu=False),
    "error-surface": Protocol("error_surface:ErrorSurface", ("single-unit",), gpu=False, chance=False),
    "window-sgd": Protocol("window:WindowSGD", ("window-lm",), "all", measures=_LOSSES),
}
PROTOCOLS = {name: replace(row, target=f"reprise.training.protocols.{row.target}") for name, row in _ROWS.items()}
"""`training: {protocol: …}` -> file and class in src/reprise/training/protocols/, and what is known of it."""
