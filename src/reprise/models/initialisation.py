"""Parameters, and their first values by the laws that the papers and their code name."""

import math
from collections.abc import Container

import torch
from torch import Tensor, nn

# Standard deviation of a standard normal cut at two: later TensorFlow divides by it, that of 2017 did not.
_STD_CUT_AT_TWO = 0.87962566103423978


def declare_parameters(model: nn.Module, **shapes: tuple[int, ...] | None) -> None:
    """Register parameters of these names and shapes, zero, in this order; None stands for a missing one."""
    for name, shape in shapes.items():
        model.register_parameter(name, None if shape is None else nn.Parameter(torch.zeros(shape)))


@torch.no_grad()
def initialise_by_fan_in(model: nn.Module, generator: torch.Generator) -> None:
    """Draw each parameter from a normal law of deviation 1/sqrt(fan-in), cut at two deviations.

    `model.fan_in()` gives the inputs of one unit, None where a parameter starts at zero.

    Source: TensorFlow's `variance_scaling_initializer()` with its defaults (scale 1, fan-in, normal), which the author
    of document 002 used in December 2017. `weight_law` ending in "-corrected" widens the law so that the cut one has
    deviation 1/sqrt(fan-in), as TensorFlow has done since 2018.
    """
    for name, fan_in in model.fan_in().items():
        parameter = model.get_parameter(name)
        if fan_in is None:
            parameter.zero_()
            continue
        std = 1 / math.sqrt(fan_in)
        if model.weight_law.endswith("-corrected"):
            std /= _STD_CUT_AT_TWO
        parameter.copy_(std * draw_truncated_normal(parameter.shape, generator))


@torch.no_grad()
def initialise_by_columns(
    model: nn.Module,
    generator: torch.Generator,
    vectors: Container[str],
    uniform: bool = False,
    zero: Container[str] = (),
) -> None:
    """Draw the parameters of document 003's models, in the order of their registration.

    Word vectors, called `vectors`, are from N(0, 0.1^2). Matrices of n columns are from N(0, 1 / n), or if `uniform`
    from U(-r, r) with r = 1 / sqrt(n). Biases and `zero` are zero. Document 003 gives no law; these are ours.
    """
    for name, parameter in model.named_parameters():
        r = parameter.shape[-1] ** -0.5
        if name in vectors:
            parameter.normal_(0.0, 0.1, generator=generator)
        elif parameter.dim() == 1 or name in zero:
            parameter.zero_()
        elif uniform:
            parameter.uniform_(-r, r, generator=generator)
        else:
            parameter.normal_(0.0, r, generator=generator)


def draw_truncated_normal(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Draw standard normal numbers, each again until it lies within (-2, 2)."""
    numbers = torch.randn(shape, generator=generator)
    while True:
        outside = numbers.abs() >= 2
        if not outside.any():
            return numbers
        numbers[outside] = torch.randn(int(outside.sum()), generator=generator)
