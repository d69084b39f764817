"""R members of a stack against R solo trainings with the readable model: each with its own weights, batches, rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.data.corpus import Split
from reprise.data.synthetic.names import Names
from reprise.engines.books import reference as books
from reprise.engines.gated import reference as gated
from reprise.engines.gso import reference as gso
from reprise.engines.gso.packing import pack
from reprise.engines.lecture import window
from reprise.engines.loglinear import reference as loglinear
from reprise.engines.optimisers import TensorFlowRMSProp, clip_by_global_norm
from reprise.engines.palindromes import reference as palindromes
from reprise.engines.rntn import reference as rntn_engines
from reprise.engines.rntn.subsequences import Subsequences
from reprise.engines.stack import Member, Stack, join
from reprise.models import bidirectional, deep_lstm, gso_start, mrnn, recurrent, rntn, translation
from reprise.models import gated as gated_models
from reprise.models import gso as gso_models
from reprise.models import loglinear as loglinear_models
from reprise.models import window as window_models
from reprise.models.elman import Elman
from reprise.models.initialisation import initialise_by_fan_in
from reprise.models.lexicon import Lexicon, Sparse
from reprise.models.lstm import LSTM
from reprise.models.pooling import SentenceClassifier
from reprise.training.protocols.translation import Pairs

CPU = torch.device("cpu")
MEMBERS = 3
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
# Clips some steps and not others.
NORM = 0.5
# Large enough that RMSProp does not make whole steps of gradients that are nothing but rounding.
EPSILON = 1e-3

Work = Callable[[Any, int], list[Any]]


class OwnRNTN(rntn.RNTN):
    """Reads the words in a way of its own."""

    def forward(self, x: Tensor, h: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return super().forward(x.flip(0), h, mask)


class OwnGRU(gated_models.GRU):
    """Chooses matrices in a way of its own."""

    def matrix_index(self, x: Tensor) -> Tensor:
        return (x + 3) % self.matrices


class Working:
    """A training that does one piece of work with its engine."""

    def __init__(self, kernel: Member, work: Work, number: int) -> None:
        self.kernel, self.work, self.number = kernel, work, number

    def advance(self) -> Any:
        return self.work(self.kernel, self.number)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


class Computed(Exception):
    """Ends a work after its first step."""


class Elsewhere(Stack):
    """On torch's device without values, which refuses tensors of another as a GPU does."""

    def __init__(self) -> None:
        super().__init__(torch.device("meta"))

    def run(self, *step: Any) -> None:
        found = super().run(*step)
        raise Computed({value.device.type for value in found.values()})


def hold(
    protocol: str, options: dict[str, Any], models: list[nn.Module], solo: Callable[[nn.Module], Any], work: Work
) -> None:
    """Raises unless members and solo engines find the same numbers and end with the same parameters.

    A step also has to keep to the stack's device.
    """
    tolerance = TOLERANCE[next(models[0].parameters()).dtype]
    stack = Stack(CPU)
    members = [join(stack, protocol, model, options) for model in models]
    found = stack.advance([Working(member, work, i) for i, member in enumerate(members)])
    elsewhere = Elsewhere()
    away = [join(elsewhere, protocol, model, options) for model in models]
    with pytest.raises(Computed, match="^{'meta'}$"):
        elsewhere.advance([Working(member, work, i) for i, member in enumerate(away)])
    for i, (model, member) in enumerate(zip(models, members, strict=True)):
        if isinstance(found[i], BaseException):
            raise found[i]
        engine = solo(model)
        torch.testing.assert_close(numbers(found[i]), numbers(work(engine, i)), rtol=tolerance, atol=tolerance)
        parameters = engine.export() if hasattr(engine, "export") else dict(engine.model.named_parameters())
        mine = member.export()
        assert mine.keys() == parameters.keys()
        for name, value in parameters.items():
            off, size = (torch.linalg.vector_norm(tensor) for tensor in (mine[name] - value, value))
            assert off <= tolerance * (1 + size), name


def numbers(found: Any) -> Tensor:
    """All numbers in what a work returned, one after another."""
    if isinstance(found, (list, tuple)):
        return torch.cat([numbers(one) for one in found] or [torch.zeros(0, dtype=torch.float64)])
    return torch.as_tensor(found, dtype=torch.float64).flatten()


