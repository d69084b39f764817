"""Counted n-gram models: documents 003 (words) and 000 (characters, for comparison)."""

from typing import Literal

from reprise.catalogue.options.base import Natural, NotNegative, Options, Order, Positive


class CharacterNGram(Options):
    """Counted n-grams of characters, smoothed."""

    name: Literal["n-gram"]
    order: Order
    smoothing: Literal["witten-bell"]
    """interpolation with shorter contexts"""


class WordNGram(Options):
    """Counted n-grams of words: relative frequencies, back-off, or Kneser and Ney's."""

    name: Literal["relative-ngram", "backoff-ngram", "kneser-ney"]
    order: Order


class AdditiveNGram(Options):
    """Counted n-grams of words, a constant added to every count."""

    name: Literal["additive-ngram"]
    order: Order
    delta: Positive
    """constant that is added to each count"""


class StupidBackoff(Options):
    """Scores of the longest context that was seen, which are no probabilities."""

    name: Literal["stupid-backoff"]
    order: Order
    alpha: NotNegative
    """factor of the score for each word that the context loses"""


class NGramCount(Options):
    """Counts one fold's lines and reads the others."""

    name: Literal["ngram"]
    counted_lines: Literal["train", "train-and-valid"]
    """lines whose n-grams are counted"""


class WordNGramCount(Options):
    """Counts the training text, and halves of it, and reads the others."""

    name: Literal["word-ngram"]
    boundary: Literal["sentence", "text"]
    """whether a context ends at its sentence or at the text"""
    halvings: Natural
    """how often the training text is halved"""


class WordOrder(Options):
    """Compares the probabilities of phrases and of the same words in another order."""

    name: Literal["word-order"]
