"""Members of a stack are by themselves: one that diverges, leaves, waits or fails does not touch the others."""

import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import Tensor

from reprise.engines.rntn.subsequences import Subsequences
from reprise.engines.stack import Member, OutOfMemory, Stack, join
from reprise.engines.stack.lockstep import Lockstep
from reprise.models.bidirectional import Tagger
from reprise.models.initialisation import initialise_by_fan_in
from reprise.models.lexicon import Lexicon
from reprise.models.loglinear import LogLinearRNN
from reprise.models.lstm import LSTM
from reprise.models.rntn import RNTN, initialise

CPU = torch.device("cpu")
OPTIONS = {"clip_norm": 1.0}


class Steps:
    """A training of three steps a call."""

    def __init__(self, kernel: Member, seed: int) -> None:
        self.kernel, self.seed, self.step = kernel, seed, 0
        self.losses: list[float] = []

    def batch(self) -> tuple[Tensor, Tensor]:
        draw = torch.Generator().manual_seed(100 * self.seed + self.step)
        x = torch.randint(0, 10, (6, 8), generator=draw)
        return x, x[0]

    def advance(self) -> str:
        for _ in range(3):
            self.losses.append(self.kernel.update(*self.batch(), 0.01)[0])
            self.step += 1
        return f"loss {self.losses[-1]}"


def network(seed: int) -> LSTM:
    model = LSTM(10, 7, 10, weight_law="fan-in-truncated-normal")
    initialise_by_fan_in(model, torch.Generator().manual_seed(seed))
    return model


def trainings(seeds: list[int]) -> tuple[Stack, list[Steps]]:
    stack = Stack(CPU)
    return stack, [Steps(join(stack, "final-digit", network(seed), OPTIONS), seed) for seed in seeds]


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_members_that_stay_go_on_as_they_would_have() -> None:
    stack, left = trainings([0, 1, 2])
    other, all_stay = trainings([0, 1, 2])
    stack.advance(left)
    other.advance(all_stay)
    last = left[1].kernel.export()
    stack.keep([left[0], left[2]])
    stack.advance([left[0], left[2]])
    other.advance(all_stay)
    assert same(left[1].kernel.export(), last)
    for i in (0, 2):
        torch.testing.assert_close(left[i].losses, all_stay[i].losses)
        torch.testing.assert_close(left[i].kernel.export(), all_stay[i].kernel.export())


def test_members_wait_for_what_they_have_in_common() -> None:
    """One trains while the other reads: neither is changed by the other's request."""
    stack = Stack(CPU)
    models = [RNTN(20, 5, 3) for _ in range(2)]
    for seed, model in enumerate(models):
        initialise(model, 0.3, torch.Generator().manual_seed(seed))
    members = [join(stack, "subsequence-sgd", model, {"loss_reduction": "sum"}) for model in models]
    x = np.arange(10, dtype=np.int32)
    data = Subsequences(x, x[::-1].copy(), np.array([0, 4, 10]), np.array([True, False]))
    before = [member.export() for member in members]
    train = partial(members[0].train, data, learning_rate=0.1, reduction="sum", dropout=0.0, key=0)
    stack.advance([SimpleNamespace(advance=train), SimpleNamespace(advance=partial(members[1].evaluate, data))])
    assert [same(member.export(), old) for member, old in zip(members, before, strict=True)] == [False, True]


WORDS = torch.tensor([7, 400, 7, 999])
TAGGER = {"embedding_size": 5, "hidden_size": 4, "layers": 1, "directions": "both", "lower_layer": "both"}


def rntn_step(stack: Stack) -> tuple[Member, Callable[[], Any], list[str]]:
    member = join(stack, "subsequence-sgd", RNTN(1000, 5, 1000), {"loss_reduction": "sum"})
    x = WORDS.int().numpy()
    data = Subsequences(x, x, np.array([0, 4]), np.array([True]))
    train = partial(member.train, data, learning_rate=0.1, reduction="sum", dropout=0.0, key=0)
    return member, train, ["W_h", "U_h", "b_h"]


