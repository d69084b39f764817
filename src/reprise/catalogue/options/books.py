"""Document 002, part 2: characters of a book."""

from typing import Annotated, Literal

from pydantic import Field

from reprise.catalogue.options.base import (
    ClipNorm,
    Count,
    Finite,
    HiddenSize,
    Layers,
    LearningRate,
    Natural,
    NotNegative,
    Options,
    Positive,
    Share,
)

# Some update is logged within the hundred updates around every mark.
LogInterval = Annotated[int, Field(ge=1, le=100)]


class StackedLSTM(Options):
    """LSTM layers, one above the other, that read characters one-hot."""

    name: Literal["stacked-lstm"]
    hidden_size: HiddenSize
    layers: Layers
    activation: Literal["relu", "tanh"]
    """function of the candidate and of the cell"""
    forget_bias: Finite
    """constant that is added to the forget gate's input"""
    kernel_law: Literal["glorot-uniform", "fan-in-truncated-normal"]
    """initial weights of the gates"""
    output_law: Literal["fan-in-truncated-normal"]
    """initial weights of the output"""


class CharacterWindows(Options):
    """Updates on random windows of a book by RMSProp; texts are written meanwhile."""

    name: Literal["character-windows"]
    batch_size: Count
    """windows of an update"""
    length: Count
    """predicted characters of a window"""
    window_state: Literal["zero", "carried"]
    """state before a window's first character"""
    steps: Count
    """updates of a training"""
    learning_rate: LearningRate
    decay: Share
    """decay of RMSProp's mean square of gradients, an update"""
    epsilon: NotNegative
    """added to the mean square under the root"""
    mean_square_start: Literal["one", "zero"]
    """mean square before the first update"""
    clip_norm: ClipNorm
    log_every: LogInterval
    """updates between two points of the curves"""
    sample_every: Count
    """updates between two sets of short texts"""
    table_every: Count
    """updates between two rows of the tables"""
    samples: Count
    """short texts of a set"""
    sample_length: Count
    """characters of a short text"""
    final_length: Count
    """characters of a text after the last update"""
    completions: Natural
    """sampled completions of every prompt"""
    temperature: Positive
    """temperature of the sampled texts"""


class Books(Options):
    """A book of Project Gutenberg as characters."""

    name: Literal["books"]
