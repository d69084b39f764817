"""R members of a stack against R solo trainings with the readable model: each with its own weights, batches, rates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from reprise.data.corpus import Split
from reprise.data.synthetic.names import Names
from reprise.engines.books import reference as books
from reprise.engines.gated import reference as gated
from reprise.engines.gso import reference as gso
from reprise.engines.gso.packing import pack
from reprise.engines.lecture import window
from reprise.engines.loglinear import reference as loglinear
from reprise.engines.optimisers import RMSProp, clip_by_global_norm
from reprise.engines.palindromes import reference as palindromes
from reprise.engines.rntn import reference as rntn_engines
from reprise.engines.rntn.subsequences import Subsequences
from reprise.engines.stack import Stack, join
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
# Learning rates are each member's own.
RATES = [0.01, 0.02, 0.03]


class OwnRNTN(rntn.RNTN):
    """Reads the words in a way of its own."""

    def forward(self, x, h, mask=None):
        return super().forward(x.flip(0), h, mask)


class OwnGRU(gated_models.GRU):
    """Chooses matrices in a way of its own."""

    def matrix_index(self, x):
        return (x + 3) % self.matrices


class Working:
    """A training that does one piece of work with its engine."""

    def __init__(self, kernel, work, number):
        self.kernel, self.work, self.number = kernel, work, number

    def advance(self):
        return self.work(self.kernel, self.number)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


class Computed(Exception):
    """Ends a work after its first step."""


class Elsewhere(Stack):
    """On torch's device without values, which refuses tensors of another as a GPU does."""

    def __init__(self):
        super().__init__(torch.device("meta"))

    def run(self, *step):
        found = super().run(*step)
        raise Computed({value.device.type for value in found.values()})


def hold(protocol, options, models, solo, work):
    """Members and solo engines find the same numbers and end with the same parameters; a step keeps to its device."""
    tolerance = TOLERANCE[next(models[0].parameters()).dtype]
    stack, elsewhere = Stack(CPU), Elsewhere()
    members, away = ([join(one, protocol, model, options) for model in models] for one in (stack, elsewhere))
    found = stack.advance([Working(member, work, i) for i, member in enumerate(members)])
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


def numbers(found):
    """All numbers in what a work returned, one after another."""
    if isinstance(found, (list, tuple)):
        return torch.cat([numbers(one) for one in found] or [torch.zeros(0, dtype=torch.float64)])
    return torch.as_tensor(found, dtype=torch.float64).flatten()


def made(make, initialise, dtype):
    models = [make() for _ in range(MEMBERS)]
    for seed, model in enumerate(models):
        initialise(model, generator(seed))
    return [model.to(dtype) for model in models]


def generator(seed):
    return torch.Generator().manual_seed(seed)


def words(size, number, below):
    return torch.randint(below, size, generator=generator(number))


class Updating:
    """What the protocols do that keep an optimiser of torch: gradients of a readable model, a clip, a step."""

    def __init__(self, model, gradients, step=None, clip=clip_by_global_norm):
        self.model, self.gradients, self.clip, self.step = model, gradients, clip, step or adam(model)

    def update(self, *batch):
        *inputs, rate = batch
        found = self.gradients(*inputs)
        self.clip(self.model.parameters(), NORM)
        self.step(rate)
        return found


class Losing(Updating):
    """The same of a loss, which gives its mean and what else is found."""

    def __init__(self, model, loss):
        super().__init__(model, self.descended)
        self.loss = loss

    def descended(self, *inputs):
        loss, found = self.loss(self.model, *inputs)
        self.model.zero_grad()
        loss.backward()
        return found

    @torch.no_grad()
    def read(self, *inputs):
        return self.loss(self.model, *inputs)[1]


def adam(model):
    optimiser = torch.optim.Adam(model.parameters())

    def step(rate):
        optimiser.param_groups[0]["lr"] = rate
        optimiser.step()

    return step


