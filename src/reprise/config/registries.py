"""The registries have to fit each other before a paper's file is held to them."""

from __future__ import annotations

from reprise.catalogue.models import FILE, MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.errors import UserError, known


def check_registries() -> None:
    """Raises `UserError` at the first protocol with a model that is not registered, or has not what it asks of it."""
    for name, protocol in PROTOCOLS.items():
        for model in protocol.models:
            if model not in MODELS:
                where = f"src/reprise/catalogue/protocols.py: key PROTOCOLS[{name!r}]"
                raise UserError(f"{where}: no model '{model}' in {FILE}; {known(model, MODELS)}")
            for option in protocol.model_options:
                if option not in MODELS[model].options:
                    raise UserError(f"{FILE}: key MODELS[{model!r}]: {name} needs the option '{option}' of it; add it")
