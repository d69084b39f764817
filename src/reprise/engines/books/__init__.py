"""The engines of document 002's character model, on windows of text."""

from reprise.engines.books.reference import ReferenceEngine
from reprise.engines.books.torch import LayerwiseEngine
from reprise.engines.choice import Choice
from reprise.models.deep_lstm import DeepLSTM

choose = Choice(ReferenceEngine, LayerwiseEngine, knows=(DeepLSTM,))