RNTNS = {
    "s-RNN": lambda: rntn.RNTN(30, 6, 1),
    "RNTN": lambda: rntn.RNTN(30, 6, 30),
    "r-RNTN": lambda: rntn.RNTN(30, 6, 5, bias="shared", h_0=0.5),
    "f_mod": lambda: rntn.RNTN(30, 6, 7, mapping="f_mod"),
    "m-RNN": lambda: mrnn.MRNN(30, 6, 4),
    "inherits": lambda: OwnRNTN(30, 6, 7, mapping="f_mod"),
    "fewer words than a subsequence": lambda: rntn.RNTN(4, 6, 4),
    "fewer words, f_mod": lambda: rntn.RNTN(4, 6, 2, mapping="f_mod"),
}


@pytest.mark.parametrize(("reduction", "dropout"), [("sum", 0.5), ("mean", 0.0)])
@pytest.mark.parametrize("name", RNTNS)
def test_subsequences(name, dropout, reduction, dtype):
    models = made(RNTNS[name], lambda model, g: rntn.initialise(model, 0.3, g), dtype)
    lengths = [5, 3, 7, 1, 20, 20]
    x, y = np.random.default_rng(0).integers(0, models[0].vocabulary, (2, sum(lengths))).astype(np.int32)
    data = Subsequences(x, y, np.cumsum([0, *lengths]), np.array([1, 0, 1, 1, 0, 1], bool))

    def work(engine, number):
        how = {"learning_rate": 10 * RATES[number], "reduction": reduction, "dropout": dropout, "key": number}
        return [engine.train(data, **how), engine.hidden, engine.evaluate(data), engine.hidden]

    hold("subsequence-sgd", {"loss_reduction": reduction}, models, rntn_engines.ReferenceEngine, work)


@pytest.mark.parametrize("reduction", ["sum-steps", "mean-steps"])
@pytest.mark.parametrize("matrices", [1, 4])
@pytest.mark.parametrize("model", [gated_models.GRU, gated_models.LSTM, OwnGRU], ids=["GRU", "LSTM", "inherits"])
def test_gated(model, matrices, reduction, dtype):
    V, E, H, T, B = 30, 5, 6, 7, 4
    models = made(lambda: model(V, E, H, matrices), lambda m, g: gated_models.initialise(m, 0.3, g), dtype)

    def work(engine, number):
        engine.reset(B)
        found = []
        for step in range(4):
            x, y = words((2, T - step, B), 10 * number + step, V)
            masks = [2 * torch.randint(2, (*x.shape, n), generator=generator(step)).to(dtype) for n in (E, H)]
            how = {"learning_rate": 50 * RATES[number], "reduction": reduction, "clip_norm": NORM}
            found.append(engine.train(x, y, tuple(masks) if step else None, **how))
        found.append(engine.state)
        engine.reset(1)
        return [*found, engine.evaluate(*words((2, T, 1), 7, V)), engine.state]

    hold("batched-sgd", {"loss_reduction": reduction, "clip_norm": NORM}, models, gated.ReferenceEngine, work)


@pytest.mark.parametrize("direct", [True, False])
def test_windows_of_words(direct, dtype):
    models = made(lambda: window_models.WindowModel(30, 4, 6, 3, direct), window_models.initialise, dtype)

    def work(engine, number):
        batches = [(words((5, 3), 9 * number + i, 30), words((5,), i, 30)) for i in range(4)]
        rates = {"learning_rate": 100 * RATES[number], "clip_norm": NORM}
        return [[engine.train(x, y, **rates) for x, y in batches], engine.evaluate(*batches[0])]

    hold("window-sgd", {"clip_norm": NORM}, models, window.ReferenceEngine, work)


