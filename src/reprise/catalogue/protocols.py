"""The training protocols that the configuration may name, and their classes.

Each class states which models it trains (`TRAINS`), its options (`OPTIONS`) and the rest of `ProtocolEntry`.
"""

from reprise.catalogue.stated import Entry, Stated


class ProtocolEntry(Entry):
    """A protocol's class."""

    models = Stated("TRAINS", ("none",))
    """The models that it calls in the way they are made for; "none" where it trains nothing."""
    model_options = Stated("READS", ())
    """Options of the model that it reads itself: for the sizes and the first weights."""
    predicted = Stated("PREDICTED", "")
    """Which tokens are predicted and counted; "" where none is."""
    gpu = Stated("GPU", False)
    """Whether it can use a GPU."""
    chance = Stated("CHANCE", True)
    """Whether a replica's number is in its results; where it is not, one replica says all."""
    counted = Stated("COUNTED", ())
    """Splits whose numbers have no chance in them, of a protocol that has."""

    @property
    def trains(self) -> bool:
        return self.models != ("none",)


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
