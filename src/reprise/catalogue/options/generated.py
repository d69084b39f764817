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
    training_sentences: Count
    seed: Integer
    """of the chain and of its text"""


class Synthetic(Generated):
    """Words."""

    name: Literal["synthetic"]


class SyntheticProse(Generated):
    """Characters of words, with a licence at the end, as books have one."""

    name: Literal["synthetic_prose"]
    licence_sentences: Count


class SyntheticPairs(Generated):
    """Pairs of sentences."""

    name: Literal["synthetic_pairs"]
    training_sentences: TenOrMore
    most_words: TwoOrMore
    """words of a sentence, at most"""


class SyntheticTags(Generated):
    """Words with features."""

    name: Literal["synthetic_tags"]
    training_sentences: TenOrMore


class SyntheticTagged(Generated):
    """Tagged words."""

    name: Literal["synthetic_tagged"]
    vocabulary_size: TaggedVocabularySize
    training_sentences: TenOrMore


class SyntheticLines(CharacterLines):
    """Lines of characters or bigrams, dealt into folds."""

    name: Literal["synthetic_lines"]
    lines: Count
