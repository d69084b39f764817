"""The training protocols that the configuration may name, and their classes.

Each class states which models it trains (`TRAINS`), its options (`OPTIONS`) and the rest of `ProtocolEntry`.
"""

from __future__ import annotations

from reprise.catalogue.stated import Entry, Wording, stated
from reprise.options import Options


class ProtocolEntry(Entry):
    """A protocol's class."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it calls in the way they are made for; "none" where it trains nothing (`TRAINS`)."""
        return stated(self.target, "TRAINS", ("none",))

    @property
    def trains(self) -> bool:
        return self.models != ("none",)

    @property
    def options(self) -> Options:
        """As of every entry, but a protocol may state none."""
        return stated(self.target, "OPTIONS", None) or {}

    @property
    def model_options(self) -> tuple[str, ...]:
        """Options of the model that it reads itself: for the sizes and the first weights (`READS`)."""
        return stated(self.target, "READS", ())

    @property
    def predicted(self) -> Wording:
        """Which tokens are predicted and counted; "" where none is (`PREDICTED`)."""
        return stated(self.target, "PREDICTED", "")

    @property
    def gpu(self) -> bool:
        """Whether it can use a GPU (`GPU`)."""
        return stated(self.target, "GPU", False)

    @property
    def chance(self) -> bool:
        """Whether a replica's number is in its results; where it is not, one replica says all (`CHANCE`)."""
        return stated(self.target, "CHANCE", True)

    @property
    def counted(self) -> tuple[str, ...]:
        """Splits whose numbers have no chance in them, of a protocol that has (`COUNTED`)."""
        return stated(self.target, "COUNTED", ())


_CLASSES = {
    "corpus-facts": "corpus_facts:CorpusFacts",
    "final-digit": "palindromes:FinalDigit",
    "character-windows": "books:CharacterWindows",
    "subsequence-sgd": "rntn:SubsequenceSGD",
    "batched-sgd": "gated:BatchedSGD",
    "line-epochs": "gso:LineEpochs",
    "windows": "loglinear:Windows",
    "ngram": "ngram:NGramCount",
    "word-ngram": "word_ngram:WordNGramCount",
    "word-order": "word_order:WordOrder",
    "tagging": "tagging:Tagging",
    "sentence-labels": "tagging:SentenceLabels",
    "translation": "translation:Translation",
    "recall": "recall:Recall",
    "random-jacobians": "recall:RandomJacobians",
    "error-surface": "error_surface:ErrorSurface",
    "window-sgd": "window:WindowSGD",
}
"""`training: {protocol: …}` -> file and class in src/reprise/training/protocols/."""

PROTOCOLS = {name: ProtocolEntry(f"reprise.training.protocols.{target}") for name, target in _CLASSES.items()}
