"""What every protocol promises: it goes on to the same bits, alone and in a stack, and refuses in one line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from compiler_helpers import needs_compiler
from protocol_helpers import finish, goes_on, saved, states_of

from reprise.catalogue.protocols import PROTOCOLS
from reprise.catalogue.stated import load
from reprise.engines.stack import Stack
from reprise.errors import Interrupted, UserError
from reprise.records.record import Outcome
from reprise.training.checkpoint import decode, encode
from reprise.training.loop import Job, run_jobs
from reprise.training.protocol import Diverged, Training, generator_for

CPU = torch.device("cpu")
# The options that are changed, the fast engine, and how calls are made short, so that some end inside a part.
LEARN: dict[str, tuple[dict[str, Any], str, tuple[str, int]]] = {
    "final-digit": ({"model": "elman"}, "fused", ("at_once", 1)),
    "final-digit, lstm": ({"model": "lstm"}, "fused", ("at_once", 1)),
    "character-windows": ({}, "layerwise", ("at_once", 7)),
    "character-windows, carried": ({"window_state": "carried"}, "layerwise", ("at_once", 7)),
    "subsequence-sgd": ({"matrices": 5}, "fused", ("at_once", 37)),
    "subsequence-sgd, rnnlm": ({"schedule": "rnnlm", "halving_ratio": 9.0, "patience": 3}, "fused", ("at_once", 37)),
    "batched-sgd": ({"dropout": 0.5}, "grouped", ("windows", 3)),
    "batched-sgd, lstm": ({"model": "lstm-lm"}, "grouped", ("windows", 3)),
    "line-epochs": ({}, "fused", ("tokens_at_once", 1)),
    "windows": ({}, "fused", ("at_once", 3)),
    "windows, features": (
        {"output": "log-linear", "input": "features", "word_identity": True},
        "fused",
        ("at_once", 3),
    ),
    "windows, streams": ({"scheme": "streams"}, "fused", ("at_once", 3)),
    "window-sgd": ({"direct": True}, "hand", ("at_once", 100)),
    "tagging": ({}, "reference", ("at_once", 1)),
    "sentence-labels": ({"pooling": "mean"}, "reference", ("at_once", 1)),
    "translation": ({"untied": True, "context": True}, "hand", ("at_once", 1)),
    "recall": ({"model": "notes-lstm"}, "reference", ("at_once", 5)),
}
COUNT = ("ngram", "word-ngram", "word-order", "random-jacobians", "error-surface", "corpus-facts")
ENGINES = [
    pytest.param(case, engine, marks=needs_compiler if engine == "fused" else ())
    for case, (_, fast, _) in LEARN.items()
    for engine in dict.fromkeys((fast, "reference"))
] + [(protocol, "auto") for protocol in COUNT]
REPLICAS = 2


def changes_of(case: str) -> dict[str, Any]:
    return LEARN[case][0] if case in LEARN else {}


@pytest.fixture
def make(small: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A small training of a case, with short calls."""

    def made(case: str, seed: int = 0, engine: str | Stack = "auto", **changes: Any) -> Training:
        protocol = case.partition(",")[0]
        if case in LEARN:
            module, _, name = PROTOCOLS[protocol].target.partition(":")
            monkeypatch.setattr(f"{module}.{name}.{LEARN[case][2][0]}", LEARN[case][2][1])
        return small(protocol, seed, engine, **changes_of(case) | changes)

    return made


def test_every_protocol_is_here() -> None:
    assert {case.partition(",")[0] for case in LEARN} == {name for name, p in PROTOCOLS.items() if p.gpu}
    assert {*COUNT, *(case.partition(",")[0] for case in LEARN)} == set(PROTOCOLS)


def test_random_streams_are_apart() -> None:
    numbers = {tuple(torch.rand(3, generator=generator_for(s, n)).tolist()) for s in (0, 1) for n in ("a", "b")}
    assert len(numbers) == 4


