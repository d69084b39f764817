"""Which engine trains a model: the one that is named, or the fastest that this machine and the model allow."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from reprise.engines.build import NoCompiler
from reprise.engines.readable import Readable
from reprise.errors import UserError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineFamily:
    """A family's engines: `reference`, the readable model, and where there is one a `fast` one, each made of a model.

    The fast engine, in C++, computes in float32 on a CPU. It takes models of exactly these `model_classes`: a subclass
    may have equations of its own.
    """

    reference: Callable[[Any], Any]
    fast: Any = None
    model_classes: tuple[type, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return ("reference", self.fast.name) if self.fast else ("reference",)

    def __call__(self, name: str, model: Any) -> Any:
        """Make an engine around a model.

        Args:
            name: The engine. "auto" is the fast one, or "reference" where the fast one cannot compute the model. It is
                "reference" too where there is no compiler, which the log then says.
            model: The readable model with its first weights.

        Raises:
            UserError: The name is unknown, or the fast engine that it names cannot be had.
        """
        if name not in ("auto", *self.names):
            raise make_engine_error(name, self.names)
        if name == "reference" or not self.fast:
            return self.reference(model)
        if obstacle := self._find_obstacle(model):
            if name == "auto":
                return self.reference(model)
            raise UserError(f"engine: {name} {obstacle}; choose engine: reference")
        try:
            return self.fast(model)
        except NoCompiler as error:
            if name != "auto":
                message = f"engine: {name}: {error}; install a C++ compiler or choose engine: reference"
                raise UserError(message) from error
            _LOG.warning("reprise: %s: training with the readable model in torch, slower", error)
            return self.reference(model)

    def _find_obstacle(self, model: Any) -> str:
        """Say why the fast engine cannot compute the model; empty if it can."""
        if type(model) not in self.model_classes:
            names = ", ".join(model_class.__name__ for model_class in self.model_classes)
            return f"knows {names}, not {type(model).__name__}"
        parameter = next(model.parameters())
        if parameter.device.type != "cpu" or str(parameter.dtype) != "torch.float32":
            return "computes in float32 on a CPU only"
        return ""


def make_engine_error(name: str, engines: Iterable[str]) -> UserError:
    """Make the error for an engine that a protocol does not have, where `engines` are those that it has."""
    remedy = "name one of these with --engine, or under 'engine' in config/config.yaml"
    return UserError(f"engine: {name} is none of auto, {', '.join(engines)}; {remedy}")


choose_reference = EngineFamily(Readable)
"""The engine of a model that has no fast one: its protocol differentiates it."""
