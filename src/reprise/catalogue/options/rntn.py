"""Document 001: recurrent networks whose matrix depends on the word."""

from typing import Annotated, Literal

from pydantic import Field

from reprise.catalogue.options.base import Count, Finite, HiddenSize, MatrixMapping, NotNegative, Options, Share
from reprise.catalogue.options.training import Halving

# The engines have room for so many words.
SubsequenceLength = Annotated[int, Field(ge=1, le=64)]


class NormalStart(Options):
    """Initial weights of the simple networks."""

    weight_std: NotNegative
    """standard deviation of the initial weights"""
    bias_law: Literal["normal", "zero"]
    """initial biases"""


class RNTN(NormalStart):
    """The s-RNN (one matrix), the r-RNTN (some) and the RNTN (one a word)."""

    name: Literal["r-rntn"]
    hidden_size: HiddenSize
    matrices: Count
    """recurrence matrices, K"""
    mapping: MatrixMapping
    bias: Literal["matrix", "shared"]
    """one bias a matrix, or one for all"""
    h_0: Finite
    """every unit of the state before the first word"""


class MRNN(NormalStart):
    """The multiplicative RNN: the matrix is a product of factors that depend on the word."""

    name: Literal["m-rnn"]
    hidden_size: HiddenSize
    factors: Count
    """factors of the matrix product"""
    factor_law: Literal["normal", "one"]
    """initial factors of the words"""
    h_0: Finite
    """every unit of the state before the first word"""


class SubsequenceSGD(Halving):
    """Plain SGD on subsequences of one stream of text."""

    name: Literal["subsequence-sgd"]
    subsequence_length: SubsequenceLength
    """words of an update"""
    loss_reduction: Literal["sum", "mean"]
    """whether losses of a subsequence's words are summed or averaged"""
    dropout: Share
    """probability that a unit before the softmax is dropped"""
    error_bound: NotNegative = 0.0
    """largest derivative of the loss by a unit of a state, from its output and from the next state each; 0: none"""
