"""A step of several members of a stack against the readable models that train alone, of every variant of a model."""

from pathlib import Path
from typing import Any

import pytest
import torch

from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.catalogue.stated import load
from reprise.engines.stack import Stack, join
from reprise.models.gated import GRU
from reprise.models.rntn import RNTN
from reprise.training.protocol import Training, build_training

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
SHORT = ("at_once", "windows", "tokens_at_once")
"""How much a call of `advance` does, by the name that its protocol gives it."""


class Computed(Exception):
    """Ends a training after its first step."""


class Elsewhere(Stack):
    """On torch's device without values, which refuses tensors of another as a GPU does."""

    def __init__(self) -> None:
        super().__init__(torch.device("meta"))

    def run(self, *step: Any) -> Any:
        found = super().run(*step)
        raise Computed({value.device.type for value in found.values()})


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize(
    ("protocol", "changes"),
    [pytest.param(p, some, id=f"{p} {i}") for p, variants in VARIANTS.items() for i, some in enumerate(variants)],
)
def test_members_step_as_the_readable_model_does(small, monkeypatch, protocol, changes, precision):
    """To the same parameters; and a step keeps to its device."""
    made_of = load(PROTOCOLS[protocol].target, protocol)
    for attribute in SHORT:
        if isinstance(getattr(made_of, attribute, None), int):
            monkeypatch.setattr(made_of, attribute, 1)

    resolved = small.resolved(protocol, precision, **changes)
    model, corpus = resolved.config["model"], resolved.corpus and Path(resolved.corpus)
    model["options"] = {key: model["options"][key] for key in MODELS[model["name"]].options}

    def made(engine: str | Stack) -> list[Training]:
        return [build_training(resolved, seed, corpus, engine) for seed in range(MEMBERS)]

    stack, elsewhere = Stack(CPU), Elsewhere()
    members, away, alone = made(stack), made(elsewhere), made("reference")
    with pytest.raises(Computed, match="^{'meta'}$"):
        elsewhere.advance(away)
    for _ in range(3):
        for note, training in zip(stack.advance(members), alone, strict=True):
            assert isinstance(note, str), note
            training.advance()
    tolerance = TOLERANCE[precision]
    for member, training in zip(members, alone, strict=True):
        mine, parameters = (one.state()["parameters"] for one in (member, training))
        assert mine.keys() == parameters.keys()
        for parameter, value in parameters.items():
            off = torch.linalg.vector_norm(mine[parameter] - value)
            assert off <= tolerance * (1 + torch.linalg.vector_norm(value)), parameter


class Own:
    """Chooses rows in a way of its own."""

    def matrix_index(self, x):
        return (x + 3) % self.matrices


@pytest.mark.parametrize(
    ("protocol", "parent", "sizes"), [("subsequence-sgd", RNTN, (30, 6, 7)), ("batched-sgd", GRU, (30, 5, 6, 4))]
)
def test_of_a_class_that_inherits_nothing_is_gathered(protocol, parent, sizes):
    """It may read its parameters in ways of its own."""
    options = {"loss_reduction": "sum", "clip_norm": 0.5}
    rows = [
        join(Stack(CPU), protocol, model, options).rows
        for model in (parent(*sizes), type("Other", (Own, parent), {})(*sizes))
    ]
    assert rows[0]
    assert not rows[1]