@pytest.mark.parametrize("scheme", ["sliding", "streams"])
@pytest.mark.parametrize("top", [0, 4])
@pytest.mark.parametrize("ends", [("one-hot", "softmax"), ("one-hot", "log-linear"), ("features", "softmax")])
def test_log_linear(ends, top, scheme, dtype):
    draw, V = np.random.default_rng(1), 25
    tags, counts, both = Sparse.of(draw.random((V, 6)) < 0.4), draw.integers(1, 50, V), ("corpus", "train")
    lexicon = Lexicon(
        [str(i) for i in range(V)], list("abcdef"), dict.fromkeys(both, counts), dict.fromkeys(both, tags)
    )
    torch.set_default_dtype(dtype)  # of the readable model's sparse matrices
    try:
        make = lambda: loglinear_models.LogLinearRNN(lexicon, *ends, "corpus", "corpus", top, bool(top), 5, 6, 2)  # noqa: E731
        models = made(make, loglinear_models.initialise, dtype)
    finally:
        torch.set_default_dtype(torch.float32)

    def work(engine, number):
        found, rates = [], {"learning_rate": RATES[number], "rho": 0.9}
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
def test_palindromes(network, dtype):
    models = made(lambda: network(10, 7, 10, "fan-in-truncated-normal"), initialise_by_fan_in, dtype)

    def solo(model):
        gradients = palindromes.ReferenceEngine(model).loss_and_gradients
        return Updating(model, gradients, clip=torch.nn.utils.clip_grad_norm_)

    def work(engine, number):
        batches = [(words((6, 8), 9 * number + i, 10), words((8,), i, 10)) for i in range(5)]
        return [engine.update(x, y, RATES[number]) for x, y in batches]

    hold("final-digit", {"clip_norm": NORM}, models, solo, work)


@pytest.mark.parametrize(("start", "activation"), [("one", "relu"), ("zero", "tanh")])
def test_books(activation, start, dtype):
    laws = {"kernel_law": "glorot-uniform", "output_law": "fan-in-truncated-normal"}
    models = made(lambda: deep_lstm.DeepLSTM(12, 6, 2, activation, 1.0, **laws), deep_lstm.initialise, dtype)
    options = {"mean_square_start": start, "decay": 0.9, "epsilon": EPSILON, "clip_norm": NORM}

    def solo(model):
        first = 1.0 if start == "one" else 0.0
        optimiser = RMSProp(model.parameters(), decay=0.9, inside=EPSILON, first=first)

        def step(rate):
            optimiser.learning_rate = rate
            optimiser.step()

        return Updating(model, books.ReferenceEngine(model).loss_and_gradients, step)

    def work(engine, number):
        state, found = models[number].initial_state(4), []
        for step in range(4):
            loss, state = engine.update(*words((2, 5, 4), 9 * number + step, 12), state, RATES[number])
            found += [loss, [part for pair in state for part in pair]]
        return found

    hold("character-windows", options, models, solo, work)


LINES = {
    "gso": lambda: gso_models.GSO(9, 6, 4, True, True, "tanh"),
    "mRNN": lambda: gso_models.GSO(9, 6, 4, False, False, "identity"),
    "first-order": lambda: gso_models.FirstOrder(9, 6, "tanh"),
    "mi-rnn": lambda: gso_models.MultiplicativeIntegration(9, 6, "tanh", "general"),
}


@pytest.mark.parametrize(("reduction", "clip"), [("mean-tokens", 0.0), ("mean-lines", NORM)])
@pytest.mark.parametrize("name", LINES)
def test_lines(name, clip, reduction, dtype):
    ones = dict.fromkeys(("alpha", "beta_1", "beta_2"), 0.5)
    models = made(LINES[name], lambda m, g: gso_start.initialise(m, g, "orthogonal", "normal", 0.1, ones), dtype)

    def solo(model):
        engine = gso.ReferenceEngine(model)
        training = Updating(model, engine.train, clip=clip_by_global_norm if clip else lambda *_: None)
        training.evaluate = engine.evaluate
        return training

    def work(engine, number):
        packed = pack(sentences(number, 9, 2), np.arange(11), 4)  # the last batch has three lines
        found = [engine.update(batch, reduction, RATES[number]) for batch in packed]
        return [*found, [engine.evaluate(batch)[0] for batch in packed]]

    hold("line-epochs", {"clip_norm": clip}, models, solo, work)


