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
    *,
    knows: tuple[type, ...],
    unfit: str = "",
    remedy: str = "engine: reference",
) -> Engine:
    """The engine called `name` around `model`; `engines` are "reference", the readable model, and a fast one.

    The fast engine computes the classes `knows` and none that inherits from these, which may have equations of its own:
    for another class "auto" is reference, and the fast engine is refused.

    Else "auto" is the fast engine; reference where `unfit` says why the fast one cannot compute this model, and where
    there is no compiler, which stderr then says. Raises UserError for another name, and where the fast engine is asked
    for by name and cannot be had; `remedy` is then what to choose in place of it.
    """
    if name not in ("auto", *engines):
        raise no_engine(name, engines)
    reference, (fast,) = engines["reference"], set(engines) - {"reference"}
    known = type(model) in knows
    if name == "reference" or (name == "auto" and (unfit or not known)):
        return reference(model)
    if not known:
        names = " and ".join(", ".join(k.__name__ for k in knows).rsplit(", ", 1))
        raise UserError(f"engine: {name} knows {names}, not {type(model).__name__}; choose engine: reference")
    if unfit:
        raise UserError(f"engine: {name} {unfit}; choose {remedy}")
    try:
        return engines[fast](model)
    except NoCompiler as missing:
        if name != "auto":
            message = f"engine: {name}: {missing}; install a C++ compiler or choose engine: reference"
            raise UserError(message) from missing
        print(f"reprise: {missing}: training with the readable model in torch, slower", file=sys.stderr)
        return reference(model)


def no_engine(name: str, engines: Iterable[str]) -> UserError:
    """The error for an engine that a protocol does not have, where `engines` are those that it has."""
    remedy = "name one of these with --engine, or under 'engine' in config/config.yaml"
    return UserError(f"engine: {name} is none of auto, {', '.join(engines)}; {remedy}")


class Readable:
    """A readable model that has no other engine: its protocol differentiates it."""

    name = "reference"

    def __init__(self, model: Any) -> None:
        self.model = model


def reference_alone(name: str, model: Any) -> Readable:
    """The engine of a model that has no fast one. Raises UserError for another name."""
    if name not in ("auto", Readable.name):
        raise no_engine(name, [Readable.name])
    return Readable(model)


def unfit_for_cpp(model: Any) -> str:
    """Why an engine in C++ does not compute with the model's parameters; empty if it does."""
    parameter = next(model.parameters())
    if str(parameter.dtype) != "torch.float32":
        return "computes in float32 only"
    return "" if parameter.device.type == "cpu" else "computes on a CPU only"


def check_fit(model: Any, knows: Iterable[type]) -> None:
    """TypeError unless an engine in C++ that computes the classes `knows` computes this model."""
    if reason := unfit_for_cpp(model) if type(model) in knows else f"does not know {type(model).__name__}":
        raise TypeError(f"the fused engine {reason}")
