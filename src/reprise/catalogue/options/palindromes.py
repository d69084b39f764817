"""Document 002, part 1: the last digit of a palindrome."""

from typing import Literal

from reprise.catalogue.options.base import Count, HiddenSize, Options, TwoOrMore
from reprise.catalogue.options.training import Adam


class PalindromeNetwork(Options):
    """An Elman network or an LSTM that reads digits one-hot."""

    name: Literal["elman", "lstm"]
    hidden_size: HiddenSize
    weight_law: Literal["fan-in-truncated-normal", "fan-in-truncated-normal-corrected"]
    """initial weights; the corrected law has the standard deviation that the other one names"""


class FinalDigit(Adam):
    """Updates on fresh palindromes; the loss is that of the last digit."""

    name: Literal["final-digit"]
    steps: Count
    """updates of a training"""
    log_every: Count
    """updates between two points of the curves"""


class Palindromes(Options):
    """Random palindromes of digits, made while training."""

    name: Literal["palindromes"]
    length: TwoOrMore
    """digits of a palindrome"""