def sentences(number, vocabulary, shortest=1):
    draw = np.random.default_rng(number)
    lengths = draw.integers(shortest, 12, 11)
    return Split(
        draw.integers(1, vocabulary, lengths.sum()).astype(np.int32), np.concatenate([[0], np.cumsum(lengths)])
    )


@pytest.mark.parametrize("pooling", ["", "last", "max", "mean"])
@pytest.mark.parametrize("directions", ["forward", "both"])
def test_sentences(pooling, directions, dtype):
    """Without pooling a tag for every word, else a label for every sentence."""
    network = {"embedding_size": 4, "hidden_size": 5, "layers": 2, "directions": directions, "lower_layer": "both"}
    sizes = network | {"activation": "tanh", "vocabulary": 20, "classes": 3}
    make = lambda: SentenceClassifier(pooling=pooling, **sizes) if pooling else bidirectional.Tagger(**sizes)  # noqa: E731
    models = made(make, bidirectional.initialise, dtype)

    def loss(model, x, present, y):
        logits = model(x, present)
        logits = logits if pooling else logits[present]
        mean = functional.cross_entropy(logits, y)
        return mean, (mean.item(), logits.argmax(1))

    def work(engine, number):
        found = []
        for step in range(4):
            B = 4 + (step + number) % 2
            x = words((3 + (step * (number + 1)) % 4, B), 9 * number + step, 20)
            lengths = torch.randint(1, len(x) + 1, (B,), generator=generator(step))
            present = torch.arange(len(x))[:, None] < lengths.clamp(min=len(x) * (torch.arange(B) == 0))
            y = words((B if pooling else int(present.sum()),), step, 3)
            found += engine.update(x, present, y, RATES[number]) if step < 3 else engine.read(x, present, y)
        return found

    protocol = "sentence-labels" if pooling else "tagging"
    hold(protocol, {"clip_norm": NORM}, models, lambda model: Losing(model, loss), work)


@pytest.mark.parametrize("unit", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("extended", [False, True])
def test_translation(extended, unit, dtype):
    extensions = dict.fromkeys(("untied", "context", "bidirectional", "reverse_source"), extended)
    sizes = {"embedding_size": 4, "hidden_size": 5, "layers": 1 + extended, "matrix_law": "gaussian"}
    models = made(lambda: translation.Translator(15, 17, unit, **sizes, **extensions), translation.initialise, dtype)

    def loss(model, batch):
        h, _ = model.decode(batch.before, *model.encode(batch.source, batch.lengths))
        logits = model.logits(h.flatten(0, 1).index_select(0, batch.places))
        nats = functional.cross_entropy(logits, batch.targets, reduction="sum")
        return nats / len(batch.lengths), nats.item()

    def work(engine, number):
        pairs = Pairs(sentences(number, 15), sentences(number + 50, 17), 0)
        batches = [pairs.batch(some) for some in pairs.shuffled(4, generator(number))]
        return [[engine.update(batch, RATES[number]) for batch in batches], engine.read(batches[0])]

    hold("translation", {"clip_norm": NORM}, models, lambda model: Losing(model, loss), work)


@pytest.mark.parametrize("network", [recurrent.RNN, recurrent.GRU, recurrent.LSTM])
def test_recall(network, dtype):
    names = Names(5)
    laws = {"recurrent_law": "gaussian", "recurrent_scale": 1.0, "input_std": 0.5}
    laws |= {"activation": "relu"} if network is recurrent.RNN else {}
    models = made(lambda: network(len(names.vocabulary), 6, **laws), lambda model, g: model.initialise(g), dtype)

    def loss(model, x, y):
        mean = functional.cross_entropy(model(x), y)
        return mean, mean.item()

    def work(engine, number):
        batches = [names.draw((3 * i + 2 * number) % 5, 6, generator(number)) for i in range(4)]
        return [engine.update(x, y, RATES[number]) for x, y in batches]

    hold("recall", {"clip_norm": NORM}, models, lambda model: Losing(model, loss), work)
