"""The batch-1 engines over several subsequences, and how text is cut into them."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from corpus_helpers import random_split

from reprise.engines import build
from reprise.engines.rntn.native import FusedEngine
from reprise.engines.rntn.reference import ReferenceEngine
from reprise.engines.rntn.subsequences import SGDSettings, Subsequences, cut_subsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN, initialise

pytestmark = pytest.mark.usefixtures("march")


def small(model):
    """Weights under which neither the states saturate nor the recurrence amplifies rounding errors."""
    initialise(model, min(0.3, 5 / model.hidden), torch.Generator().manual_seed(0))
    return model


def text(vocabulary):
    return cut_subsequences(random_split(vocabulary, (64, 20, 20, 7, 13, 20, 1, 2)), start=0, length=20)


def trained(engine, data, reduction="sum"):
    return engine.train(data, SGDSettings(learning_rate=0.3, reduction=reduction, dropout=0.5, key=2**64 - 99))


def test_the_reference_takes_the_gradient_step_of_the_stated_loss():
    model = small(RNTN(12, 4, 3)).double()
    data = Subsequences(*np.array([[1, 5], [5, 2]], dtype=np.int32), np.array([0, 2]), np.array([True]))
    for reduction, share in (("sum", 1.0), ("mean", 0.5)):
        engine = ReferenceEngine(model)
        loss = engine.train(data, SGDSettings(learning_rate=0.1, reduction=reduction, dropout=0.0, key=0))
        P = torch.log_softmax(model(torch.tensor([1, 5]), model.initial_state())[0], 1)
        expected = -(P[0, 5] + P[1, 2])
        assert loss == pytest.approx(expected.item())
        (gradient,) = torch.autograd.grad(expected * share, model.U_h)
        torch.testing.assert_close(engine.export()["U_h"], (model.U_h - 0.1 * gradient).detach())


def input_steps(model, data, bound):
    """By hand, in float64: the derivatives by W_h of one subsequence, errors cut off as Mikolov's toolkit does."""
    x, y = (torch.from_numpy(tokens.astype(np.int64)) for tokens in (data.inputs, data.targets))
    states = [model.initial_state()]
    for word in x:
        states.append(model(word[None], states[-1])[1])
    P = torch.softmax(torch.stack(states[1:]) @ model.W_o.T + model.b_o, 1)
    errors = (P - torch.nn.functional.one_hot(y, model.vocabulary)) @ model.W_o
    steps, after, cut_off = torch.zeros_like(model.W_h), torch.zeros(model.hidden).double(), 0
    for t in reversed(range(len(x))):
        h = states[t + 1]
        cut_off += int((errors[t].abs() > bound).any()) + int((after.abs() > bound).any())
        dz = (errors[t].clamp(-bound, bound) + after.clamp(-bound, bound)) * h * (1 - h)
        steps[x[t]] += dz
        if isinstance(model, MRNN):
            after = model.U_r.T @ (model.v[x[t]] * (model.U_l.T @ dz))
        else:
            after = model.U_h[model.choose_matrices(x[t])].T @ dz
    return steps, cut_off


@pytest.mark.parametrize("made", [lambda: RNTN(40, 6, 3), lambda: MRNN(40, 6, 5)], ids=["r-rntn", "m-rnn"])
@pytest.mark.parametrize(
    ("engine", "exact"), [(ReferenceEngine, 1e-9), pytest.param(FusedEngine, 1e-5, marks=needs_compiler)]
)
def test_a_bound_cuts_off_the_error_from_the_output_and_that_from_the_next_state(made, engine, exact):
    model = small(made())
    with torch.no_grad():
        for matrix in (model.U_h,) if isinstance(model, RNTN) else (model.U_l, model.U_r, model.v):
            matrix.mul_(4)  # an error that grows on its way back
    data = text(40).slice(0, 1)
    model, start = model.double(), {name: value.clone() for name, value in model.double().state_dict().items()}
    with torch.no_grad():
        bounded, cut_off = input_steps(model, data, 0.05)
        free, none = input_steps(model, data, 1e9)
    assert (cut_off > data.token_count, none) == (True, 0)
    for bound, steps in ((0.05, bounded), (0.0, free)):
        model.load_state_dict(start)
        trained = engine(model if engine is ReferenceEngine else copy.deepcopy(model).float())
        trained.train(data, SGDSettings(1.0, "sum", dropout=0.0, key=0, error_bound=bound))
        change = start["W_h"] - trained.export()["W_h"].double()
        assert (change - steps).norm() < exact * steps.norm() + 10 * exact * (engine is FusedEngine)
    assert (bounded - free).norm() > 0.1 * free.norm()


