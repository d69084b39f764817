"""Preparations of published texts."""

from typing import Literal

from reprise.catalogue.options.base import Count, Integer, MinimumCount, Options, TwoOrMore


class PTB(Options):
    """Mikolov's Penn Treebank."""

    name: Literal["ptb"]


class Text8(Options):
    """The first 100 million bytes of Wikipedia's text as lower-case words."""

    name: Literal["text8"]
    minimum_count: MinimumCount
    vocabulary_rule: Literal["train-at-least-10", "all-at-least-10", "train-more-than-10", "top-37750"]
    """rule that chooses the vocabulary"""


class CharacterLines(Options):
    """Lines of characters or bigrams, dealt into folds."""

    name: Literal["wsj_characters"]
    tokens: Literal["characters", "bigrams"]
    """symbols that a model predicts"""
    folds: TwoOrMore
    """parts that lines are dealt into; each is tested once"""
    fold_seed: Integer
    """seed of the shuffle before folds are dealt"""


class UDFrench(Options):
    """The French treebank of Universal Dependencies as words with features."""

    name: Literal["ud_french"]
    accounting: Literal["rows", "surface", "words"]
    """rows of the file that count as tokens"""
    validation: Literal["last", "random"]
    """which sentences validate"""
    validation_sentences: Count
    """sentences that validate"""


class UDTags(Options):
    """A treebank of Universal Dependencies as tagged words."""

    name: Literal["ud_tags"]
    minimum_count: MinimumCount
    validation_sentences: Count
    """sentences that validate"""


class Multi30k(Options):
    """Pairs of sentences, French and English."""

    name: Literal["multi30k"]
    pairs: Count
    """pairs of the training part"""
    lowercase: bool
    """whether words lose their capitals"""
    minimum_count: MinimumCount
