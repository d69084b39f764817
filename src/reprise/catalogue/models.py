"""The models that the configuration may name, and their classes; their options are in `reprise.catalogue.options`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from reprise.catalogue.own import find_module_file, is_own, load_own
from reprise.catalogue.wording import get_source_path
from reprise.errors import UserError, is_memory_error

if TYPE_CHECKING:
    from torch import nn


class ModelRefused(ValueError):
    """Sizes or options that a model's constructor does not take: some bounds only the corpus knows."""


@dataclass(frozen=True)
class Model:
    """A model's class, "module:Class" ("" where nothing is trained).

    Its constructor takes all options but those of its initialisation, which the protocol passes on to that.
    """

    target: str
    initialisation: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Return the file of its class."""
        module = self.target.partition(":")[0]
        return get_source_path(module) if module.startswith("reprise.") else str(find_module_file(module) or module)

    def build(self, options: Mapping[str, Any], **sizes: Any) -> nn.Module:
        """Make the module; its parameters are not initialised yet.

        Args:
            options: the experiment's options of the model.
            **sizes: what the corpus decides, e.g. `vocabulary`.

        Raises:
            ModelRefused: where the class refuses a size or an option.
            UserError: where the class does not take what it is made with.
        """
        is_own_model = not self.target.startswith("reprise.")
        factory = load_own(self.target) if is_own_model else resolve_name(self.target)
        arguments = sizes | {name: value for name, value in options.items() if name not in self.initialisation}
        signature = inspect.signature(factory)
        try:
            signature.bind(**arguments)
        except TypeError:
            raise UserError(
                f"{self.file}: {self.target.partition(':')[2]} takes {', '.join(signature.parameters) or 'nothing'}; "
                f"its protocol and options give it {', '.join(arguments)}: name its arguments so"
            ) from None
        try:
            return factory(**arguments)
        except (ValueError, RuntimeError, MemoryError) as error:
            if is_memory_error(error):
                numbers = {name: value for name, value in arguments.items() if type(value) is int}
                largest = f", with {max(numbers, key=numbers.get)} {max(numbers.values())}" if numbers else ""
                raise ModelRefused(f"needs more memory than there is{largest}") from error
            if not isinstance(error, ValueError):
                raise
            raise ModelRefused(str(error)) from error


def _make_model(target: str, *initialisation: str) -> Model:
    return Model(f"reprise.models.{target}", initialisation)


MODELS = {
    "none": Model(""),
    "elman": _make_model("elman:Elman"),
    "lstm": _make_model("lstm:LSTM"),
    "r-rntn": _make_model("rntn:RNTN", "weight_std", "bias_law"),
    "m-rnn": _make_model("mrnn:MRNN", "weight_std", "bias_law", "factor_law"),
    "gru-lm": _make_model("gated:GRU", "weight_range"),
    "lstm-lm": _make_model("gated:LSTM", "weight_range"),
    "stacked-lstm": _make_model("deep_lstm:DeepLSTM"),
    "gso": _make_model("gso:GSO", "matrix_law", "f_law", "f_std"),
    "first-order": _make_model("gso:FirstOrder", "matrix_law", "b_law", "b_std"),
    "mi-rnn": _make_model(
        "gso:MultiplicativeIntegration", "matrix_law", "b_law", "b_std", "alpha", "beta_1", "beta_2", "multiplier_std"
    ),
    "log-linear": _make_model("loglinear:LogLinearRNN"),
    "log-linear-logistic": _make_model("loglinear:LogisticGates"),
    "n-gram": _make_model("ngram:NGram"),
    "relative-ngram": _make_model("word_ngram:Relative"),
    "additive-ngram": _make_model("word_ngram:Additive"),
    "stupid-backoff": _make_model("word_ngram:StupidBackoff"),
    "backoff-ngram": _make_model("word_ngram:Backoff"),
    "kneser-ney": _make_model("word_ngram:KneserNey"),
    "window-lm": _make_model("window:WindowModel"),
    "notes-rnn": _make_model("recall_networks:RNN"),
    "notes-gru": _make_model("recall_networks:GRU"),
    "notes-lstm": _make_model("recall_networks:LSTM"),
    "tagger": _make_model("bidirectional:Tagger"),
    "sentence-classifier": _make_model("pooling:SentenceClassifier"),
    "translation": _make_model("translation:Translator"),
    "single-unit": _make_model("single_unit:SingleUnit"),
}
"""`model: {name: …}` -> file and class in src/reprise/models/, and the options of its initialisation."""


def find_model(name: str) -> Model:
    """Look a model up: one of the catalogue, or one of one's own by its import path."""
    return Model(name) if is_own(name) else MODELS[name]
