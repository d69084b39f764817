"""Document 001: gated networks whose candidate matrix depends on the word."""

from typing import Literal

from reprise.catalogue.options.base import (
    ClipNorm,
    Count,
    EmbeddingSize,
    HiddenSize,
    MatrixMapping,
    NotNegative,
    Options,
    Share,
)
from reprise.catalogue.options.training import Halving


class GatedNetwork(Options):
    """A GRU or an LSTM of words, and with several matrices an r-GRU or an r-LSTM."""

    name: Literal["gru-lm", "lstm-lm"]
    embedding_size: EmbeddingSize
    hidden_size: HiddenSize
    matrices: Count
    """recurrence matrices of the candidate, K"""
    mapping: MatrixMapping
    weight_range: NotNegative
    """initial weights are uniform in plus and minus this"""


class BatchedSGD(Halving):
    """Plain SGD on parallel streams of text, truncated back-propagation through time."""

    name: Literal["batched-sgd"]
    batch_size: Count
    """streams of text that are read in parallel"""
    steps: Count
    """words of each stream in an update"""
    loss_reduction: Literal["sum-steps", "mean-steps"]
    """whether losses of a stream's words are summed or averaged; over streams it is the mean"""
    dropout: Share
    """probability that an embedding or a unit before the softmax is dropped"""
    clip_norm: ClipNorm
