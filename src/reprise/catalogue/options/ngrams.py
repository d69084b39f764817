"""Counted n-gram models: documents 003 (words) and 000 (characters, for comparison)."""

from typing import Literal

from reprise.catalogue.options.base import Count, Natural, NotNegative, Options, Positive


class CharacterNGram(Options):
    """Counted n-grams of characters, smoothed."""

    name: Literal["n-gram"]
    order: Count
    smoothing: Literal["witten-bell"]


class WordNGram(Options):
    """Counted n-grams of words: relative frequencies, back-off, or Kneser and Ney's."""

    name: Literal["relative-ngram", "backoff-ngram", "kneser-ney"]
    order: Count


class AdditiveNGram(Options):
    """Counted n-grams of words, a constant added to every count."""

    name: Literal["additive-ngram"]
    order: Count
    delta: Positive
    """added to every count"""


class StupidBackoff(Options):
    """Scores of the longest context that was seen, which are no probabilities."""

    name: Literal["stupid-backoff"]
    order: Count
    alpha: NotNegative
    """multiplies the score for every word that the context is shortened by"""


class NGramCount(Options):
    """Counts one fold's lines and reads the others."""

    name: Literal["ngram"]
    counted_lines: Literal["train", "train-and-valid"]


class WordNGramCount(Options):
    """Counts the training text, and halves of it, and reads the others."""

    name: Literal["word-ngram"]
    boundary: Literal["sentence", "text"]
    """what a context ends at"""
    halvings: Natural
    """how often the training text is halved"""


class WordOrder(Options):
    """Compares the probabilities of phrases and of the same words in another order."""

    name: Literal["word-order"]
