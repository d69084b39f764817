"""Every fast engine computes what the readable model computes in float64, whatever it computed before."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from compiler_helpers import needs_compiler
from corpus_helpers import random_split, split_of
from engine_widths import MARCHES
from loglinear_helpers import KINDS, windows
from loglinear_helpers import model as loglinear_model
from torch import Tensor, nn

from reprise.engines import gated, gso, loglinear, palindromes, rntn
from reprise.engines.gso.packing import pack_lines
from reprise.engines.loglinear.native import LazyRMSProp
from reprise.engines.rntn.subsequences import Subsequences, cut_subsequences
from reprise.models.elman import Elman
from reprise.models.gated import GRU, LSTM
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration
from reprise.models.lstm import LSTM as DigitLSTM
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

Found = tuple[Any, dict[str, Tensor]]
"""Losses and other numbers, and by parameter a gradient or a change."""
FAR = 1e6
"""A learning rate at which an update buries the weights: what is left is the gradient's own error."""


@dataclass(frozen=True)
class Family:
    """`step` of an engine of `choose_engine` around a model on a batch; the batch is drawn for the model."""

    choose_engine: Any
    step: Callable[[Any, nn.Module, Any], Found]


def with_gradients(call: Callable[[Any, Any], Any]) -> Callable[[Any, nn.Module, Any], Found]:
    """A step of an engine that leaves gradients in the model."""

    def step(engine: Any, model: nn.Module, batch: Any) -> Found:
        result = call(engine, batch)
        return result, {name: p.grad.double() for name, p in model.named_parameters()}

    return step


def descending(call: Callable[[Any, Any], Any]) -> Callable[[Any, nn.Module, Any], Found]:
    """A step of an engine that updates parameters of its own, from those of the model."""

    def step(engine: Any, model: nn.Module, batch: Any) -> Found:
        start = model.state_dict()
        engine.load(start)
        result = call(engine, batch)
        return result, {name: value.double() - start[name].double() for name, value in engine.export().items()}

    return step


def gso_step(engine: Any, batch: Any) -> Any:
    packed, reduction = batch
    return [*engine.evaluate(packed), engine.train(packed, reduction)]


def rntn_step(engine: Any, batch: Any) -> Any:
    data, learning_rate, reduction, dropout = batch
    engine.hidden = state = torch.linspace(0, 1, len(engine.hidden))
    before = engine.evaluate(data)
    engine.hidden = state
    loss = engine.train(data, rntn.SGDSettings(learning_rate, reduction, dropout, key=2**64 - 99))
    return [before, loss, engine.hidden]


def gated_step(engine: Any, batch: Any) -> Any:
    x, y, masks, reduction, clip_norm = batch
    engine.reset(x.shape[1])
    engine.state = tuple(torch.linspace(-0.7, 0.9, s.numel()).view(s.shape).to(s) for s in engine.state)
    before = engine.evaluate(x, y)
    masks = tuple(mask.to(engine.state[0].dtype) for mask in masks) if masks else None
    loss = engine.train(x, y, masks, learning_rate=FAR, reduction=reduction, clip_norm=clip_norm)
    return [before, loss, *engine.state]


class Recorder(LazyRMSProp):
    """Keeps the gradients that it is given; at a learning rate of 0 the parameters stay."""

    def __init__(self, parameters: dict[str, Tensor]) -> None:
        super().__init__(parameters, {"E"})
        self.gradients = {name: torch.zeros_like(value) for name, value in parameters.items()}

    def update_dense(self, name: str, gradient: Tensor) -> None:
        super().update_dense(name, gradient)
        self.gradients[name] += gradient

    def update_by_product(self, name: str, d: Tensor, h: Tensor, dh: Tensor | None = None) -> None:
        super().update_by_product(name, d, h, dh)
        self.gradients[name] += d.T @ h

    def update_rows(self, name: str, rows: Tensor, gradient: Tensor) -> None:
        assert len(rows.unique()) == len(rows)
        super().update_rows(name, rows, gradient)
        self.gradients[name].index_add_(0, rows, gradient)