@needs_compiler
def test_a_diverged_run_says_so():
    model = small(RNTN(40, 6, 2))
    with torch.no_grad():
        model.U_h[1, 2, 3] = float("nan")
    engine = FusedEngine(model)
    assert np.isnan(engine.evaluate(text(40)))


@needs_compiler
def test_large_logits_stay_finite():
    model = small(RNTN(900, 8, 2))
    with torch.no_grad():
        model.b_o += torch.linspace(-600, 600, 900)
    data, fast = text(900), FusedEngine(model)
    assert fast.evaluate(data) == pytest.approx(ReferenceEngine(model.double()).evaluate(data), rel=1e-6)
    assert np.isfinite(trained(fast, data))
    assert all(value.isfinite().all() for value in fast.export().values())


def sentences(*lengths):
    return SimpleNamespace(
        tokens=np.arange(10, 10 + sum(lengths), dtype=np.int32), offsets=np.r_[0, np.cumsum(lengths)]
    )


def test_sentences_are_cut_from_their_start():
    data = cut_subsequences(sentences(5, 1, 0, 3, 2), start=9, length=3)
    assert data.offsets.tolist() == [0, 3, 5, 6, 9, 11]
    assert data.reset.tolist() == [True, False, True, True, True]
    assert data.targets.tolist() == list(range(10, 21))
    assert data.inputs.tolist() == [9, 10, 11, 12, 13, 9, 9, 16, 17, 9, 19]
    assert data.token_count == 11


def test_running_text_is_reset_once():
    data = cut_subsequences(sentences(5, 2), start=9, length=3, carry=True)
    assert data.offsets.tolist() == [0, 3, 6, 7]
    assert data.reset.tolist() == [True, False, False]
    assert data.inputs.tolist() == [9, 10, 11, 12, 13, 14, 15]
    bare = cut_subsequences(sentences(5, 2), start=None, length=3, carry=True)
    assert (bare.inputs.tolist(), bare.targets.tolist()) == (list(range(10, 16)), list(range(11, 17)))
    assert bare.offsets.tolist() == [0, 3, 6]
    with pytest.raises(ValueError, match="start"):
        cut_subsequences(sentences(5), start=None)


def test_a_slice_knows_its_place_in_the_epoch():
    data = cut_subsequences(sentences(5, 4), start=9, length=3)
    part = data.slice(1, 3).slice(1, 2)
    assert (part.first_token, part.inputs.tolist(), part.reset.tolist()) == (5, [9, 15, 16], [True])
    assert part.offsets.tolist() == [0, 3]


@needs_compiler
def test_a_subsequence_beyond_the_longest_is_refused():
    engine = FusedEngine(RNTN(100, 5))
    data = cut_subsequences(sentences(65), start=9, length=65)
    with pytest.raises(ValueError, match="at most 64 words"):
        engine.evaluate(data)
    assert engine.evaluate(cut_subsequences(sentences(64), start=9, length=64)) > 0


def test_numbers_elsewhere_than_on_the_cpu_have_no_address():
    with pytest.raises(ValueError, match="numbers on meta"):
        build.get_address(torch.empty(3, device="meta"))
