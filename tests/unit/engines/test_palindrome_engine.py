"""The fused engine of the networks with a loss on the last state, where numbers are extreme."""

import copy
import math

import pytest
import torch
from compiler_helpers import needs_compiler

from reprise.engines.palindromes.native import FusedEngine
from reprise.engines.palindromes.reference import ReferenceEngine
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM

pytestmark = pytest.mark.usefixtures("march")


def drawn(build_model, d, n, k, std=0.0):
    """Normal weights, those into the state zero."""
    model = build_model(d, n, k)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.normal_(0.0, 0.0 if name in ("W_h", "W_hh") else std, generator=generator)
    return model


def computed(engine, model, x, y):
    loss, correct = engine(model).compute_gradients(x, y)
    return loss, correct, {name: p.grad for name, p in model.named_parameters()}


@needs_compiler
def test_gradients_that_vanish_are_zero_before_they_are_denormal():
    """Denormal numbers made a training on 300 digits 16 times slower."""
    model, other = (drawn(Elman, 2, 16, 3, std=1.0) for _ in range(2))
    for m in (model, other):
        with torch.no_grad():
            m.W_hh.copy_(0.5 * torch.eye(16))
            m.W_hx.zero_()
            m.b_h.zero_()
    # The first symbol stands nowhere else: what reaches it is halved 134 times.
    x, y = torch.tensor([0] + [1] * 134)[:, None], torch.tensor([0])
    _, _, readable = computed(ReferenceEngine, model, x, y)
    _, _, fused = computed(FusedEngine, other, x, y)
    assert 0 < readable["W_hx"][:, 0].abs().max() < torch.finfo(torch.float32).tiny
    assert not fused["W_hx"][:, 0].any()
    torch.testing.assert_close(fused["W_hx"][:, 1], readable["W_hx"][:, 1])
    # Elsewhere in the process they are what they were.
    assert (torch.full((64,), 1e-39) * 0.5).all()


@needs_compiler
def test_tanh_and_the_logistic_function_to_a_few_roundings():
    size = torch.logspace(-20, 2.3, 400)
    z = torch.cat([-size, size, torch.tensor([0.0, -math.inf, math.inf])])
    x, y = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)

    elman = drawn(Elman, 1, len(z), 2)
    lstm = drawn(LSTM, 1, len(z), 2)
    with torch.no_grad():
        elman.W_hx[:, 0] = z
        lstm.W_x.view(4, len(z))[:] = torch.stack([*3 * [torch.full_like(z, 30)], z])  # g = i = f = 1: h = tanh(1) o
    # Two classes of equal probability: dL/dW_out is (p - y) h = -h/2 for the right one.
    h = -2 * computed(FusedEngine, elman, x, y)[2]["W_oh"][0]
    o = -2 * computed(FusedEngine, lstm, x, y)[2]["W_out"][0] / math.tanh(1)
    torch.testing.assert_close(h.double(), torch.tanh(z.double()), rtol=5e-7, atol=0)
    torch.testing.assert_close(o.double(), torch.sigmoid(z.double()), rtol=5e-7, atol=1e-38)
    assert o[z < -89].eq(0).all()


@needs_compiler
@pytest.mark.parametrize("scale", [2.0**k for k in range(0, 12, 3)])
def test_overflowing_gradients_are_infinite_or_nan_where_autograds_are(scale):
    # h stays 0 and every step back multiplies dh by 20 * scale: infinities, and no NaN before W_hh meets h = 0.
    model = drawn(Elman, 10, 20, 10)
    with torch.no_grad():
        model.W_hh.fill_(scale)
        model.W_oh[0] = -1.0
    x = torch.randint(0, 6, (14, 64), generator=torch.Generator().manual_seed(0))
    y = torch.zeros(64, dtype=torch.int64)
    loss, _, gradients = computed(FusedEngine, copy.deepcopy(model), x, y)
    true_loss, _, true = computed(ReferenceEngine, model, x, y)
    assert loss == pytest.approx(true_loss)
    for name, g in true.items():
        torch.testing.assert_close(gradients[name], g, rtol=1e-5, atol=0, equal_nan=True)
    assert gradients["b_h"].isinf().all() == (scale >= 64)
