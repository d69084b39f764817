"""Members of a stack: each steps as the readable model that trains alone, of every variant of a model, and is by
itself.
"""

from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from protocol_helpers import same_bits

from reprise.catalogue.protocols import PROTOCOLS
from reprise.engines.rntn import SGDSettings
from reprise.engines.stack import OutOfMemory, Stack, join_stack
from reprise.models.gated import GRU
from reprise.models.rntn import RNTN
from reprise.training.protocol import build_training

CPU = torch.device("cpu")
MEMBERS = 2
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
# So large that no step is made of gradients that are nothing but rounding.
EPSILON = {"epsilon": 1e-3}
GSO = {"input_term": True, "recurrent_term": True, "activation": "tanh"}
FIRST = {"b_law": "normal", "b_std": 0.1}
MI = {"model": "mi-rnn", "form": "general", "alpha": 0.5, "beta_1": 0.5, "beta_2": 0.5, **FIRST}
EXTENDED = {"untied": True, "context": True, "bidirectional": True, "reverse_source": True}
FEATURES = {"word_identity": True, "top_types": 4, "background": "corpus", **EPSILON}
STREAMS = {"scheme": "streams", "optimiser": "rmsprop-epsilon-inside", **EPSILON}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "subsequence-sgd": [
        {"matrices": 1, "loss_reduction": "mean", "dropout": 0.0},
        {"matrices": 60},
        {"matrices": 5, "bias": "shared", "h_0": 0.5},
        {"matrices": 7, "mapping": "f_mod", "loss_reduction": "mean"},
        {"model": "m-rnn", "factors": 4, "factor_law": "normal"},
    ],
    "batched-sgd": [
        {"model": model, "matrices": matrices, "loss_reduction": reduction, "dropout": dropout}
        for model in ("gru-lm", "lstm-lm")
        for matrices, reduction, dropout in ((1, "mean-steps", 0.0), (4, "sum-steps", 0.5))
    ],
    "window-sgd": [{"direct": True}, {"direct": False}],
    "windows": [
        {"input": "one-hot", "output": "softmax", **EPSILON},
        {"input": "one-hot", "output": "log-linear", **FEATURES},
        {"input": "features", "output": "softmax", **FEATURES, **STREAMS},
        {"input": "features", "output": "log-linear", "background": "corpus", **STREAMS},
    ],
    "final-digit": [{"model": "elman"}, {"model": "lstm"}],
    "character-windows": [
        {"activation": "relu", "mean_square_start": "one", **EPSILON},
        {"activation": "tanh", "mean_square_start": "zero", "window_state": "carried", **EPSILON},
    ],
    "line-epochs": [
        {"model": "gso", **GSO, "loss_reduction": "mean-lines"},
        {"model": "gso", **GSO, "input_term": False, "recurrent_term": False, "activation": "identity"},
        {"model": "first-order", "clip_norm": 0.0, **FIRST},
        MI,
    ],
    "tagging": [{"directions": "forward"}, {"directions": "both"}],
    "sentence-labels": [
        {"directions": directions, "pooling": pooling}
        for directions, pooling in (("both", "last"), ("forward", "max"), ("both", "mean"))
    ],
    "translation": [
        {"unit": "rnn", "layers": 1},
        *({"unit": unit, "layers": 2, **EXTENDED} for unit in ("rnn", "gru", "lstm")),
    ],
    "recall": [{"model": "notes-rnn", "activation": "relu"}, {"model": "notes-gru"}, {"model": "notes-lstm"}],
}
SHORT = ("piece_size", "windows", "tokens_per_piece")
"""How much a call of `advance` does, by the name that its protocol gives it."""


class Computed(Exception):
    """Ends a training after its first step."""


class Elsewhere(Stack):
    """On torch's device without values, which refuses tensors of another as a GPU does."""

    def run_step(self, *step):
        result = super().run_step(*step)
        raise Computed({value.device.type for value in result.values()})


@pytest.fixture
def short(monkeypatch):
    """Makes a protocol's calls of `advance` short."""

    def shorten(protocol):
        made_of = resolve_name(PROTOCOLS[protocol].target)
        for attribute in SHORT:
            if isinstance(getattr(made_of, attribute, None), int):
                monkeypatch.setattr(made_of, attribute, 1)

    return shorten


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize(
    ("protocol", "changes"),
    [pytest.param(p, some, id=f"{p} {i}") for p, variants in VARIANTS.items() for i, some in enumerate(variants)],
)
def test_members_step_as_the_readable_model_does(small, short, protocol, changes, precision):
    """To the same parameters; and a step keeps to its device."""
    short(protocol)
    resolved = small.resolved(protocol, precision, **changes)
    corpus = resolved.corpus and Path(resolved.corpus)

    def made(engine):
        return [build_training(resolved, seed, corpus, engine) for seed in range(MEMBERS)]

    stack, on_meta = Stack(CPU), Elsewhere(torch.device("meta"))
    members, away, alone = made(stack), made(on_meta), made("reference")
    with pytest.raises(Computed, match="^{'meta'}$"):
        on_meta.advance(away)
    for _ in range(3):
        for note, training in zip(stack.advance(members), alone, strict=True):
            assert isinstance(note, str), note
            training.advance()
    tolerance = TOLERANCE[precision]
    for member, training in zip(members, alone, strict=True):
        stacked, parameters = (one.get_state()["parameters"] for one in (member, training))
        assert stacked.keys() == parameters.keys()
        for parameter, value in parameters.items():
            off = torch.linalg.vector_norm(stacked[parameter] - value)
            assert off <= tolerance * (1 + torch.linalg.vector_norm(value)), parameter


