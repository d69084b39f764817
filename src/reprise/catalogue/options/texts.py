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
    """which words the vocabulary has"""


class CharacterLines(Options):
    """Lines of characters or bigrams, dealt into folds."""

    name: Literal["wsj_characters"]
    tokens: Literal["characters", "bigrams"]
    folds: TwoOrMore
    fold_seed: Integer
    """of the shuffle before the folds are dealt"""


class UDFrench(Options):
    """The French treebank of Universal Dependencies as words with features."""

    name: Literal["ud_french"]
    accounting: Literal["rows", "surface", "words"]
    """which rows of the file are tokens"""
    validation: Literal["last", "random"]
    """which sentences validate"""
    validation_sentences: Count


class UDTags(Options):
    """A treebank of Universal Dependencies as tagged words."""

    name: Literal["ud_tags"]
    minimum_count: MinimumCount
    validation_sentences: Count


class Multi30k(Options):
    """Pairs of sentences, French and English."""

    name: Literal["multi30k"]
    pairs: Count
    """pairs that train"""
    lowercase: bool
    minimum_count: MinimumCount
