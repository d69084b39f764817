"""Document 003, section 1.3: the window-based neural language model."""

from typing import Literal

from reprise.catalogue.options.base import ClipNorm, Count, EmbeddingSize, HiddenSize, Options
from reprise.catalogue.options.training import Halving


class WindowModel(Options):
    """A network of one hidden layer that reads the last words."""

    name: Literal["window-lm"]
    embedding_size: EmbeddingSize
    hidden_size: HiddenSize
    window: Count
    """words that the network reads"""
    direct: bool
    """whether embeddings are connected to the output"""


class WindowSGD(Halving):
    """Plain SGD on windows in random order."""

    name: Literal["window-sgd"]
    boundary: Literal["sentence", "text"]
    """whether a window ends at its sentence or at the text"""
    batch_size: Count
    """windows an update"""
    clip_norm: ClipNorm
