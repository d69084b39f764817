"""Preparations of generated texts, which need no network."""

from typing import Annotated, Literal

from pydantic import Field

from reprise.catalogue.options.base import Count, Integer, Options, TwoOrMore
from reprise.catalogue.options.texts import CharacterLines

VocabularySize = Annotated[int, Field(ge=16, le=100_000)]
TaggedVocabularySize = Annotated[int, Field(ge=32, le=100_000)]
TenOrMore = Annotated[int, Field(ge=10, le=2**31 - 1)]


class Generated(Options):
    """A text that a Markov chain writes."""

    vocabulary_size: VocabularySize
    """symbols of the chain"""
    training_sentences: Count
    """sentences of the training part"""
    seed: Integer
    """seed of the chain and of its text"""


class Synthetic(Generated):
    """Words."""

    name: Literal["synthetic"]


class SyntheticProse(Generated):
    """Characters of words, with a licence at the end, as books have one."""

    name: Literal["synthetic_prose"]
    licence_sentences: Count
    """sentences of the licence"""


class SyntheticPairs(Generated):
    """Pairs of sentences."""

    name: Literal["synthetic_pairs"]
    training_sentences: TenOrMore
    """sentences of the training part"""
    most_words: TwoOrMore
    """most words of a sentence"""


class SyntheticTags(Generated):
    """Words with features."""

    name: Literal["synthetic_tags"]
    training_sentences: TenOrMore
    """sentences of the training part"""


class SyntheticTagged(Generated):
    """Tagged words."""

    name: Literal["synthetic_tagged"]
    vocabulary_size: TaggedVocabularySize
    """symbols of the chain"""
    training_sentences: TenOrMore
    """sentences of the training part"""


class SyntheticLines(CharacterLines):
    """Lines of characters or bigrams, dealt into folds."""

    name: Literal["synthetic_lines"]
    lines: Count
    """lines of the text"""
