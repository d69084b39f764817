"""Document 004: log-linear networks, with features of words."""

from typing import Literal

from reprise.catalogue.options.base import Count, Natural, NotNegative, Options, Positive, Share


class LogLinear(Options):
    """Gated recurrent network with a softmax or a log-linear output."""

    name: Literal["log-linear", "log-linear-logistic"]
    input: Literal["one-hot", "features"]
    output: Literal["softmax", "log-linear"]
    background: Literal["none", "corpus", "train"]
    """text whose unigram is the prior"""
    features_from: Literal["corpus", "train"]
    """text that the features of a word are taken from"""
    top_types: Natural
    """frequent words that have a feature of their own"""
    word_identity: bool
    """whether frequent words (see `top_types`) have a feature of their own"""
    embedding_size: Count
    hidden_size: Count
    layers: Count


class Windows(Options):
    """Epochs over windows of the text by RMSProp, with early stopping."""

    name: Literal["windows"]
    scheme: Literal["sliding", "sliding-in-order", "streams"]
    """how windows are cut: from every place in random order, in the text's order, or from parallel streams"""
    window: Count
    """words a window"""
    batch_size: Count
    """windows an update"""
    optimiser: Literal["rmsprop", "rmsprop-epsilon-inside"]
    learning_rate: Positive
    rho: Share
    """decay of the mean square"""
    epsilon: NotNegative
    probability_floor: Share = 0.0
    """in training, no gradient of words with a probability below this, or above 1 less this; 0: of every word"""
    patience: Count
    """epochs without a better validation loss that end training"""
    max_epochs: Count
    sample_words: Count
    """words of a text that the network writes"""