def loglinear_step(engine: Any, model: nn.Module, batch: Any) -> Found:
    """A window from zeros, or from the state that another left."""
    x, y, carried = batch
    engine.state = None
    if carried:
        engine.reset(x.shape[1])
    results = [engine.evaluate(x, y)] if carried else [engine.evaluate(x, y), engine.compute_log_probabilities(x).exp()]
    fast = engine.name == "fused"
    if fast:
        engine.optimiser = Recorder(engine.p)
    results.append(engine.train(x, y, loglinear.RMSPropSettings(learning_rate=0.0, rho=0.9, epsilon=1e-8)))
    state = [part.clone() for pair in engine.state or () for part in pair]
    gradients = engine.optimiser.gradients if fast else {n: p.grad for n, p in engine.model.named_parameters()}
    return [*results, *state], {name: gradient.double() for name, gradient in gradients.items()}


FAMILIES = {
    "palindromes": Family(
        palindromes.choose_engine, with_gradients(lambda engine, batch: engine.compute_gradients(*batch))
    ),
    "gso": Family(gso.choose_engine, with_gradients(gso_step)),
    "rntn": Family(rntn.choose_engine, descending(rntn_step)),
    "gated": Family(gated.choose_engine, descending(gated_step)),
    "loglinear": Family(loglinear.choose_engine, loglinear_step),
}

# Sizes are on both sides of whole vectors (4, 8, 16), of tiles, panels and strips of two to eight, of blocks of 5 to 12
# rows and of blocks that fill the L1 cache.
MODELS: dict[str, dict[str, Callable[[], nn.Module]]] = {
    "palindromes": {
        f"{kind.__name__} {sizes}": lambda kind=kind, sizes=sizes: kind(*sizes)
        for kind in (Elman, DigitLSTM)
        for sizes in ((10, 128, 10), (3, 1, 2), (7, 17, 5), (2, 33, 11), (13, 65, 3), (5, 64, 2), (10, 100, 10))
    },
    "gso": {
        f"{name} {phi}": lambda model=model, phi=phi: model(phi)
        for phi in ("tanh", "identity")
        for name, model in {
            "gso": lambda phi: GSO(27, 37, 50, True, True, phi),
            "wide": lambda phi: GSO(703, 130, 16, True, True, phi),
            "one unit": lambda phi: GSO(5, 1, 1, True, True, phi),
            "without E": lambda phi: GSO(27, 48, 96, True, False, phi),
            "without D": lambda phi: GSO(40, 65, 7, False, True, phi),
            "without D, E": lambda phi: GSO(27, 20, 33, False, False, phi),
            "first-order": lambda phi: FirstOrder(27, 37, phi),
            "mi-rnn simple": lambda phi: MultiplicativeIntegration(27, 65, phi, "simple"),
            "mi-rnn general": lambda phi: MultiplicativeIntegration(40, 48, phi, "general"),
        }.items()
    },
    "rntn": {
        "s-rnn": lambda: RNTN(130, 16),
        "r-rntn": lambda: RNTN(137, 30, 7),
        "f_mod": lambda: RNTN(64, 31, 5, "f_mod"),
        "rntn": lambda: RNTN(50, 33, 50),
        "shared bias": lambda: RNTN(129, 17, 9, bias="shared"),
        "h_0 = 1": lambda: RNTN(40, 15, 3, h_0=1.0),
        "two words": lambda: RNTN(2, 1, 2),
        "several groups of words": lambda: RNTN(2051, 100, 40),
        "wide": lambda: RNTN(70, 300, 4),
        "m-rnn": lambda: MRNN(103, 40, 29),
        "m-rnn of one factor": lambda: MRNN(33, 5, 1),
    },
    "gated": {
        "gru": lambda: GRU(130, 31, 17),
        "lstm": lambda: LSTM(130, 31, 17),
        "r-gru": lambda: GRU(137, 20, 33, 7),
        "r-lstm": lambda: LSTM(137, 20, 33, 7),
        "r-gru f_mod": lambda: GRU(64, 9, 16, 5, "f_mod"),
        "r-lstm f_mod": lambda: LSTM(64, 9, 16, 5, "f_mod"),
        "a matrix a word": lambda: GRU(40, 12, 15, 40),
        "two words, one unit": lambda: LSTM(2, 1, 1, 2),
        "many words": lambda: GRU(9_001, 40, 24, 30),
        "wide": lambda: LSTM(300, 530, 260, 3),
    },
    "loglinear": {kind: lambda kind=kind: loglinear_model(kind) for kind in KINDS},
}
CASES = [
    pytest.param(family, model, march, marks=(needs_compiler, *marks))
    for (march,), marks in ((case.values, case.marks) for case in MARCHES)
    for family, models in MODELS.items()
    for model in models
]
IN_EACH_WIDTH = pytest.mark.parametrize(("family", "name", "march"), CASES, indirect=["march"])


