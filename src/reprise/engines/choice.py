"""Which engine trains a model: the one that is named, or the fastest that this machine and the model allow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from reprise.engines.build import NoCompiler
from reprise.errors import UserError

Engine = TypeVar("Engine")


def choose(
    name: str,
    model: Any,
    engines: Mapping[str, Callable[[Any], Engine]],
    fast: str,
    instead: str,
    *,
    knows: tuple[type, ...],
    unfit: str = "",
    slower: str = "slower",
    remedy: str = "",
) -> Engine:
    """The engine called `name` around `model`.

    The fast engines compute the classes `knows` and none that inherits from these, which may have equations of its own:
    for another class "auto" is reference, and every other name is refused.

    Else "auto" is `fast`; `instead` where `unfit` says why `fast` cannot compute this model, and where there is no
    compiler, said on stderr with how much `slower` that is. Raises UserError for another name, and where `fast` is
    asked for by name and cannot be had; `remedy` is then what to choose in place of it.
    """
    if type(model) not in knows and name in ("auto", "reference", *engines):
        if name not in ("auto", "reference"):
            names = " and ".join(", ".join(k.__name__ for k in knows).rsplit(", ", 1))
            raise UserError(f"engine: {name} knows {names}, not {type(model).__name__}; choose engine: reference")
        return engines["reference"](model)
    if name == "auto":
        if unfit:
            return engines[instead](model)
        try:
            return engines[fast](model)
        except NoCompiler as missing:
            print(f"reprise: {missing}: training with torch, {slower}", file=sys.stderr)
            return engines[instead](model)
    if name not in engines:
        raise no_engine(name, engines)
    if name == fast and unfit:
        others = " or ".join(dict.fromkeys((instead, "reference")))
        raise UserError(f"engine: {fast} {unfit}; choose {remedy or f'engine: {others}'}")
    try:
        return engines[name](model)
    except NoCompiler as missing:
        raise UserError(f"engine: {fast}: {missing}; install a C++ compiler or choose engine: {instead}") from missing


def no_engine(name: str, engines: Iterable[str]) -> UserError:
    """What is said of an engine that a protocol does not have, where `engines` are those that it has."""
    remedy = "name one of these with --engine, or under 'engine' in config/config.yaml"
    return UserError(f"engine: {name} is none of auto, {', '.join(engines)}; {remedy}")
