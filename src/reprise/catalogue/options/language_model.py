"""Language models of one's own: any torch module."""

from typing import Literal

from reprise.catalogue.options.base import Count, Natural, NotNegative, Options, Positive, Share


class LanguageModel(Options):
    """Trains a torch module with forward(x, state) -> (logits, state) and initial_state(B) on streams of text."""

    name: Literal["language-model"]
    batch_size: Count
    """streams of the training text"""
    bptt: Count
    """tokens of every stream through which an update's gradient goes"""
    update_interval: Natural = 0
    """tokens of every stream an update, at most `bptt`; 0 for `bptt`"""
    optimiser: Literal["sgd", "adam", "rmsprop"]
    learning_rate: Positive
    momentum: Share = 0.0
    """of SGD and RMSProp"""
    weight_decay: NotNegative = 0.0
    schedule: Literal["constant", "on-stall", "after-epoch"] = "constant"
    """when the learning rate is divided: never, after an epoch without the best validation loss, after every epoch"""
    decay_factor: Positive = 2.0
    """what the learning rate is divided by"""
    decay_after: Natural = 0
    """epochs before `after-epoch` begins"""
    undo_worse: bool = False
    """whether an epoch without the best validation loss is undone"""
    clipping: Literal["none", "norm", "value"] = "none"
    """of gradients: their common norm, or each by itself"""
    clip: Positive = 1.0
    """bound of the clipping"""
    loss_reduction: Literal["mean", "sum-steps"] = "mean"
    """over the tokens of a stream; over streams it is the mean"""
    initialisation: str = ""
    """"<pattern>: <law>, ...": the law of the parameters whose name matches first, the module's own for the others;
    laws are zero, constant c, uniform a, normal s, orthogonal, xavier"""
    states: Literal["carried", "reset"] = "carried"
    """whether a window begins with the state that the one before it left"""
    patience: Natural = 0
    """epochs in a row without the best validation loss that end training; 0 for no end"""
    max_epochs: Count
