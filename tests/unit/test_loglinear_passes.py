"""The parts of the log-linear engines: classes, what is computed in C++, and RMSprop against torch's."""

from __future__ import annotations

import pytest
import torch
from loglinear_helpers import model
from subsequence_helpers import needs_compiler

from reprise.engines import gemm
from reprise.engines.loglinear.classes import Classes
from reprise.engines.loglinear.native import NativeLinear, NativePasses
from reprise.engines.loglinear.passes import Passes, Rates
from reprise.engines.loglinear.rmsprop import RMSprop


def test_classes_hold_the_types_with_the_same_features():
    made = model()
    classes = Classes.of(made.features, made.E)
    rows = [tuple(made.features.matrix.row(i)) for i in range(made.V)]
    for i in range(made.V):
        for j in range(made.V):
            assert (rows[i] == rows[j]) == bool(classes.of_type[i] == classes.of_type[j])
    assert classes.of_type[:20].tolist() == list(range(20))
    mass = classes.log_mass(made.log_b).exp()
    assert mass.sum().item() == pytest.approx(1)
    assert mass[:20].numpy() == pytest.approx(made.log_b[:20].exp().numpy())
    assert len(mass) < made.V


@needs_compiler
@pytest.mark.parametrize("width", [1, 16, 27, 64])
def test_the_passes_in_c_are_those_in_torch(width):
    random = torch.Generator().manual_seed(width)

    def draw(*shape):
        return 2 * torch.randn(*shape, generator=random)

    n, m, rates = 19, 29, Rates(0.01, 0.9, 1e-8)
    made = model(types=200, sizes=(width, 4))
    classes = Classes.of(made.features, made.E)
    adaptors, log_mass = draw(n, len(made.E)), classes.log_mass(made.log_b).float()
    of_class, target = (torch.randint(k, (n,), generator=random) for k in (len(classes.tags), 40))
    ids, number = torch.arange(0, len(classes.tags), 3), torch.randint(4, (n,), generator=random)
    rows, L, p, a = draw(n, width), draw(n, 40), draw(m, width), draw(m, width).abs()
    g, d, h = draw(m, width), draw(n, m), draw(n, width)
    found = []
    for kind in (NativePasses, Passes):
        passes, added, scores = kind(gemm.linear_for(p)), torch.zeros(4, width), L.clone()
        passes.add_rows(rows, number, added)
        losses = passes.softmax(scores, target, 0.25)
        of_classes = passes.class_softmax(adaptors.clone(), classes, log_mass, of_class, 0.25)
        only_losses = passes.class_softmax(adaptors.clone(), classes, log_mass, of_class, 0.0)[1]
        moved, mean, seen = p.clone(), a.clone(), torch.arange(m)
        passes.rmsprop(moved, mean, g, rates)
        passes.rmsprop_product(moved, mean, d, h, rates)
        passes.rmsprop_rows(moved, mean, seen, torch.arange(3, m, 2), g[3::2].contiguous(), 40, rates)
        embedded = passes.embed(made.E.detach(), classes, ids)
        found.append((added, scores, losses, *of_classes, only_losses, moved, mean, seen, embedded))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=3e-6, atol=3e-6)


@needs_compiler
@pytest.mark.parametrize("depth", [1, 30, 256, 257, 600])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 33), (40, 64)])
def test_products_in_c_are_those_of_float64(depth, rows, columns):
    random = torch.Generator().manual_seed(depth)
    x, w, bias = (torch.randn(*shape, generator=random) for shape in ((rows, depth), (columns, depth), (columns,)))
    linear, scale = NativeLinear(), depth**0.5
    for b in (bias, None):
        exact = torch.nn.functional.linear(x.double(), w.double(), None if b is None else b.double())
        for given in (x, x.T.contiguous().T):  # a state that was transposed is no memory in this order
            for matrix in (w, w.T.contiguous().T):
                torch.testing.assert_close(linear(given, matrix, b).double(), exact, rtol=0, atol=5e-6 * scale)


@needs_compiler
def test_what_stays_in_use_lies_apart_and_is_a_copy():
    values = {"W": torch.randn(30, 70), "b": torch.randn(70).expand(2, 70), "nothing": torch.zeros(0, 3)}
    kept = NativePasses(gemm.linear_for(values["W"])).kept(values)
    for name, value in values.items():
        assert torch.equal(kept[name], value)
        assert kept[name].is_contiguous()
        kept[name].fill_(7)
    assert not (values["W"] == 7).any()
    assert (kept["W"] == 7).all()


@pytest.mark.parametrize("kind", [pytest.param(NativePasses, marks=needs_compiler), Passes])
def test_rmsprop_by_rows_is_torchs_over_all_rows(kind):
    passes = kind(gemm.linear_for(torch.ones(1)))
    random = torch.Generator().manual_seed(0)
    table = torch.randn(30, 5, generator=random)
    ours, theirs = {"E": table.clone()}, table.clone().requires_grad_()
    lazy = RMSprop(ours, {"E"}, passes)
    optimiser = torch.optim.RMSprop([theirs], lr=0.01, alpha=0.9, eps=1e-8)
    for step in range(40):
        # rows of high numbers are rare: some are missed for tens of steps
        rows = (torch.rand(30, generator=random) < 1 / (1 + torch.arange(30))).nonzero().flatten()
        rows = rows if len(rows) else torch.tensor([step % 30])
        gradient = torch.randn(len(rows), 5, generator=random)
        theirs.grad = torch.zeros(30, 5).index_copy_(0, rows, gradient)
        optimiser.step()
        lazy.begin(0.01, 0.9, 1e-8)
        lazy.rows("E", rows, gradient)
        if step == 20:  # what is saved and taken up again goes on the same
            saved, lazy = lazy.state(), RMSprop(ours, {"E"}, passes)
            lazy.restore(saved)
    torch.testing.assert_close(ours["E"], theirs.detach(), rtol=1e-5, atol=1e-6)
    assert (lazy.seen["E"] < 40).any()