def made(make: Callable[[], nn.Module], initialise: Callable[[nn.Module, torch.Generator], Any], dtype: torch.dtype):
    models = [make() for _ in range(MEMBERS)]
    for seed, model in enumerate(models):
        initialise(model, generator(seed))
    return [model.to(dtype) for model in models]


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def words(size: tuple[int, ...], number: int, below: int) -> Tensor:
    return torch.randint(below, size, generator=generator(number))


class Updating:
    """What the protocols do that keep an optimiser of torch: gradients of a readable model, a clip, a step."""

    def __init__(self, model: nn.Module, gradients: Callable[..., Any], step: Any = None, clip: Any = None) -> None:
        self.model, self.gradients, self.clip = model, gradients, clip or clip_by_global_norm
        self.step = step or adam(model)

    def update(self, *batch: Any) -> Any:
        *inputs, rate = batch
        found = self.gradients(*inputs)
        self.clip(self.model.parameters(), NORM)
        self.step(rate)
        return found


class Losing(Updating):
    """The same of a loss, which gives its mean and what else is found."""

    def __init__(self, model: nn.Module, loss: Callable[..., tuple[Tensor, Any]]) -> None:
        super().__init__(model, self.descended)
        self.loss = loss

    def descended(self, *inputs: Any) -> Any:
        loss, found = self.loss(self.model, *inputs)
        self.model.zero_grad()
        loss.backward()
        return found

    @torch.no_grad()
    def read(self, *inputs: Any) -> Any:
        return self.loss(self.model, *inputs)[1]


def adam(model: nn.Module) -> Callable[[float], None]:
    optimiser = torch.optim.Adam(model.parameters())

    def step(rate: float) -> None:
        optimiser.param_groups[0]["lr"] = rate
        optimiser.step()

    return step


@pytest.mark.parametrize(("reduction", "dropout"), [("sum", 0.5), ("mean", 0.0)])
@pytest.mark.parametrize(
    "make",
    [
        lambda: rntn.RNTN(30, 6, 1),
        lambda: rntn.RNTN(30, 6, 30),
        lambda: rntn.RNTN(30, 6, 5, bias="shared", h_0=0.5),
        lambda: rntn.RNTN(30, 6, 7, mapping="f_mod"),
        lambda: mrnn.MRNN(30, 6, 4),
        lambda: OwnRNTN(30, 6, 7, mapping="f_mod"),
    ],
    ids=["s-RNN", "RNTN", "r-RNTN", "f_mod", "m-RNN", "inherits"],
)
def test_subsequences(make: Callable[[], nn.Module], dropout: float, reduction: str, dtype: torch.dtype) -> None:
    models = made(make, lambda model, g: rntn.initialise(model, 0.3, g), dtype)
    lengths, draw = [5, 3, 7, 1, 20, 20], np.random.default_rng(0)
    x, y = draw.integers(0, 30, (2, sum(lengths))).astype(np.int32)
    data = Subsequences(x, y, np.cumsum([0, *lengths]), np.array([1, 0, 1, 1, 0, 1], bool))

    def work(engine: Any, number: int) -> list[Any]:
        how = {"learning_rate": 0.1 * (number + 1), "reduction": reduction, "dropout": dropout, "key": number}
        return [engine.train(data, **how), engine.hidden, engine.evaluate(data), engine.hidden]

    hold("subsequence-sgd", {"loss_reduction": reduction}, models, rntn_engines.ReferenceEngine, work)


@pytest.mark.parametrize("make", [lambda: rntn.RNTN(4, 5, 4), lambda: rntn.RNTN(4, 5, 2, mapping="f_mod")])
def test_a_subsequence_may_be_longer_than_the_vocabulary(make: Callable[[], nn.Module], dtype: torch.dtype) -> None:
    models = made(make, lambda model, g: rntn.initialise(model, 1.0, g), dtype)
    x, y = np.random.default_rng(0).integers(0, 4, (2, 20)).astype(np.int32)
    data = Subsequences(x, y, np.array([0, 20]), np.array([True]))

    def work(engine: Any, number: int) -> list[Any]:
        return [engine.train(data, learning_rate=0.1, reduction="sum", dropout=0.0, key=0), engine.evaluate(data)]

    hold("subsequence-sgd", {"loss_reduction": "sum"}, models, rntn_engines.ReferenceEngine, work)


