"""The step of the engines of the gated language models."""

import copy

import pytest
import torch
from compiler_helpers import needs_compiler

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


@needs_compiler
def test_weights_are_loaded_after_a_training_that_diverged():
    model = GRU(12, 3, 4)
    initialise(model, 0.4, torch.Generator().manual_seed(0))
    engine, x = GroupedEngine(model), torch.ones(2, 3, dtype=torch.int64)
    engine.reset(3)
    expected = engine.evaluate(x, x)
    engine.train(x, x, None, learning_rate=float("nan"), reduction="sum-steps", clip_norm=1.0)
    engine.load(model.state_dict())
    engine.reset(3)
    assert engine.evaluate(x, x) == expected


@needs_compiler
def test_masks_and_targets_that_do_not_fit_are_refused():
    engine, x = GroupedEngine(GRU(12, 3, 4)), torch.ones(2, 3, dtype=torch.int64)
    engine.reset(3)
    options = {"learning_rate": 1.0, "reduction": "sum-steps", "clip_norm": 1.0}
    masks = (torch.ones(2, 3, 3), torch.ones(2, 3, 4))
    for wrong in (masks[::-1], tuple(mask.double() for mask in masks), tuple(mask[:1] for mask in masks)):
        with pytest.raises(ValueError, match="float32 and of one size"):
            engine.train(x, x, wrong, **options)
    with pytest.raises(ValueError, match="6 words were read, and 3"):
        engine.train(x, x[:1], masks, **options)


@needs_compiler
@pytest.mark.parametrize("last", [3000, -3000])
def test_logits_of_any_size_give_finite_losses_and_derivatives(last):
    """The greatest logit so far grows by hundreds from one strip of the vocabulary to the next, or falls."""
    model, generator = GRU(2000, 3, 4), torch.Generator().manual_seed(0)
    initialise(model, 0.4, generator)
    with torch.no_grad():
        model.b_o.copy_(torch.linspace(-last, last, 2000))
    x, y = torch.randint(2000, (2, 5, 3), generator=generator)
    y[:2] = torch.tensor([0, 1000, 1999])
    losses, changes = [], []
    for engine, dtype in ((GroupedEngine, torch.float32), (ReferenceEngine, torch.float64)):
        trained = engine(copy.deepcopy(model).to(dtype))
        trained.reset(3)
        losses.append(trained.train(x, y, None, learning_rate=0.5, reduction="sum-steps", clip_norm=1e9))
        before = model.state_dict()
        changes.append([value.double() - before[name] for name, value in trained.export().items()])
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    for ours, exact in zip(*changes, strict=True):
        torch.testing.assert_close(ours, exact, rtol=1e-4, atol=3e-4)  # a bias of 3000 is rounded to 2e-4
