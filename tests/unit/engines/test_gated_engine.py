"""The step of the engines of the gated language models, and the products that they are made of."""

import copy

import pytest
import torch
from compiler_helpers import needs_compiler

from reprise import processor
from reprise.engines import gemm
from reprise.engines.gated import GroupedEngine, ReferenceEngine
from reprise.models.gated import GRU, initialise


@pytest.mark.parametrize(
    ("engine", "dtype"),
    [(ReferenceEngine, torch.float64), pytest.param(GroupedEngine, torch.float32, marks=needs_compiler)],
)
@pytest.mark.parametrize(("reduction", "share"), [("sum-steps", 1 / 3), ("mean-steps", 1 / 6)])
@pytest.mark.parametrize("clip", [0.1, 1e9])
def test_the_step_is_that_of_the_stated_loss(engine, dtype, reduction, share, clip):
    model, generator = GRU(12, 3, 4, 3), torch.Generator().manual_seed(0)
    initialise(model, 0.4, generator)
    fast = engine(copy.deepcopy(model).to(dtype))
    model = model.double()
    fast.reset(3)
    x, y = torch.randint(12, (2, 2, 3), generator=generator)
    loss = fast.train(x, y, None, learning_rate=0.5, reduction=reduction, clip_norm=clip)
    log_p = torch.log_softmax(model(x, model.initial_state(3))[0], 2)
    expected = -sum(log_p[t, b, y[t, b]] for t in range(2) for b in range(3))
    assert loss == pytest.approx(expected.item())
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(expected * share, parameters)
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    assert norm > 0.1
    rate = 0.5 * min(1.0, clip / norm)
    stepped = [(p - rate * g).detach() for p, g in zip(parameters, gradients, strict=True)]
    for ours, exact in zip(fast.export().values(), stepped, strict=True):
        torch.testing.assert_close(ours, exact.to(dtype))


def pretend_maker(monkeypatch, folder, vendor):
    path = folder / "cpuinfo"
    path.write_text(f"vendor_id : {vendor}\n", encoding="utf-8")
    monkeypatch.setattr(processor, "CPUINFO", path)


@pytest.mark.parametrize("vendor", ["GenuineIntel", "AuthenticAMD"])
@pytest.mark.parametrize("n", [1, 7, 8, 33])
def test_products_of_every_layout(n, vendor, monkeypatch, tmp_path):
    pretend_maker(monkeypatch, tmp_path, vendor)
    random = torch.Generator().manual_seed(n)
    x, w, bias = (torch.randn(size, generator=random) for size in ((n, 19), (37, 19), (37,)))
    linear = gemm.choose_linear(x)
    exact = x.double() @ w.T.double() + bias.double()
    for weights in (w, w.T.contiguous().T):
        torch.testing.assert_close(linear(x, weights, bias).double(), exact, rtol=1e-5, atol=1e-5)
    wide = torch.randn(n, 40, generator=random)[:, 3:22]
    torch.testing.assert_close(linear(wide, w, None), wide @ w.T, rtol=1e-5, atol=1e-5)
    assert gemm.choose_linear(x.double()) is torch.nn.functional.linear


@pytest.mark.parametrize(("vendor", "by_onednn"), [("GenuineIntel", False), ("AuthenticAMD", True)])
def test_mkl_multiplies_on_processors_of_its_maker(vendor, by_onednn, monkeypatch, tmp_path):
    if not gemm._has_onednn():
        pytest.skip("torch has no oneDNN here")
    pretend_maker(monkeypatch, tmp_path, vendor)
    linear = gemm.choose_linear(torch.ones(1))
    assert (linear is gemm._multiply_by_onednn, linear is torch.nn.functional.linear) == (by_onednn, not by_onednn)


def test_without_onednn_torch_multiplies(monkeypatch, tmp_path):
    def missing(*_):
        raise AttributeError("no such operation")

    pretend_maker(monkeypatch, tmp_path, "AuthenticAMD")
    gemm._has_onednn.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(gemm, "_multiply_by_onednn", missing)
            assert gemm.choose_linear(torch.ones(1)) is torch.nn.functional.linear
    finally:
        gemm._has_onednn.cache_clear()
