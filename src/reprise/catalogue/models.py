"""The models, one equation family a file; this registry is what the configuration may name.

Nothing here imports torch: the graph is built where torch need not be installed.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reprise.errors import UserError, beyond_memory
from reprise.options import COUNT, NATURAL, NOT_NEGATIVE, POSITIVE, Options
from reprise.registered import load, source_of

if TYPE_CHECKING:
    from torch import nn


FILE = "src/reprise/catalogue/models.py"


class ModelRefused(ValueError):
    """Sizes or options that a model's constructor does not take: some bounds only the corpus knows."""


@dataclass(frozen=True)
class ModelEntry:
    """A model's class ("module:Class") and its options."""

    target: str
    options: Options

    def build(self, **sizes_and_options: Any) -> nn.Module:
        """The module; its parameters are not initialised yet.

        Raises `ModelRefused`, and `UserError` where the class is not there or does not take what it is made with.
        """
        where = f"{FILE}: key {next((f'MODELS[{key!r}]' for key, entry in MODELS.items() if entry is self), 'MODELS')}"
        made = load(self.target, where)
        takes = inspect.signature(made)
        try:
            takes.bind(**sizes_and_options)
        except TypeError:
            module, _, name = self.target.partition(":")
            raise UserError(
                f"{where}: {name} of {source_of(module)} takes {', '.join(takes.parameters) or 'nothing'}, and is made "
                f"with {', '.join(sizes_and_options)}; give its arguments the names of the options"
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


_WEIGHT_LAWS = ("fan-in-truncated-normal", "fan-in-truncated-normal-corrected")
_NORMAL = {"weight_std": NOT_NEGATIVE, "bias_law": ("normal", "zero")}
_GATED = {
    "embedding_size": COUNT,
    "hidden_size": COUNT,
    "matrices": COUNT,
    "mapping": ("f", "f_mod"),
    "weight_range": NOT_NEGATIVE,
}
_MATRIX_LAWS = ("orthogonal", "glorot-uniform")
_RECURRENT = {
    "hidden_size": COUNT,
    "recurrent_law": ("gaussian", "identity"),
    "recurrent_scale": NOT_NEGATIVE,
    "input_std": NOT_NEGATIVE,
}
_BIAS_START = {"b_law": ("zero", "normal"), "b_std": NOT_NEGATIVE}
_SENTENCES = {
    "embedding_size": COUNT,
    "hidden_size": COUNT,
    "layers": COUNT,
    "directions": ("forward", "both"),
    "lower_layer": ("both", "own"),
    "activation": ("tanh", "sigmoid", "relu"),
}

MODELS: dict[str, ModelEntry] = {
    "none": ModelEntry("", {}),  # for protocols that train nothing
    "elman": ModelEntry("reprise.models.elman:Elman", {"hidden_size": COUNT, "weight_law": _WEIGHT_LAWS}),
    "lstm": ModelEntry("reprise.models.lstm:LSTM", {"hidden_size": COUNT, "weight_law": _WEIGHT_LAWS}),
    "r-rntn": ModelEntry(
        "reprise.models.rntn:RNTN",
        {
            "hidden_size": COUNT,
            "matrices": COUNT,
            "mapping": ("f", "f_mod"),
            "bias": ("matrix", "shared"),
            "h_0": float,
            **_NORMAL,
        },
    ),
    "m-rnn": ModelEntry(
        "reprise.models.mrnn:MRNN",
        {"hidden_size": COUNT, "factors": COUNT, "factor_law": ("normal", "one"), "h_0": float, **_NORMAL},
    ),
    "gru-lm": ModelEntry("reprise.models.gated:GRU", _GATED),
    "lstm-lm": ModelEntry("reprise.models.gated:LSTM", _GATED),
    "stacked-lstm": ModelEntry(
        "reprise.models.deep_lstm:StackedLSTM",
        {
            "hidden_size": COUNT,
            "layers": COUNT,
            "activation": ("relu", "tanh"),
            "forget_bias": float,
            "kernel_law": ("glorot-uniform", "fan-in-truncated-normal"),
            "output_law": ("fan-in-truncated-normal",),
        },
    ),
    "gso": ModelEntry(
        "reprise.models.gso:GSO",
        {
            "hidden_size": COUNT,
            "second_order_size": COUNT,
            "input_term": bool,
            "recurrent_term": bool,
            "activation": ("tanh", "identity"),
            "matrix_law": _MATRIX_LAWS,
            "f_law": ("zero", "normal"),
            "f_std": NOT_NEGATIVE,
        },
    ),
    "first-order": ModelEntry(
        "reprise.models.gso:FirstOrder",
        {"hidden_size": COUNT, "activation": ("tanh", "identity"), "matrix_law": _MATRIX_LAWS, **_BIAS_START},
    ),
    "mi-rnn": ModelEntry(
        "reprise.models.gso:MultiplicativeIntegration",
        {
            "hidden_size": COUNT,
            "activation": ("tanh", "identity"),
            "form": ("simple", "general"),
            "matrix_law": _MATRIX_LAWS,
            **_BIAS_START,
            "alpha": float,
            "beta_1": float,
            "beta_2": float,
        },
    ),
    "log-linear": ModelEntry(
        "reprise.models.loglinear:LogLinearRNN",
        {
            "input": ("one-hot", "features"),
            "output": ("softmax", "log-linear"),
            "background": ("none", "corpus", "train"),
            "features_from": ("corpus", "train"),
            "top_types": NATURAL,
            "word_identity": bool,
            "embedding_size": COUNT,
            "hidden_size": COUNT,
            "layers": COUNT,
        },
    ),
    "n-gram": ModelEntry("reprise.models.ngram:NGram", {"order": COUNT, "smoothing": ("witten-bell",)}),
    "relative-ngram": ModelEntry("reprise.models.word_ngram:Relative", {"order": COUNT}),
    "additive-ngram": ModelEntry("reprise.models.word_ngram:Additive", {"order": COUNT, "delta": POSITIVE}),
    "stupid-backoff": ModelEntry("reprise.models.word_ngram:StupidBackoff", {"order": COUNT, "alpha": NOT_NEGATIVE}),
    "backoff-ngram": ModelEntry("reprise.models.word_ngram:Backoff", {"order": COUNT}),
    "kneser-ney": ModelEntry("reprise.models.word_ngram:KneserNey", {"order": COUNT}),
    "window-lm": ModelEntry(
        "reprise.models.window:WindowModel",
        {"embedding_size": COUNT, "hidden_size": COUNT, "window": COUNT, "direct": bool},
    ),
    "notes-rnn": ModelEntry("reprise.models.recurrent:RNN", {"activation": ("sigmoid", "tanh", "relu"), **_RECURRENT}),
    "notes-gru": ModelEntry("reprise.models.recurrent:GRU", _RECURRENT),
    "notes-lstm": ModelEntry("reprise.models.recurrent:LSTM", _RECURRENT),
    "tagger": ModelEntry("reprise.models.bidirectional:Tagger", _SENTENCES),
    "sentence-classifier": ModelEntry(
        "reprise.models.pooling:SentenceClassifier", {**_SENTENCES, "pooling": ("last", "max", "mean")}
    ),
    "translation": ModelEntry(
        "reprise.models.translation:Translator",
        {
            "unit": ("rnn", "gru", "lstm"),
            "embedding_size": COUNT,
            "hidden_size": COUNT,
            "layers": COUNT,
            "untied": bool,
            "context": bool,
            "bidirectional": bool,
            "reverse_source": bool,
            "matrix_law": ("gaussian", "uniform"),
        },
    ),
    "single-unit": ModelEntry(
        "reprise.models.single_unit:SingleUnit", {"initial_state": float, "steps": COUNT, "target": float}
    ),
}
