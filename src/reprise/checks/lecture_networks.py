"""Check document 003's networks: limits of the gates, and what grows with the length of a text and what does not."""

import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import product

import torch
from torch import Tensor

from reprise.checks import Finding, count_parameters
from reprise.models.bidirectional import Tagger
from reprise.models.recall_networks import GRU, LSTM, RNN, RecallNetwork

_LAWS = {"recurrent_law": "gaussian", "recurrent_scale": 1.0, "input_std": 1.0}
_V, _H, _B = 7, 6, 5
_SENTENCE = 25  # words
_SATURATED = 1e4  # sigma(-1e4) is 0 and sigma(1e4) is 1 to the last bit of a float64


def check_gate_limits() -> Iterator[Finding]:
    """Check section 3 of the GRU at the limits of its gates.

    With r = 0 the new memory does not depend on the past. With z = 1, h_{t-1} is copied to h_t. With z = 0, h_t is the
    new memory. With r = 0 and z = 0 everything is forgotten.
    """
    model = GRU(_V, _H, **_LAWS)
    model.initialise(_make_generator(8))
    h, other = torch.tanh(torch.randn(2, _B, _H, generator=_make_generator(10), dtype=torch.float64))
    model, x = model.double(), torch.randn(_H, _B, generator=_make_generator(9), dtype=torch.float64).T
    free = torch.zeros(_B, _H, dtype=torch.float64)

    def step(h: Tensor, z: float | None, r: float | None) -> Tensor:
        gates = [free if value is None else torch.full_like(free, _SATURATED * (2 * value - 1)) for value in (z, r)]
        return model.step(torch.stack([*gates, x]), (h,))[0]

    U = model.W_h[2]
    memory = torch.tanh(torch.sigmoid(h @ model.W_h[1].T) * (h @ U.T) + x)  # of a free reset gate
    cases = {
        "r = 0: the new memory against tanh(W x)": (step(h, 0, 0), torch.tanh(x)),
        "r = 0: the new memory of two pasts": (step(h, 0, 0), step(other, 0, 0)),
        "z = 1: h_t against h_{t-1}": (step(h, 1, None), h),
        "z = 0: h_t against the new memory": (step(h, 0, None), memory),
    }
    for name, (actual, known) in cases.items():
        yield Finding.from_errors(name, (actual - known).detach().abs().flatten(), "1")


def check_parameters_over_length() -> Iterator[Finding]:
    """Check section 2: the number of parameters does not depend on the length of the input.

    The loss of a text of T words is traced back to its parameters. Their number is compared with that of two words.
    """
    for name, model in _make_networks().items():
        counts = [sum(p.numel() for p in _find_reached_parameters(model(_draw_words(T)).sum())) for T in (2, 10, 100)]
        yield Finding.from_errors(name, (abs(count - counts[0]) for count in counts), "parameters")


def check_memory_over_length() -> Iterator[Finding]:
    """Check section 2.2: the memory of a layer is proportional to the number of words that it is unrolled over."""
    return _measure_memory("a word", lambda T: [_draw_words(T)])


def check_memory_over_corpus() -> Iterator[Finding]:
    """Check the same as printed: "the number of words in the corpus", "a sentence as a minibatch" of 25 words.

    A sentence has a copy of its words, without which the whole corpus would count as waiting.
    """
    return _measure_memory(
        "a word of the corpus", lambda T: (words.clone() for words in _draw_words(T).split(_SENTENCE))
    )


def _measure_memory(unit: str, texts: Callable[[int], Iterable[Tensor]]) -> Iterator[Finding]:
    """Count the bytes a word that wait for the backward pass, for texts of 50, 100, 200 and 400 words.

    The error is by how much the most exceeds the least, as a share.
    """
    for name, model in _make_networks().items():
        per_word = [_measure_waiting_bytes(model, texts(T)) / T for T in (50, 100, 200, 400)]
        yield Finding(f"{name}: bytes {unit}", max(per_word) / min(per_word) - 1, len(per_word))


def check_bidirectional_parameters() -> Iterator[Finding]:
    """Check section 2.5: two directions take twice the weights and biases of one. The output has one bias."""
    for hidden in (10, 100):
        one, two = (_count_recurrent(tagger) for tagger in _make_taggers(hidden, _V))
        yield Finding(f"recurrent layer, H = {hidden}", abs(two / one / 2 - 1), 1)


def check_bidirectional_parameters_and_output() -> Iterator[Finding]:
    """Check the same with U of equation 19, without its c, which both directions share."""
    for hidden, classes in product((10, 100), (17, 10_000)):
        one, two = (_count_recurrent(tagger) + tagger.U.numel() for tagger in _make_taggers(hidden, classes))
        yield Finding(f"with the output layer, H = {hidden}, {classes:,} classes", abs(two / one / 2 - 1), 1)


def _make_taggers(hidden: int, classes: int) -> list[Tagger]:
    """Make the networks of one and of two directions, of one layer."""
    settings = {"embedding_size": 50, "hidden_size": hidden, "layers": 1, "lower_layer": "both", "activation": "tanh"}
    return [Tagger(_V, classes, directions=directions, **settings) for directions in ("forward", "both")]


def _count_recurrent(tagger: Tagger) -> int:
    """Count the weights and biases of the recurrent layer, of one or both directions."""
    return count_parameters(tagger.network.right) + count_parameters(tagger.network.left)


def _make_networks() -> dict[str, RecallNetwork]:
    models = {"RNN": RNN(_V, _H, "tanh", **_LAWS), "GRU": GRU(_V, _H, **_LAWS), "LSTM": LSTM(_V, _H, **_LAWS)}
    for model in models.values():
        model.initialise(_make_generator(7))
    return models


def _draw_words(T: int) -> Tensor:
    return torch.randint(_V, (T, _B), generator=_make_generator(11))


def _make_generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _find_reached_parameters(loss: Tensor) -> set[Tensor]:
    """Return the parameters that autograd's graph of the loss ends in."""
    waiting, seen = [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node and node not in seen:
            seen.add(node)
            waiting += [after for after, _ in node.next_functions]
    return {node.variable for node in seen if hasattr(node, "variable")}


def _measure_waiting_bytes(model: RecallNetwork, texts: Iterable[Tensor]) -> int:
    """Return the most bytes that ever wait for a backward pass, without the parameters.

    Each text has its backward pass before the next one is read.
    """
    saved: list[weakref.ref[Tensor]] = []
    parameters, most = {p.untyped_storage().data_ptr() for p in model.parameters()}, 0

    def keep(tensor: Tensor) -> Tensor:
        saved.append(weakref.ref(tensor))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        for words in texts:
            loss = model(words).sum()
            storages = (kept.untyped_storage() for reference in saved if (kept := reference()) is not None)
            sizes = {storage.data_ptr(): storage.nbytes() for storage in storages}
            most = max(most, sum(size for place, size in sizes.items() if place not in parameters))
            loss.backward()
    return most