@pytest.mark.parametrize("reduction", ["sum-steps", "mean-steps"])
@pytest.mark.parametrize("matrices", [1, 4])
@pytest.mark.parametrize("model", [gated_models.GRU, gated_models.LSTM, OwnGRU], ids=["GRU", "LSTM", "inherits"])
def test_gated(model: type[nn.Module], matrices: int, reduction: str, dtype: torch.dtype) -> None:
    V, E, H, T, B = 30, 5, 6, 7, 4
    models = made(lambda: model(V, E, H, matrices), lambda m, g: gated_models.initialise(m, 0.3, g), dtype)

    def work(engine: Any, number: int) -> list[Any]:
        engine.reset(B)
        found = []
        for step in range(4):
            x, y = words((2, T - step, B), 10 * number + step, V)
            masks = [2 * torch.randint(2, (*x.shape, n), generator=generator(step)).to(dtype) for n in (E, H)]
            how = {"learning_rate": 0.5 * (number + 1), "reduction": reduction, "clip_norm": NORM}
            found.append(engine.train(x, y, tuple(masks) if step else None, **how))
        found.append(engine.state)
        engine.reset(1)
        return [*found, engine.evaluate(*words((2, T, 1), 7, V)), engine.state]

    hold("batched-sgd", {"loss_reduction": reduction, "clip_norm": NORM}, models, gated.ReferenceEngine, work)


@pytest.mark.parametrize("direct", [True, False])
def test_windows_of_words(direct: bool, dtype: torch.dtype) -> None:
    models = made(lambda: window_models.WindowModel(30, 4, 6, 3, direct), window_models.initialise, dtype)

    def work(engine: Any, number: int) -> list[Any]:
        batches = [(words((5, 3), 9 * number + i, 30), words((5,), i, 30)) for i in range(4)]
        rates = {"learning_rate": 1.0 + number, "clip_norm": NORM}
        return [[engine.train(x, y, **rates) for x, y in batches], engine.evaluate(*batches[0])]

    hold("window-sgd", {"clip_norm": NORM}, models, window.ReferenceEngine, work)


@pytest.mark.parametrize("scheme", ["sliding", "streams"])
@pytest.mark.parametrize("top", [0, 4])
@pytest.mark.parametrize("ends", [("one-hot", "softmax"), ("one-hot", "log-linear"), ("features", "softmax")])
def test_log_linear(ends: tuple[str, str], top: int, scheme: str, dtype: torch.dtype) -> None:
    draw, V = np.random.default_rng(1), 25
    tags = Sparse.of(draw.random((V, 6)) < 0.4)
    counts = draw.integers(1, 50, V)
    types, both = [str(i) for i in range(V)], ("corpus", "train")
    lexicon = Lexicon(types, list("abcdef"), dict.fromkeys(both, counts), dict.fromkeys(both, tags))
    options = {"input": ends[0], "output": ends[1], "background": "corpus", "features_from": "corpus"}
    sizes = {"top_types": top, "word_identity": bool(top), "embedding_size": 5, "hidden_size": 6, "layers": 2}
    torch.set_default_dtype(dtype)  # of the readable model's sparse matrices
    try:
        models = made(
            lambda: loglinear_models.LogLinearRNN(lexicon, **options, **sizes), loglinear_models.initialise, dtype
        )
    finally:
        torch.set_default_dtype(torch.float32)

    def work(engine: Any, number: int) -> list[Any]:
        found, rates = [], {"learning_rate": 0.01 * (number + 1), "rho": 0.9}
        rates |= {"epsilon": 0.0, "inside": EPSILON} if scheme == "streams" else {"epsilon": EPSILON}
        if scheme == "streams":
            engine.reset(3)
        for step in range(4):
            x, y = words((2, 5, 3), 9 * number + step, V)
            found.append(engine.train(x, y if scheme == "streams" else y[0], **rates))
        found += [engine.evaluate(x, y), engine.log_probabilities(x)]
        return [*found, engine.state if scheme == "streams" else ()]

    optimiser = "rmsprop-epsilon-inside" if scheme == "streams" else "rmsprop"
    hold("windows", {"rho": 0.9, "epsilon": EPSILON, "optimiser": optimiser}, models, loglinear.ReferenceEngine, work)