@pytest.mark.parametrize(("case", "engine"), ENGINES)
def test_it_goes_on_from_its_state_to_the_same_bits(make: Any, case: str, engine: str) -> None:
    """From the first and last states of a part, and some between them."""
    whole = make(case, 1, engine)
    assert engine in ("auto", whole.engine)
    states = states_of(whole, "part" if hasattr(whole, "part") else None)
    borders = [i for i, (one, other) in enumerate(pairwise(states)) if one[0] != other[0]]
    chosen = sorted({0, 1, len(states) // 2, len(states) - 1, *borders[:3], *borders[-3:]})
    for i in (i for i in chosen if i < len(states)):
        again = make(case, 1, engine)
        goes_on(again, states[i][1], whole)
        assert (again.done, again.parameters) == (whole.done, whole.parameters)


@pytest.mark.parametrize(("case", "engine"), [(case, "auto") for case in (*LEARN, *COUNT)])
def test_a_stopped_job_leaves_the_record_of_one_that_was_not(
    small: Any, make: Any, case: str, engine: str, tmp_path: Path
) -> None:
    make(case)  # shortens the calls
    resolved = small.resolved(case.partition(",")[0], **changes_of(case))
    corpus, seen = resolved.corpus and Path(resolved.corpus), []

    def job(folder: Path) -> Job:
        return Job(resolved, 0, folder / "r.json", corpus, engine, "cpu", root=folder)

    (whole,) = run_jobs([job(tmp_path / "whole")])
    assert (whole["status"], whole["seed"]) == ("finished", 0)
    assert whole["metrics"]

    def watch() -> str:
        seen.append(1)
        return "the test" if len(seen) == 2 else ""

    with suppress(Interrupted):
        run_jobs([replace(job(tmp_path), watch=watch)])
    assert (tmp_path / "r.json").exists() == (case in COUNT[-3:])  # these have no more than two pieces
    (record,) = run_jobs([job(tmp_path)])
    assert record["result_sha256"] == whole["result_sha256"]


@pytest.mark.parametrize("case", [*LEARN, *COUNT])
def test_replicas_repeat_and_differ_where_there_is_chance(make: Any, case: str) -> None:
    one, again, two = (make(case, seed) for seed in (0, 0, 1))
    seen = [one.done]
    while not one.finished:
        assert one.advance()
        seen.append(one.done)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, one.total)
    assert one.outcome() == finish(again)
    alike = not PROTOCOLS[one.protocol].chance or case == "corpus-facts"
    assert (one.outcome() == finish(two)) == alike


@pytest.mark.parametrize("case", [case for case, (_, fast, _) in LEARN.items() if fast != "reference"])
def test_engines_learn_the_same(make: Any, case: str) -> None:
    fast, reference = (finish(make(case, 1, engine)) for engine in ("auto", "reference"))
    for ours, theirs in zip(fast.curves, reference.curves, strict=True):
        if ours["split"] not in ("sample", "argmax"):  # of texts, which a probability in the last digit may change
            assert ours["y"] == pytest.approx(theirs["y"], rel=2e-3)


@pytest.mark.parametrize("case", LEARN)
def test_a_loss_that_is_no_number_ends_training(make: Any, case: str) -> None:
    training = make(case)
    training.advance()
    state = decode(saved(training))["state"]
    state["parameters"] = {name: torch.full_like(p, torch.nan) for name, p in state["parameters"].items()}
    training.restore(state)
    with pytest.raises(Diverged, match=r"(epoch 1|step \d+).* quantity (train|training|valid) loss"):
        finish(training)


@pytest.mark.parametrize("protocol", dict.fromkeys(case.partition(",")[0] for case in LEARN))
def test_an_engine_that_there_is_not_is_refused(make: Any, protocol: str) -> None:
    with pytest.raises(UserError, match="engine: none is none of auto, .*reference.*; name one of these with --engine"):
        make(protocol, engine="none")


@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if p not in ("final-digit", "recall", "random-jacobians")])
def test_a_corpus_that_does_not_fit_is_refused(small: Any, protocol: str) -> None:
    """None at all, running text without sentences, lines, and other splits."""
    if protocol == "error-surface":
        return
    resolved, made = small.resolved(protocol), load(PROTOCOLS[protocol].target, protocol)

    def refused(corpus: Path | None, says: str) -> None:
        with pytest.raises(UserError, match=says):
            made(resolved.config, 0, corpus, "auto", CPU)

    refused(None, "has no corpus; name one that has" if protocol == "corpus-facts" else "needs a prepared corpus")
    if protocol not in ("subsequence-sgd", "batched-sgd", "window-sgd", "word-ngram", "word-order"):
        return
    for other, says in (
        ("line-epochs", f"no train split, which the protocol {protocol} needs"),
        ("windows", f"no test split, which the protocol {protocol} needs"),
        ("character-windows", f"no valid split, which the protocol {protocol} needs"),
    ):
        refused(Path(small.resolved(other).corpus), says)
    words = small.loaded(protocol)
    for boundaries, says in (("line", "lines of symbols, and no words"), ("none", "running text has no sentences")):
        words.facts["boundaries"] = boundaries
        words.save(small.folder / "other.npz")
        if boundaries == "line" or protocol not in ("subsequence-sgd", "batched-sgd"):
            refused(small.folder / "other.npz", says)


