"""Options that the protocols of several families have."""

from typing import Literal

from reprise.catalogue.options.base import ClipNorm, Count, LearningRate, MaxEpochs, NotNegative, Options, Positive


class Adam(Options):
    """Adam on clipped gradients."""

    batch_size: Count
    """examples of an update"""
    optimiser: Literal["adam"]
    """method that updates the parameters"""
    learning_rate: LearningRate
    clip_norm: ClipNorm


class Halving(Options):
    """Plain SGD whose learning rate is halved where the validation loss stalls (see `HalvingSchedule`)."""

    learning_rate: Positive
    """learning rate of the first epoch"""
    schedule: Literal["halve-below-ratio", "rnnlm"]
    """rnnlm: ratio of cross-entropies, and an epoch that made the validation loss worse is undone"""
    halving_ratio: NotNegative
    """perplexity of the epoch before over the present one, of rnnlm the cross-entropy; below it the rate is halved"""
    patience: Count
    """halvings that end training; of halve-below-ratio in a row"""
    max_epochs: MaxEpochs
