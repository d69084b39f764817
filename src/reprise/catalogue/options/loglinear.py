"""Document 004: log-linear networks, with features of words."""

from typing import Literal

from reprise.catalogue.options.base import (
    Count,
    EmbeddingSize,
    HiddenSize,
    Layers,
    LearningRate,
    MaxEpochs,
    Natural,
    NotNegative,
    Options,
    Share,
)


class LogLinear(Options):
    """Gated recurrent network with a softmax or a log-linear output."""

    name: Literal["log-linear", "log-linear-logistic"]
    input: Literal["one-hot", "features"]
    """vector of a word that the network reads"""
    output: Literal["softmax", "log-linear"]
    """softmax: a score for each word; log-linear: scores of features, added to the prior"""
    background: Literal["none", "corpus", "train"]
    """text whose word frequencies are the prior; corpus: all parts"""
    features_from: Literal["corpus", "train"]
    """text that gives a word its features; corpus: all parts"""
    top_types: Natural
    """frequent words that have a feature of their own"""
    word_identity: bool
    """whether frequent words (see `top_types`) have a feature of their own"""
    embedding_size: EmbeddingSize
    hidden_size: HiddenSize
    layers: Layers


class Windows(Options):
    """Epochs over windows of the text by RMSProp, with early stopping."""

    name: Literal["windows"]
    scheme: Literal["sliding", "sliding-in-order", "streams"]
    """how windows are cut: from every place in random order, in the text's order, or from parallel streams"""
    window: Count
    """words of a window"""
    batch_size: Count
    """windows of an update"""
    optimiser: Literal["rmsprop", "rmsprop-epsilon-inside"]
    """RMSProp, with epsilon beside the root or under it"""
    learning_rate: LearningRate
    rho: Share
    """decay of RMSProp's mean square of gradients, an update"""
    epsilon: NotNegative
    """constant that is added to the root of the mean square, or under it"""
    probability_floor: Share = 0.0
    """in training, no gradient of words with a probability below this, or above 1 less this; 0: of every word"""
    patience: Count
    """epochs without a better validation loss that end training"""
    max_epochs: MaxEpochs
    sample_words: Count
    """words of a text that the network writes after training"""
