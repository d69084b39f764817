"""Where nothing is trained: facts of a corpus, and data that need no preparation."""

from typing import Literal

from reprise.catalogue.options.base import Options


class NoModel(Options):
    """No model."""

    name: Literal["none"]


class NoPreparation(Options):
    """No data."""

    name: Literal["none"]


class CorpusFacts(Options):
    """Reports what the preparation counted in its corpus."""

    name: Literal["corpus-facts"]