TABLES = {
    "subsequence-sgd": ({"matrices": 60}, ["W_h", "U_h", "b_h"]),
    "windows": ({"input": "one-hot", "output": "softmax", "batch_size": 2}, ["E"]),
    "tagging": ({"batch_size": 1}, ["network.x"]),
}


@pytest.mark.parametrize("protocol", TABLES)
def test_a_step_touches_the_rows_that_it_reads_alone(small, short, protocol):
    """Of a vocabulary's vectors and matrices no more are differentiated than a step has words."""
    short(protocol)
    changes, tables = TABLES[protocol]
    training, inputs = small(protocol, 0, Stack(CPU), **changes), []
    member = training.engine
    loss, before = member.compute_loss, member.export()

    def watched(parameters, batch):
        inputs.append(parameters)
        return loss(parameters, batch)

    member.compute_loss = watched
    training.advance()
    after = member.export()
    for name in tables:
        read, changed = len(inputs[0][name]), (before[name] != after[name]).flatten(1).any(1)
        assert 0 < changed.sum() <= read < len(changed)


def test_members_that_train_and_read_at_once_leave_one_another_alone(small):
    """One trains while the other reads: neither is changed by the other's request, nor by one that leaves."""
    stack = Stack(CPU)
    trainings = [small("subsequence-sgd", replica, stack) for replica in range(MEMBERS)]
    members, data = [training.engine for training in trainings], trainings[0].data["valid"]
    before = [member.export() for member in members]
    settings = SGDSettings(learning_rate=0.1, reduction="sum", dropout=0.0, key=0)
    stack.compute_requests([members[0].train(data, settings), members[1].evaluate(data)])
    after = [member.export() for member in members]
    assert [same_bits(*pair) for pair in zip(before, after, strict=True)] == [False, True]
    stack.remove_members(members[:1])
    assert same_bits([member.export() for member in members], after)


@pytest.mark.parametrize(
    "message", ["[enforce fail] DefaultCPUAllocator: can't allocate memory: 1 bytes", "sizes differ"]
)
def test_a_fault_of_a_step_ends_all_members_at_once(small, message, monkeypatch):
    stack = Stack(CPU)
    members = [small("final-digit", replica, stack) for replica in range(MEMBERS)]
    monkeypatch.setattr(stack.programs, "call", Mock(side_effect=RuntimeError(message)))
    with pytest.raises(OutOfMemory if "memory" in message else RuntimeError, match="allocate|sizes differ"):
        stack.advance(members)


class Answered(Stack):
    """Answers words in capitals, and keeps what was requested together."""

    def compute_requests(self, requests):
        self.rounds = [*getattr(self, "rounds", []), list(requests)] if requests else self.rounds
        return [request.upper() for request in requests]


@pytest.mark.parametrize("requests", [(0, 3, 1), (2, 2, 2), (1, 0, 0)])
def test_pieces_of_work_go_on_side_by_side(requests):
    """Requests of a round are answered together, in the order of the members; who has ended is not waited for."""

    def run_piece(member):
        answers = []
        for i in range(requests[member]):
            answers.append((yield f"m{member} {i}"))
        if not answers:
            raise KeyError(member)
        return answers

    stack = Answered(CPU)
    notes = stack.advance([SimpleNamespace(run_piece=partial(run_piece, member)) for member in range(3)])
    for member, note in enumerate(notes):
        if requests[member]:
            assert note == [f"M{member} {i}" for i in range(requests[member])]
        else:
            assert isinstance(note, KeyError)
    assert stack.rounds == [[f"m{m} {i}" for m in range(3) if i < requests[m]] for i in range(max(requests))]


@pytest.mark.parametrize(
    ("protocol", "parent", "sizes"), [("subsequence-sgd", RNTN, (30, 6, 7)), ("batched-sgd", GRU, (30, 5, 6, 4))]
)
def test_of_a_class_that_inherits_nothing_is_gathered(protocol, parent, sizes):
    """It may read its parameters in ways of its own."""
    models = parent(*sizes), type("Other", (parent,), {})(*sizes)
    options = {"loss_reduction": "sum", "clip_norm": 0.5}
    assert [bool(join_stack(Stack(CPU), protocol, model, options).rows) for model in models] == [True, False]
