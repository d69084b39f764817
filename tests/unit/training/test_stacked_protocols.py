"""Every protocol in a stack: replicas are as they would be alone, and go on to the same bits from any round."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus, Split
from reprise.engines.stack import Stack
from reprise.records.record import Outcome
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import decode, encode
from reprise.training.protocol import Diverged, Training, build_training

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
REPLICAS = 2
DATA = {
    "synthetic": {"vocabulary_size": 60, "training_sentences": 40},
    "synthetic-lines": {"lines": 60},
    "synthetic-prose": {"vocabulary_size": 60, "training_sentences": 60, "licence_sentences": 10},
    "synthetic-tagged": {"vocabulary_size": 100, "training_sentences": 60},
    "synthetic-pairs": {"training_sentences": 40},
    "synthetic-tags": {"vocabulary_size": 60, "training_sentences": 60},
    "names": {"names": 4, "filler": 4},
    "palindromes": {"length": 5},
}
SMALL = {"hidden_size": 8, "embedding_size": 6, "second_order_size": 5}
FEW = {"max_epochs": 2, "steps": 24, "log_every": 4, "sample_every": 8, "table_every": 8, "patience": 1}
FEW |= {
    "sample_length": 20,
    "final_length": 20,
    "sample_words": 5,
    "samples": 1,
    "completions": 1,
    "output_limit": 10,
    "clip_norm": 0.5,
}
GATED = {
    "model": {"name": "lstm-lm", "options": {"embedding_size": 6, "hidden_size": 8, "matrices": 3, "mapping": "f"}},
    "training": {
        "protocol": "batched-sgd",
        "options": {"batch_size": 4, "steps": 10, "loss_reduction": "sum-steps", "learning_rate": 1.0, "dropout": 0.5}
        | {"clip_norm": 0.5, "schedule": "halve-below-ratio", "halving_ratio": 1.003, "patience": 2, "max_epochs": 2},
    },
}
GATED["model"]["options"]["weight_range"] = 0.1
# The model of an experiment of the tier `quick` for each protocol, and another choice of its options.
EXPERIMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "final-digit": ("lstm", {}),
    "character-windows": ("stacked-lstm", {}),
    "character-windows, carried": ("stacked-lstm", {"window_state": "carried"}),
    "subsequence-sgd": ("r-rntn", {"matrices": 5}),
    "subsequence-sgd, rnnlm": ("r-rntn", {"schedule": "rnnlm", "halving_ratio": 9.0}),
    "batched-sgd": ("r-rntn", GATED),
    "line-epochs": ("gso", {}),
    "windows": ("log-linear", {}),
    "windows, features": ("log-linear", {"output": "log-linear", "input": "features", "word_identity": True}),
    "windows, streams": ("log-linear", {"scheme": "streams"}),
    "window-sgd": ("window-lm", {}),
    "tagging": ("tagger", {}),
    "sentence-labels": ("sentence-classifier", {"pooling": "mean"}),
    "translation": ("translation", {"untied": True, "context": True}),
    "recall": ("notes-rnn", {}),
}
Make = Callable[[Any, int], Training]


@pytest.fixture(scope="module")
def experiments() -> dict[str, Resolved]:
    """One of each model."""
    quick = resolve_tier(load_project(ROOT, {"tier": "quick"}))
    return {e.config["model"]["name"]: e for e in quick if not e.is_check}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpora")


@pytest.fixture(params=EXPERIMENTS)
def make(request: pytest.FixtureRequest, experiments: dict[str, Resolved], corpora: Path) -> Make:
    """Makes a replica's training: of an engine by name, or as a member of a stack."""
    model, changed = EXPERIMENTS[request.param]
    config = copy.deepcopy(experiments[model].config)
    if "model" in changed:
        config |= copy.deepcopy(changed)
    for section in ("model", "training"):
        options = config[section]["options"]
        options |= {key: value for key, value in {**SMALL, **FEW, **changed}.items() if key in options}
    config["precision"] = "float64"
    dataset, options = config["data"]["dataset"], config["data"]["options"]
    options |= DATA[dataset]
    corpus = corpora / f"{dataset}.npz" if experiments[model].corpus else None
    if corpus is not None and not corpus.exists():
        prepare_corpus(load_project(ROOT, {"tier": "quick"}).spec(dataset), options, corpora, corpus)
        shorten(corpus)
    resolved = Resolved("p", "e", "quick", "t", REPLICAS, config, {}, corpus and str(corpus))
    return lambda engine, replica: build_training(resolved, replica, corpus, engine, CPU)


