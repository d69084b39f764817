"""Which engine trains a model: the one that is named, or the fastest that this machine and the model allow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from reprise.errors import UserError
from reprise.kernels.build import NoCompiler

Engine = TypeVar("Engine")


def choose(
    name: str,
    model: Any,
    engines: Mapping[str, Callable[[Any], Engine]],
    fast: str,
    instead: str,
    *,
    unfit: str = "",
    slower: str = "slower",
    remedy: str = "",
) -> Engine:
    """The engine called `name` around `model`.

    "auto" is `fast`; `instead` where `unfit` says why `fast` cannot compute this model, and where there is no compiler,
    said on stderr with how much `slower` that is. Raises UserError for another name, and where `fast` is asked for by
    name and cannot be had; `remedy` is then what to choose in place of it.
    """
    if name == "auto":
        if unfit:
            return engines[instead](model)
        try:
            return engines[fast](model)
        except NoCompiler as missing:
            print(f"reprise: {missing}: training with torch, {slower}", file=sys.stderr)
            return engines[instead](model)
    if name not in engines:
        raise UserError(f"engine: {name} is none of auto, {', '.join(engines)}")
    if name == fast and unfit:
        others = " or ".join(dict.fromkeys((instead, "reference")))
        raise UserError(f"engine: {fast} {unfit}; choose {remedy or f'engine: {others}'}")
    try:
        return engines[name](model)
    except NoCompiler as missing:
        raise UserError(f"engine: {fast}: {missing}; install a C++ compiler or choose engine: {instead}") from missing