@pytest.mark.parametrize("network", [Elman, LSTM])
def test_palindromes(network: type[nn.Module], dtype: torch.dtype) -> None:
    laws = {"weight_law": "fan-in-truncated-normal"}
    models = made(lambda: network(10, 7, 10, **laws), initialise_by_fan_in, dtype)

    def solo(model: nn.Module) -> Updating:
        gradients = palindromes.ReferenceEngine(model).loss_and_gradients
        return Updating(model, gradients, clip=torch.nn.utils.clip_grad_norm_)

    def work(engine: Any, number: int) -> list[Any]:
        batches = [(words((6, 8), 9 * number + i, 10), words((8,), i, 10)) for i in range(5)]
        return [engine.update(x, y, 0.01 * (number + 1)) for x, y in batches]

    hold("final-digit", {"clip_norm": NORM}, models, solo, work)


@pytest.mark.parametrize(("start", "activation"), [("one", "relu"), ("zero", "tanh")])
def test_books(activation: str, start: str, dtype: torch.dtype) -> None:
    laws = {"kernel_law": "glorot-uniform", "output_law": "fan-in-truncated-normal"}
    make = lambda: deep_lstm.DeepLSTM(12, 6, 2, activation, 1.0, **laws)  # noqa: E731
    models = made(make, deep_lstm.initialise, dtype)
    options = {"mean_square_start": start, "decay": 0.9, "epsilon": EPSILON, "clip_norm": NORM}

    def solo(model: nn.Module) -> Updating:
        rates = {"decay": 0.9, "epsilon": EPSILON, "start": 1.0 if start == "one" else 0.0}
        optimiser = TensorFlowRMSProp(model.parameters(), learning_rate=0.0, **rates)

        def step(rate: float) -> None:
            optimiser.learning_rate = rate
            optimiser.step()

        return Updating(model, books.ReferenceEngine(model).loss_and_gradients, step)

    def work(engine: Any, number: int) -> list[Any]:
        state, found = models[number].initial_state(4), []
        for step in range(4):
            x, y = words((2, 5, 4), 9 * number + step, 12)
            loss, state = engine.update(x, y, state, 0.01 * (number + 1))
            found += [loss, [part for pair in state for part in pair]]
        return found

    hold("character-windows", options, models, solo, work)


@pytest.mark.parametrize(("reduction", "clip"), [("mean-tokens", 0.0), ("mean-lines", NORM)])
@pytest.mark.parametrize(
    "make",
    [
        lambda: gso_models.GSO(9, 6, 4, True, True, "tanh"),
        lambda: gso_models.GSO(9, 6, 4, False, False, "identity"),
        lambda: gso_models.FirstOrder(9, 6, "tanh"),
        lambda: gso_models.MultiplicativeIntegration(9, 6, "tanh", "general"),
    ],
    ids=["gso", "mRNN", "first-order", "mi-rnn"],
)
def test_lines(make: Callable[[], nn.Module], clip: float, reduction: str, dtype: torch.dtype) -> None:
    ones = dict.fromkeys(("alpha", "beta_1", "beta_2"), 0.5)
    models = made(make, lambda m, g: gso_start.initialise(m, g, "orthogonal", "normal", 0.1, ones), dtype)

    def solo(model: nn.Module) -> Updating:
        engine = gso.ReferenceEngine(model)
        made = Updating(model, engine.train, clip=None if clip else lambda *_: None)
        made.evaluate = engine.evaluate
        return made

    def work(engine: Any, number: int) -> list[Any]:
        packed = pack(lines_of(number), np.arange(11), 4)  # the last batch has three lines
        found = [engine.update(packed[i], reduction, 0.01 * (number + 1)) for i in range(len(packed))]
        return [*found, [engine.evaluate(packed[i])[0] for i in range(len(packed))]]

    hold("line-epochs", {"clip_norm": clip}, models, solo, work)


def lines_of(number: int) -> Split:
    draw = np.random.default_rng(number)
    lengths = draw.integers(2, 12, 11)
    return Split(draw.integers(0, 9, lengths.sum()).astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]))