def together(stack: Stack, trainings: Sequence[Training], states: list[bytes] | None = None) -> list[Outcome]:
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


def held_to(outcome: Outcome, other: Outcome) -> None:
    """The same metrics, and values that differ in rounding alone."""
    assert outcome.metrics
    for mine, theirs in zip(outcome.metrics, other.metrics, strict=True):
        assert mine | {"value": 0} == theirs | {"value": 0}
        assert mine["value"] == pytest.approx(theirs["value"], rel=1e-8)


@pytest.mark.parametrize("case", LEARN)
def test_replicas_of_a_stack_are_those_that_train_alone(make: Any, case: str) -> None:
    stack = Stack(CPU)
    outcomes = together(stack, [make(case, replica, stack, precision="float64") for replica in range(REPLICAS)])
    for replica, outcome in enumerate(outcomes):
        alone = finish(make(case, replica, "reference", precision="float64"))
        held_to(outcome, alone)
        for mine, other in zip(outcome.curves, alone.curves, strict=True):
            assert mine["x"] == other["x"]
            assert mine["y"] == pytest.approx(other["y"], rel=1e-6)
        assert outcome.samples == alone.samples


@pytest.mark.parametrize("case", LEARN)
def test_a_stack_goes_on_from_its_states_to_the_same_bits(make: Any, case: str) -> None:
    states: list[bytes] = []
    stack = Stack(CPU)
    whole = together(stack, [make(case, replica, stack) for replica in range(REPLICAS)], states)
    for state in {states[0], states[len(states) // 2], states[-1]}:
        stack = Stack(CPU)
        trainings = [make(case, replica, stack) for replica in range(REPLICAS)]
        for training, kept in zip(trainings, decode(state)["state"]["all"], strict=True):
            training.restore(kept)
        live = [training for training in trainings if not training.finished]
        stack.keep(live)
        together(stack, live)
        assert [training.outcome() for training in trainings] == whole


@pytest.mark.parametrize("case", ["subsequence-sgd", "line-epochs", "windows", "translation", "tagging"])
def test_a_member_that_diverges_leaves_the_others_as_they_are(make: Any, case: str) -> None:
    healthy, stack = Stack(CPU), Stack(CPU)
    expected = together(healthy, [make(case, r, healthy, precision="float64") for r in range(REPLICAS)])
    trainings = [make(case, replica, stack, precision="float64") for replica in range(REPLICAS)]
    parameters = trainings[1].kernel.export()
    trainings[1].kernel.load({name: torch.full_like(value, torch.nan) for name, value in parameters.items()})
    found = stack.advance(trainings)
    while isinstance(found[1], str):
        found = stack.advance(trainings)
    assert isinstance(found[1], Diverged)
    stack.keep(trainings[:1])
    held_to(together(stack, trainings[:1])[0], expected[0])
