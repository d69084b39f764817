"""Document 003, section 2: what recurrent networks keep, and their gradients."""

from typing import Literal

from reprise.catalogue.options.base import Count, Finite, Natural, NotNegative, Options, Positive, TwoOrMore
from reprise.catalogue.options.training import Adam


class NotesNetwork(Options):
    """A GRU or an LSTM as the notes write it."""

    name: Literal["notes-gru", "notes-lstm"]
    hidden_size: Count
    recurrent_law: Literal["gaussian", "identity"]
    """initial recurrence matrices"""
    recurrent_scale: NotNegative
    """multiplies the initial recurrence matrices"""
    input_std: NotNegative
    """standard deviation of the other initial matrices"""


class NotesRNN(NotesNetwork):
    """The plain network as the notes write it."""

    name: Literal["notes-rnn"]
    activation: Literal["sigmoid", "tanh", "relu"]


class SingleUnit(Options):
    """One unit with a logistic function, of which the error is known at the end."""

    name: Literal["single-unit"]
    initial_state: Finite
    steps: Count
    target: Finite
    """state that is wanted at the end"""


class Recall(Adam):
    """Updates on fresh texts in which a name has to be recalled."""

    name: Literal["recall"]
    batch_size: Count
    """texts an update"""
    steps: Count
    """updates"""
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
    learning_rate: Positive
    threshold: Positive
    """norm that the clipped path's gradients are shortened to"""
    updates: Count
    points: TwoOrMore
    """of the grid along either axis"""
    w_start: Finite
    w_low: Finite
    w_high: Finite
    b_start: Finite
    b_low: Finite
    b_high: Finite


class Names(Options):
    """Texts of two sentences with a name in the first and a blank for it in the second."""

    name: Literal["names"]
    names: TwoOrMore
    """names to choose from"""
    filler: Natural
    """words between, at most"""
