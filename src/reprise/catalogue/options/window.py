"""Document 003, section 1.3: the window-based neural language model."""

from typing import Literal

from reprise.catalogue.options.base import ClipNorm, Count, Options
from reprise.catalogue.options.training import Halving


class WindowModel(Options):
    """A network of one hidden layer that reads the last words."""

    name: Literal["window-lm"]
    embedding_size: Count
    hidden_size: Count
    window: Count
    """words that are read"""
    direct: bool
    """whether embeddings are connected to the output"""


class WindowSGD(Halving):
    """Plain SGD on windows in random order."""

    name: Literal["window-sgd"]
    boundary: Literal["sentence", "text"]
    """what a window ends at"""
    batch_size: Count
    """windows an update"""
    clip_norm: ClipNorm
