"""Document 003, sections 2.2, 2.5 and 2.6: networks of whole sentences."""

from typing import Literal

from reprise.catalogue.options.base import Count, EmbeddingSize, HiddenSize, Layers, MaxEpochs, Options
from reprise.catalogue.options.training import Adam


class Tagger(Options):
    """A deep bidirectional network that gives every word a class."""

    name: Literal["tagger"]
    embedding_size: EmbeddingSize
    hidden_size: HiddenSize
    layers: Layers
    directions: Literal["forward", "both"]
    """whether layers read forward alone, or backward too"""
    lower_layer: Literal["both", "own"]
    """whether a layer reads both directions of the layer below, or its own alone"""
    activation: Literal["tanh", "sigmoid", "relu"]
    """function of the recurrence"""


class SentenceClassifier(Tagger):
    """A deep bidirectional network that gives every sentence a class."""

    name: Literal["sentence-classifier"]
    pooling: Literal["last", "max", "mean"]
    """how states of words become one vector"""


class Translator(Options):
    """An encoder and a decoder."""

    name: Literal["translation"]
    unit: Literal["rnn", "gru", "lstm"]
    """recurrent unit of encoder and decoder"""
    embedding_size: EmbeddingSize
    hidden_size: HiddenSize
    layers: Layers
    untied: bool
    """whether encoder and decoder have weights of their own"""
    context: bool
    """whether every step of the decoder reads the encoder's last state"""
    bidirectional: bool
    """whether the encoder reads in both directions"""
    reverse_source: bool
    """whether the source is read backwards"""
    matrix_law: Literal["gaussian", "uniform"]
    """initial matrices"""


class SentenceTraining(Adam):
    """Epochs over sentences in random batches, with early stopping."""

    batch_size: Count
    """sentences of an update"""
    patience: Count
    """epochs without a better validation score that end training"""
    max_epochs: MaxEpochs


class Tagging(SentenceTraining):
    """A tag for every word."""

    name: Literal["tagging"]


class SentenceLabels(SentenceTraining):
    """A label for every sentence."""

    name: Literal["sentence-labels"]


class Translation(SentenceTraining):
    """Translation of sentences; the test text is translated too."""

    name: Literal["translation"]
    output_limit: Count
    """most words of a translation"""