def drawn(family: str, name: str, seed: int = 0) -> nn.Module:
    """Weights under which states neither saturate nor amplify rounding errors."""
    model, generator = MODELS[family][name](), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters() if family != "loglinear" else ():
            p.normal_(0.0, 0.5 * p.shape[-1] ** -0.5 if p.dim() > 1 else 0.2, generator=generator)
    return model


def batches(family: str, model: nn.Module) -> list[Any]:
    """Batches of different sizes, the first of which is not the largest."""
    random = torch.Generator().manual_seed(1)
    draw = lambda below, *size: torch.randint(below, size, generator=random)  # noqa: E731
    if family == "palindromes":
        (d, k), sizes = (next(model.parameters()).shape[1], list(model.parameters())[-1].shape[0]), ((3, 13), (2, 1))
        return [(draw(d, T, B), draw(k, B)) for T, B in (*sizes, (20, 64), (50, 7))]
    if family == "gso":
        lengths = ([23, 1, 2, 9, 9, 40, 3, 17, 5, 31, 2, 12, 8], [2], [2, 2, 2], [9, 2, 2, 2], [150])
        packed = [pack_lines(random_split(model.vocabulary, some), np.arange(len(some)), 64)[0] for some in lengths]
        return [(batch, reduction) for batch in packed for reduction in ("mean-tokens", "mean-lines")]
    if family == "rntn":
        words = [np.random.default_rng(n).integers(0, model.vocabulary, (2, n), np.int32) for n in (20, 1, 7, 64)]
        data = [Subsequences(*xy, np.array([0, xy.shape[1]]), np.array([False]), 1000) for xy in words]
        several = cut_subsequences(random_split(model.vocabulary, (64, 20, 20, 7, 13, 20, 1, 2)), start=0, length=20)
        return [
            *((part, FAR, *mode) for part in data for mode in (("sum", 0.5), ("mean", 0.0))),
            (several, 0.3, "sum", 0.5),
        ]
    if family == "gated":
        V, sizes = model.vocabulary, (model.embedding, model.hidden)
        masks = lambda *shape: tuple((torch.rand(*shape, n, generator=random) > 0.4) / 0.6 for n in sizes)  # noqa: E731
        shapes = ((7, 3), (1, 1), (12, 20), (1, 20), (9, 1), (27, 20))
        dropped = [(draw(V, *shape), draw(V, *shape), masks(*shape), "sum-steps", 1e-2) for shape in shapes]
        return [*dropped, *((x, y, None, "mean-steps", 1e9) for x, y, *_ in dropped)]
    shapes = ((8, 5), (1, 9), (3, 1), (8, 32))  # T, B: a last batch, one word, one stream, the paper's window
    every = [(*windows(model, T, B, seed=B, every=True), carried) for T, B in shapes for carried in (False, True)]
    return [*every, *((*windows(model, T, B, seed=T), False) for T, B in shapes)]


