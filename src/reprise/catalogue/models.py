"""The models that the configuration may name, and their classes; their options are in `reprise.catalogue.options`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from reprise.catalogue.own import is_own, load_own
from reprise.catalogue.wording import source_of
from reprise.errors import UserError, beyond_memory

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
        """The file of its class."""
        module = self.target.partition(":")[0]
        return source_of(module) if module.startswith("reprise.") else f"{module.replace('.', '/')}.py"

    def build(self, options: Mapping[str, Any], **sizes: Any) -> nn.Module:
        """Make the module; its parameters are not initialised yet.

        Args:
            options: the experiment's options of the model.
            **sizes: what the corpus decides, e.g. `vocabulary`.

        Raises:
            ModelRefused: where the class refuses a size or an option.
            UserError: where the class does not take what it is made with.
        """
        own = not self.target.startswith("reprise.")
        made = load_own(self.target) if own else resolve_name(self.target)
        arguments = sizes | {name: value for name, value in options.items() if name not in self.initialisation}
        takes = inspect.signature(made)
        try:
            takes.bind(**arguments)
        except TypeError:
            raise UserError(
                f"{self.file}: {self.target.partition(':')[2]} takes {', '.join(takes.parameters) or 'nothing'}; its "
                f"protocol and options give it {', '.join(arguments)}: name its arguments so"
            ) from None
        try:
            return made(**arguments)
        except (ValueError, RuntimeError, MemoryError) as error:
            if beyond_memory(error):
                numbers = {name: value for name, value in arguments.items() if type(value) is int}
                largest = f", with {max(numbers, key=numbers.get)} {max(numbers.values())}" if numbers else ""
                raise ModelRefused(f"needs more memory than there is{largest}") from error
            if not isinstance(error, ValueError):
                raise
            raise ModelRefused(str(error)) from error


def _model(target: str, *initialisation: str) -> Model:
    return Model(f"reprise.models.{target}", initialisation)


MODELS = {
    "none": Model(""),
    "elman": _model("elman:Elman"),
    "lstm": _model("lstm:LSTM"),
    "r-rntn": _model("rntn:RNTN", "weight_std", "bias_law"),
    "m-rnn": _model("mrnn:MRNN", "weight_std", "bias_law", "factor_law"),
    "gru-lm": _model("gated:GRU", "weight_range"),
    "lstm-lm": _model("gated:LSTM", "weight_range"),
    "stacked-lstm": _model("deep_lstm:DeepLSTM"),
    "gso": _model("gso:GSO", "matrix_law", "f_law", "f_std"),
    "first-order": _model("gso:FirstOrder", "matrix_law", "b_law", "b_std"),
    "mi-rnn": _model(
        "gso:MultiplicativeIntegration", "matrix_law", "b_law", "b_std", "alpha", "beta_1", "beta_2", "multiplier_std"
    ),
    "log-linear": _model("loglinear:LogLinearRNN"),
    "log-linear-logistic": _model("loglinear:LogisticGates"),
    "n-gram": _model("ngram:NGram"),
    "relative-ngram": _model("word_ngram:Relative"),
    "additive-ngram": _model("word_ngram:Additive"),
    "stupid-backoff": _model("word_ngram:StupidBackoff"),
    "backoff-ngram": _model("word_ngram:Backoff"),
    "kneser-ney": _model("word_ngram:KneserNey"),
    "window-lm": _model("window:WindowModel"),
    "notes-rnn": _model("recurrent:RNN"),
    "notes-gru": _model("recurrent:GRU"),
    "notes-lstm": _model("recurrent:LSTM"),
    "tagger": _model("bidirectional:Tagger"),
    "sentence-classifier": _model("pooling:SentenceClassifier"),
    "translation": _model("translation:Translator"),
    "single-unit": _model("single_unit:SingleUnit"),
}
"""`model: {name: …}` -> file and class in src/reprise/models/, and the options of its initialisation."""


def find_model(name: str) -> Model:
    """Look a model up: one of the catalogue, or one of one's own by its import path."""
    return Model(name) if is_own(name) else MODELS[name]
