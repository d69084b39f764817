"""The models that the configuration may name, and their classes; each class states its own options (`OPTIONS`)."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from reprise.catalogue.stated import Entry, load
from reprise.errors import UserError, beyond_memory

if TYPE_CHECKING:
    from torch import nn


class ModelRefused(ValueError):
    """Sizes or options that a model's constructor does not take: some bounds only the corpus knows."""


class ModelEntry(Entry):
    """A model's class; "" where nothing is trained."""

    def build(self, **sizes_and_options: Any) -> nn.Module:
        """The module; its parameters are not initialised yet.

        Raises `ModelRefused`, and `UserError` where the class does not take what it is made with.
        """
        made = load(self.target, "src/reprise/catalogue/models.py")
        takes = inspect.signature(made)
        try:
            takes.bind(**sizes_and_options)
        except TypeError:
            raise UserError(
                f"{self.file}: {self.target.partition(':')[2]} takes {', '.join(takes.parameters) or 'nothing'}; its "
                f"protocol and options give it {', '.join(sizes_and_options)}: name its arguments so"
            ) from None
        try:
            return made(**sizes_and_options)
        except (ValueError, RuntimeError, MemoryError) as error:
            if beyond_memory(error):
                sizes = {name: value for name, value in sizes_and_options.items() if type(value) is int}
                largest = f", with {max(sizes, key=sizes.get)} {max(sizes.values())}" if sizes else ""
                raise ModelRefused(f"needs more memory than there is{largest}") from error
            if not isinstance(error, ValueError):
                raise
            raise ModelRefused(str(error)) from error


_CLASSES = {
    "none": "",  # for protocols that train nothing
    "elman": "elman:Elman",
    "lstm": "lstm:LSTM",
    "r-rntn": "rntn:RNTN",
    "m-rnn": "mrnn:MRNN",
    "gru-lm": "gated:GRU",
    "lstm-lm": "gated:LSTM",
    "stacked-lstm": "deep_lstm:DeepLSTM",
    "gso": "gso:GSO",
    "first-order": "gso:FirstOrder",
    "mi-rnn": "gso:MultiplicativeIntegration",
    "log-linear": "loglinear:LogLinearRNN",
    "log-linear-logistic": "loglinear:LogisticGates",
    "n-gram": "ngram:NGram",
    "relative-ngram": "word_ngram:Relative",
    "additive-ngram": "word_ngram:Additive",
    "stupid-backoff": "word_ngram:StupidBackoff",
    "backoff-ngram": "word_ngram:Backoff",
    "kneser-ney": "word_ngram:KneserNey",
    "window-lm": "window:WindowModel",
    "notes-rnn": "recurrent:RNN",
    "notes-gru": "recurrent:GRU",
    "notes-lstm": "recurrent:LSTM",
    "tagger": "bidirectional:Tagger",
    "sentence-classifier": "pooling:SentenceClassifier",
    "translation": "translation:Translator",
    "single-unit": "single_unit:SingleUnit",
}
"""`model: {name: …}` -> file and class in src/reprise/models/."""

MODELS = {name: ModelEntry(target and f"reprise.models.{target}") for name, target in _CLASSES.items()}