def shorten(path: Path) -> None:
    """Leaves twenty sentences of words to validate and test with."""
    corpus = Corpus.load(path)
    if corpus.name == "synthetic":
        for name in ("valid", "test"):
            split = corpus.splits[name]
            corpus.splits[name] = Split(split.tokens[: split.offsets[20]], split.offsets[:21])
        corpus.save(path)


def test_every_protocol_that_a_gpu_trains_is_here() -> None:
    assert {name.partition(",")[0] for name in EXPERIMENTS} == {name for name, p in PROTOCOLS.items() if p.gpu}


def finish(stack: Stack, trainings: Sequence[Training], states: list[bytes] | None = None) -> list[Outcome]:
    """Trains all to the end; `states` gets what a checkpoint would hold between two rounds, while all train."""
    live = list(trainings)
    while live:
        for found in stack.advance(live):
            if isinstance(found, BaseException):
                raise found
        if states is not None and len(live) == len(trainings):
            states.append(encode({"identity": {}, "state": {"all": [training.state() for training in trainings]}}))
        live = [training for training in live if not training.finished]
        stack.keep(live)
    return [training.outcome() for training in trainings]


def test_replicas_of_a_stack_are_those_that_train_alone(make: Make) -> None:
    stack = Stack(CPU)
    outcomes = finish(stack, [make(stack, replica) for replica in range(REPLICAS)])
    for replica, outcome in enumerate(outcomes):
        training = make("reference", replica)
        while not training.finished:
            training.advance()
        alone = training.outcome()
        assert outcome.metrics
        assert [shape(m) for m in outcome.metrics] == [shape(m) for m in alone.metrics]
        values = [[m["value"] for m in one.metrics] for one in (outcome, alone)]
        assert values[0] == pytest.approx(values[1], rel=1e-8)
        for mine, other in zip(outcome.curves, alone.curves, strict=True):
            assert mine["x"] == other["x"]
            assert mine["y"] == pytest.approx(other["y"], rel=1e-6)
        assert outcome.samples == alone.samples


def shape(metric: dict[str, Any]) -> tuple[Any, ...]:
    return metric["split"], metric["metric"], metric["unit"], metric["n"]


def test_a_stack_goes_on_from_its_states_to_the_same_bits(make: Make) -> None:
    states: list[bytes] = []
    stack = Stack(CPU)
    whole = finish(stack, [make(stack, replica) for replica in range(REPLICAS)], states)
    for state in {states[0], states[len(states) // 2], states[-1]}:
        stack = Stack(CPU)
        trainings = [make(stack, replica) for replica in range(REPLICAS)]
        for training, saved in zip(trainings, decode(state)["state"]["all"], strict=True):
            training.restore(saved)
        stack.keep([training for training in trainings if not training.finished])
        live = [training for training in trainings if not training.finished]
        finish(stack, live)
        assert [training.outcome() for training in trainings] == whole


@pytest.mark.parametrize("make", ["subsequence-sgd", "line-epochs", "windows", "translation", "tagging"], indirect=True)
def test_a_member_that_diverges_leaves_the_others_as_they_are(make: Make) -> None:
    healthy = Stack(CPU)
    expected = finish(healthy, [make(healthy, replica) for replica in range(REPLICAS)])
    stack = Stack(CPU)
    trainings = [make(stack, replica) for replica in range(REPLICAS)]
    parameters = trainings[1].kernel.export()
    trainings[1].kernel.load({name: torch.full_like(value, torch.nan) for name, value in parameters.items()})
    found = stack.advance(trainings)
    while isinstance(found[1], str):
        found = stack.advance(trainings)
    assert isinstance(found[1], Diverged)
    stack.keep(trainings[:1])
    (outcome,) = finish(stack, trainings[:1])
    values = [[m["value"] for m in one.metrics] for one in (outcome, expected[0])]
    assert values[0] == pytest.approx(values[1], rel=1e-8)
