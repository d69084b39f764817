"""How the models of document 000 start: the paper does not say, each choice is an assumption of its YAML file.

Matrices between states (A, C, E, W) are orthogonal, as in Krause et al. (2016), or Glorot-uniform. B, D, U and the
output V are Glorot-uniform, c is 0. f (b in the models it is compared with) is 0 or normal. Without D a zero f makes
every state 0. Then A, B and C wait for the first update of f.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from reprise.catalogue.models import MODELS
from reprise.models.gso import SymbolModel

_STATE_MATRICES = ("A", "C", "E", "W")
_SYMBOL_MATRICES = ("B", "D", "U", "V")
_MULTIPLIERS = ("alpha", "beta_1", "beta_2")


def make_initial_model(
    name: str, options: Mapping[str, Any], vocabulary: int, generator: torch.Generator
) -> SymbolModel:
    """Make the model that the catalogue calls `name`, its parameters at their start."""
    bias = "f" if name == "gso" else "b"
    multipliers = {key: options[key] for key in _MULTIPLIERS if key in options}
    model = MODELS[name].build(options, vocabulary=vocabulary)
    laws = {"matrix_law": options["matrix_law"], "bias_law": options[f"{bias}_law"], "bias_std": options[f"{bias}_std"]}
    initialise(model, generator, **laws, multipliers=multipliers, multiplier_std=options.get("multiplier_std", 0.0))
    return model


@torch.no_grad()
def initialise(
    model: SymbolModel,
    generator: torch.Generator,
    matrix_law: str,
    bias_law: str,
    bias_std: float,
    multipliers: Mapping[str, float] | None = None,
    multiplier_std: float = 0.0,
) -> None:
    """Draw the parameters in the order of their registration.

    `matrix_law`: "orthogonal" (rows or columns orthonormal where a matrix is not square) or "glorot-uniform", for
    A, C, E and W. `bias_law`: "zero" or "normal" of deviation `bias_std`, for f and b. `multipliers`: the means
    of alpha, beta_1 and beta_2, `multiplier_std` their deviation.
    """
    for name, parameter in model.named_parameters():
        if name in _MULTIPLIERS:
            parameter.fill_(multipliers[name])
            if multiplier_std:  # else nothing is drawn, and the parameters after it stay as they were
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=multiplier_std)
        elif name in _STATE_MATRICES and matrix_law == "orthogonal":
            nn.init.orthogonal_(parameter, generator=generator)
        elif name in _STATE_MATRICES + _SYMBOL_MATRICES:
            nn.init.xavier_uniform_(parameter, generator=generator)
        elif name in ("f", "b") and bias_law == "normal":
            parameter.normal_(0.0, bias_std, generator=generator)
        else:
            parameter.zero_()
