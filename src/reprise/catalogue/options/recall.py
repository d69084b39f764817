"""Document 003, section 2: what recurrent networks keep, and their gradients."""

from typing import Literal

from reprise.catalogue.options.base import (
    Count,
    Finite,
    HiddenSize,
    LearningRate,
    Natural,
    NotNegative,
    Options,
    Positive,
    TwoOrMore,
)
from reprise.catalogue.options.training import Adam


class NotesNetwork(Options):
    """A GRU or an LSTM as the notes write it."""

    name: Literal["notes-gru", "notes-lstm"]
    hidden_size: HiddenSize
    recurrent_law: Literal["gaussian", "identity"]
    """initial recurrence matrices"""
    recurrent_scale: NotNegative
    """factor of the initial recurrence matrices"""
    input_std: NotNegative
    """standard deviation of the other initial matrices"""


class NotesRNN(NotesNetwork):
    """The plain network as the notes write it."""

    name: Literal["notes-rnn"]
    activation: Literal["sigmoid", "tanh", "relu"]
    """function of the recurrence"""


class SingleUnit(Options):
    """One unit with a logistic function, of which the error is known at the end."""

    name: Literal["single-unit"]
    initial_state: Finite
    """state before the first step, h_0"""
    steps: Count
    """steps of the recurrence, T"""
    target: Finite
    """state at the end for which the error is zero"""


class Recall(Adam):
    """Updates on fresh texts in which a name has to be recalled."""

    name: Literal["recall"]
    batch_size: Count
    """texts of an update"""
    steps: Count
    """updates of a training"""
    text_lengths: Literal["half-without", "alike"]
    """how often each length of the filler occurs"""
    log_every: Count
    """updates between two points of the curves"""


class RandomJacobians(Options):
    """Norms of the Jacobians of a network that is not trained."""

    name: Literal["random-jacobians"]


class ErrorSurface(Options):
    """The error of the single unit over weight and bias, and two paths of gradient descent."""

    name: Literal["error-surface"]
    learning_rate: LearningRate
    threshold: Positive
    """bound of the gradient's norm on the clipped path"""
    updates: Count
    """updates of either path"""
    points: TwoOrMore
    """points of the grid along either axis"""
    w_start: Finite
    """weight w where both paths begin"""
    w_low: Finite
    """lowest weight w of the grid"""
    w_high: Finite
    """highest weight w of the grid"""
    b_start: Finite
    """bias b where both paths begin"""
    b_low: Finite
    """lowest bias b of the grid"""
    b_high: Finite
    """highest bias b of the grid"""


class Names(Options):
    """Texts of two sentences with a name in the first and a blank for it in the second."""

    name: Literal["names"]
    names: TwoOrMore
    """names to choose from"""
    filler: Natural
    """most words between the name and its blank"""
