"""Clipping by the common norm: one factor for all gradients, from a norm that is right for tables of millions."""

import pytest
import torch

from reprise.engines.clipping import clip_gradients, compute_clipping_factor


@pytest.mark.parametrize("by_rows", [True, False])
def test_all_gradients_are_shortened_by_one_factor(by_rows):
    random = torch.Generator().manual_seed(3)
    gradients = [torch.randn(shape, generator=random) for shape in ((7, 5), (11,), (2, 3, 4))]
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    norm = torch.cat([g.flatten() for g in gradients]).double().norm().item()
    for bound, factor in ((norm / 3, 1 / 3), (2 * norm, 1.0)):
        assert compute_clipping_factor(gradients, bound, by_rows) == pytest.approx(factor, rel=1e-6)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.clone()
        clip_gradients(parameters, bound, by_rows)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            torch.testing.assert_close(parameter.grad, factor * gradient)


@pytest.mark.parametrize("by_rows", [True, False])
def test_the_norm_of_a_table_of_millions_is_right(by_rows):
    table = torch.full((20_000, 250), 0.1)
    exact = float(table[0, 0]) * table.numel() ** 0.5
    assert compute_clipping_factor([table], 1.0, by_rows) == pytest.approx(1 / exact, rel=1e-6)