def loglinear_step(stack: Stack) -> tuple[Member, Callable[[], Any], list[str]]:
    model = LogLinearRNN(Lexicon.bare(1000), "one-hot", "softmax", "none", "corpus", 0, False, 5, 4, 1)
    options = {"optimiser": "rmsprop", "rho": 0.9, "epsilon": 1e-8}
    member = join(stack, "windows", model, options)
    rates = {"learning_rate": 0.1, "rho": 0.9, "epsilon": 1e-8}
    return member, partial(member.train, WORDS.view(2, 2), WORDS[:2], **rates), ["E"]


def tagging_step(stack: Stack) -> tuple[Member, Callable[[], Any], list[str]]:
    member = join(stack, "tagging", Tagger(1000, 3, activation="tanh", **TAGGER), OPTIONS)
    x = WORDS.view(2, 2)
    train = partial(member.update, x, torch.ones_like(x, dtype=torch.bool), torch.tensor([0, 1, 2, 0]), 0.1)
    return member, train, ["network.x"]


@pytest.mark.parametrize("made", [rntn_step, loglinear_step, tagging_step])
def test_a_step_touches_the_rows_that_it_reads_alone(made: Callable[[Stack], Any]) -> None:
    """Of a vocabulary's vectors and matrices no more are differentiated than a step has words."""
    member, train, tables = made(Stack(CPU))
    draw = torch.Generator().manual_seed(0)
    member.load({name: 0.3 * torch.randn(value.shape, generator=draw) for name, value in member.export().items()})
    seen: list[dict[str, int]] = []
    loss = member.loss

    def look(parameters: dict[str, Tensor], batch: dict[str, Tensor]) -> Any:
        seen.append({name: len(value) for name, value in parameters.items()})
        return loss(parameters, batch)

    member.loss = look
    before = member.export()
    train()
    after = member.export()
    for name in tables:
        assert seen[0][name] <= 16
        changed = (before[name] != after[name]).flatten(1).any(1).nonzero().flatten().tolist()
        assert changed == [7, 400, 999]


def test_members_of_one_stack_are_of_one_experiment() -> None:
    stack = Stack(CPU)
    join(stack, "final-digit", network(0), OPTIONS)
    with pytest.raises(ValueError, match="one experiment"):
        join(stack, "final-digit", network(1), {"clip_norm": 2.0})


@pytest.mark.parametrize("said", ["[enforce fail] DefaultCPUAllocator: can't allocate memory: 1 bytes", "sizes differ"])
def test_a_fault_of_a_step_ends_all_members_at_once(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stack, members = trainings([0, 1])
    threads = threading.active_count()
    monkeypatch.setattr(stack.programs, "call", Mock(side_effect=RuntimeError(said)))
    with pytest.raises(OutOfMemory if "memory" in said else RuntimeError, match="allocate|sizes differ"):
        stack.advance(members)
    assert threading.active_count() == threads


@pytest.mark.parametrize("asks", [(0, 3, 1), (2, 2, 2), (1, 0, 0)])
def test_lockstep(asks: tuple[int, ...]) -> None:
    """Requests of a round are answered together, in the order of the members; who has ended is not waited for."""
    rounds: list[list[str]] = []

    def answer(requests: list[str]) -> list[str]:
        rounds.append(list(requests))
        return [request.upper() for request in requests]

    lockstep = Lockstep(answer)

    def work(member: int) -> Callable[[], list[str]]:
        def piece() -> list[str]:
            found = [lockstep.ask(f"m{member} {i}") for i in range(asks[member])]
            if not found:
                raise KeyError(member)
            return found

        return piece

    results = lockstep.run([work(member) for member in range(3)])
    for member, result in enumerate(results):
        if asks[member]:
            assert result == [f"M{member} {i}" for i in range(asks[member])]
        else:
            assert isinstance(result, KeyError)
    assert rounds == [[f"m{m} {i}" for m in range(3) if i < asks[m]] for i in range(max(asks))]
    assert lockstep.ask("alone") == "ALONE"