def numbers(result: Any) -> Tensor:
    """All numbers in what a step found, one after another."""
    if isinstance(result, (list, tuple)):
        return torch.cat([numbers(one) for one in result])
    return torch.as_tensor(result, dtype=torch.float64).flatten()


@IN_EACH_WIDTH
def test_a_step_is_that_of_the_readable_model_in_float64(family, name, march):
    choose_engine, step = FAMILIES[family].choose_engine, FAMILIES[family].step
    model = drawn(family, name)
    exact_model = copy.deepcopy(model).double()
    fast, exact = choose_engine(choose_engine.fast.name, model), choose_engine("reference", exact_model)
    for batch in batches(family, model):
        (result, ours), (expected, theirs) = step(fast, model, batch), step(exact, exact_model, batch)
        torch.testing.assert_close(numbers(result), numbers(expected), rtol=1e-5, atol=2e-5)
        assert list(ours) == list(theirs)
        rounding = 1e-7 * numbers(list(theirs.values())).norm()  # where terms of a small gradient cancel
        for parameter, value in theirs.items():
            assert (ours[parameter] - value).norm() <= 1e-5 * value.norm() + rounding, parameter


@IN_EACH_WIDTH
def test_the_same_batch_gives_the_same_bits_whatever_was_computed_before(family, name, march):
    choose_engine, step = FAMILIES[family].choose_engine, FAMILIES[family].step
    model = drawn(family, name)
    first, *others = batches(family, model)
    expected, gradients = step(choose_engine(choose_engine.fast.name, model), model, first)
    engine = choose_engine(choose_engine.fast.name, model)
    for batch in (*others, first):
        result, second = step(engine, model, batch)
    assert torch.equal(numbers(result), numbers(expected))
    assert all(torch.equal(second[parameter], value) for parameter, value in gradients.items())


KEEPING = [case for case in CASES if case.values[0] in ("rntn", "gated", "loglinear")]
"""Engines with parameters of their own."""


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize(("family", "name", "march"), KEEPING, indirect=["march"])
def test_export_and_load_are_exact_copies(family, name, march, engine):
    model, other = drawn(family, name), drawn(family, name, seed=1)
    made, state = FAMILIES[family].choose_engine(engine, model), other.state_dict()
    same = lambda one, two: list(one) == list(two) and all(torch.equal(one[n], two[n]) for n in one)  # noqa: E731
    assert same(made.export(), model.state_dict())
    before = copy.deepcopy(model.state_dict())
    made.load(state)
    exported = made.export()
    assert same(exported, state)
    if family == "loglinear":
        made.train(*windows(model, 3, 4), loglinear.RMSPropSettings(learning_rate=0.1, rho=0.9, epsilon=1e-8))
    else:
        FAMILIES[family].step(made, other, batches(family, model)[0])
    assert same(exported, state), "export is a copy"
    assert same(model.state_dict(), before)
    assert not same(made.export(), state)


REFUSED = {
    "palindromes": lambda symbol: (torch.full((4, 3), symbol), torch.zeros(3, dtype=torch.int64)),
    "gso": lambda symbol: (pack_lines(split_of([9 * [symbol]]), np.arange(1), 1)[0], "mean-tokens"),
    "rntn": lambda symbol: (cut_subsequences(split_of([5 * [symbol]]), start=symbol), FAR, "sum", 0.0),
    "gated": lambda symbol: (*2 * [torch.full((3, 2), symbol)], None, "mean-steps", 1.0),
}


@pytest.mark.parametrize("symbol", [-1, 2051])
@pytest.mark.parametrize(
    ("family", "name"),
    [("palindromes", "Elman (7, 17, 5)"), ("gso", "gso tanh"), ("rntn", "s-rnn"), ("gated", "r-gru")],
)
@needs_compiler
def test_symbols_of_another_model_are_refused(family, name, symbol):
    model = drawn(family, name)
    with pytest.raises(ValueError, match=r"(symbols|tokens|token ids|words) must be .*in 0 \.\. "):
        FAMILIES[family].step(FAMILIES[family].choose_engine("auto", model), model, REFUSED[family](symbol))