@pytest.mark.parametrize("pooling", ["", "last", "max", "mean"])
@pytest.mark.parametrize("directions", ["forward", "both"])
def test_sentences(pooling: str, directions: str, dtype: torch.dtype) -> None:
    """Without pooling a tag for every word, else a label for every sentence."""
    network = {"embedding_size": 4, "hidden_size": 5, "layers": 2, "directions": directions, "lower_layer": "both"}
    sizes = network | {"activation": "tanh", "vocabulary": 20, "classes": 3}
    make = lambda: SentenceClassifier(pooling=pooling, **sizes) if pooling else bidirectional.Tagger(**sizes)  # noqa: E731
    models = made(make, bidirectional.initialise, dtype)

    def loss(model: nn.Module, x: Tensor, present: Tensor, y: Tensor) -> tuple[Tensor, Any]:
        logits = model(x, present)
        logits = logits if pooling else logits[present]
        mean = functional.cross_entropy(logits, y)
        return mean, (mean.item(), logits.argmax(1))

    def work(engine: Any, number: int) -> list[Any]:
        found = []
        for step in range(4):
            B = 4 + (step + number) % 2
            x = words((3 + (step * (number + 1)) % 4, B), 9 * number + step, 20)
            lengths = torch.randint(1, len(x) + 1, (B,), generator=generator(step))
            present = torch.arange(len(x))[:, None] < lengths.clamp(min=len(x) * (torch.arange(B) == 0))
            y = words((B if pooling else int(present.sum()),), step, 3)
            ask = (engine.update, 0.01 * (number + 1)) if step < 3 else (engine.read,)
            found += ask[0](x, present, y, *ask[1:])
        return found

    protocol = "sentence-labels" if pooling else "tagging"
    hold(protocol, {"clip_norm": NORM}, models, lambda model: Losing(model, loss), work)


@pytest.mark.parametrize("unit", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("extended", [False, True])
def test_translation(extended: bool, unit: str, dtype: torch.dtype) -> None:
    extensions = dict.fromkeys(("untied", "context", "bidirectional", "reverse_source"), extended)
    sizes = {"embedding_size": 4, "hidden_size": 5, "layers": 1 + extended, "matrix_law": "gaussian"}
    models = made(lambda: translation.Translator(15, 17, unit, **sizes, **extensions), translation.initialise, dtype)

    def loss(model: nn.Module, batch: Any) -> tuple[Tensor, float]:
        h, _ = model.decode(batch.before, *model.encode(batch.source, batch.lengths))
        logits = model.logits(h.flatten(0, 1).index_select(0, batch.places))
        nats = functional.cross_entropy(logits, batch.targets, reduction="sum")
        return nats / len(batch.lengths), nats.item()

    def work(engine: Any, number: int) -> list[Any]:
        pairs = Pairs(sentences(number, 15), sentences(number + 50, 17), 0)
        batches = [pairs.batch(some) for some in pairs.shuffled(4, generator(number))]
        return [[engine.update(batch, 0.01 * (number + 1)) for batch in batches], engine.read(batches[0])]

    hold("translation", {"clip_norm": NORM}, models, lambda model: Losing(model, loss), work)


def sentences(number: int, vocabulary: int) -> Split:
    draw = np.random.default_rng(number)
    lengths = draw.integers(1, 12, 11)
    tokens = draw.integers(1, vocabulary, lengths.sum()).astype(np.int32)
    return Split(tokens, np.concatenate([[0], np.cumsum(lengths)]))


@pytest.mark.parametrize("network", [recurrent.RNN, recurrent.GRU, recurrent.LSTM])
def test_recall(network: type[recurrent.Recurrent], dtype: torch.dtype) -> None:
    names = Names(5)
    laws = {"recurrent_law": "gaussian", "recurrent_scale": 1.0, "input_std": 0.5}
    laws |= {"activation": "relu"} if network is recurrent.RNN else {}
    make = lambda: network(len(names.vocabulary), 6, **laws)  # noqa: E731
    models = made(make, lambda model, g: model.initialise(g), dtype)

    def loss(model: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, float]:
        mean = functional.cross_entropy(model(x), y)
        return mean, mean.item()

    def work(engine: Any, number: int) -> list[Any]:
        draw = generator(number)
        batches = [names.draw((3 * i + 2 * number) % 5, 6, draw) for i in range(4)]
        return [engine.update(x, y, 0.01 * (number + 1)) for x, y in batches]

    hold("recall", {"clip_norm": NORM}, models, lambda model: Losing(model, loss), work)
