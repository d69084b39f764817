"""Any torch module as a language model: held to a plain loop, to its own bits after a stop, and to its contract."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from protocol_helpers import assert_resumes, finish, saved, states_of
from torch import nn
from torch.nn import functional

from reprise.catalogue.models import ModelRefused
from reprise.catalogue.options.language_model import LanguageModel
from reprise.config.mistakes import complete_options
from reprise.data.corpus import Corpus
from reprise.engines.stack import Stack
from reprise.errors import UserError
from reprise.records.record import read_record
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import decode
from reprise.training.jobs import run_jobs
from reprise.training.protocol import build_training
from reprise.training.protocols.language_model import check_contract, compute_unigram_loss, initialise
from reprise.training.trainer import Job

MODULE = """
from torch import nn

class Net(nn.Module):
    def __init__(self, vocabulary: int, size: int, dropout: float = 0.0, cells: bool = True):
        super().__init__()
        self.encoder, self.drop = nn.Embedding(vocabulary, size), nn.Dropout(dropout)
        self.cells, self.size = cells, size
        self.rnn = nn.LSTM(size, size, 2, dropout=dropout) if cells else nn.RNN(size, size)
        self.decoder = nn.Linear(size, vocabulary)

    def initial_state(self, batch):
        zeros = self.decoder.weight.new_zeros(2 if self.cells else 1, batch, self.size)
        return (zeros, zeros) if self.cells else zeros

    def forward(self, x, state):
        h, state = self.rnn(self.drop(self.encoder(x)), state)
        return self.decoder(self.drop(h)), state
"""
OPTIONS = {"batch_size": 4, "bptt": 7, "optimiser": "sgd", "learning_rate": 2.0, "max_epochs": 3}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project folder with a module of one's own, whose name no other test has imported."""
    name = f"own_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


@pytest.fixture
def make(small, folder):
    """Makes a training of the module by these options."""

    def resolved(size=6, dropout=0.0, cells=True, precision="float64", **options):
        corpus = small.resolved("batched-sgd").corpus
        training = complete_options(LanguageModel, "language-model", OPTIONS | options, str)[0]
        config = {
            "model": {"name": f"{folder}:Net", "options": {"size": size, "dropout": dropout, "cells": cells}},
            "data": {"dataset": "synthetic", "options": {}, "raw": {}},
            "training": {"protocol": "language-model", "options": training},
            "precision": precision,
        }
        return Resolved("p", "e", "quick", "t", 1, config, {}, corpus)

    def made(seed=0, engine="auto", **changes):
        one = resolved(**changes)
        return build_training(one, seed, Path(one.corpus), engine)

    def job(replica, place, engine="auto"):
        one = resolved(max_epochs=1)
        output = place / f"{replica}.json"
        return Job(one, replica, output, Path(one.corpus), engine, device="cpu", root=place)

    made.job = job
    return made


def plain_loop(model, path, rate, batch, bptt, epochs, clip=None, anneal=None):
    """Train by SGD on streams; the validation loss of every epoch, after which the rate falls where it stalls."""
    corpus = Corpus.load(path)
    end = corpus.vocabulary.index("</s>")
    texts = {s: torch.tensor(np.append([end], corpus.splits[s].tokens), dtype=torch.int64) for s in ("train", "valid")}
    steps = (len(texts["train"]) - 1) // batch
    x, y = (part[: steps * batch].view(batch, steps).t() for part in (texts["train"][:-1], texts["train"][1:]))
    best, losses = None, []
    for _ in range(epochs):
        model.train()
        state = model.initial_state(batch)
        for i in range(0, steps, bptt):
            state = tuple(s.detach() for s in state)
            logits, state = model(x[i : i + bptt], state)
            loss = functional.cross_entropy(logits.flatten(0, 1), y[i : i + bptt].flatten())
            model.zero_grad()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(rate * parameter.grad)
        model.eval()
        with torch.no_grad():
            logits, _ = model(texts["valid"][:-1, None], model.initial_state(1))
            losses.append(functional.cross_entropy(logits[:, 0], texts["valid"][1:]).item())
        if best is None or losses[-1] < best:
            best = losses[-1]
        elif anneal:
            rate /= anneal
    return losses


@pytest.mark.parametrize("more", [{}, {"clipping": "norm", "clip": 0.25, "learning_rate": 20.0}])
def test_it_is_a_plain_training_loop(make, more):
    training = make(schedule="on-stall", decay_factor=4.0, max_epochs=5, **more)
    model = copy.deepcopy(training.model)
    finish(training)
    expected = plain_loop(
        model,
        training.path,
        training.options["learning_rate"],
        4,
        7,
        5,
        more.get("clip"),
        training.options["decay_factor"],
    )
    assert [epoch["valid"] for epoch in training.history] == pytest.approx(expected, rel=1e-9)
    assert expected[-1] < expected[0]


@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 0.5},
        {"optimiser": "adam", "learning_rate": 0.01, "cells": False},
        {"optimiser": "rmsprop", "learning_rate": 0.001, "momentum": 0.9, "update_interval": 3, "clipping": "value"},
        {"undo_worse": True, "schedule": "on-stall", "learning_rate": 40.0, "states": "reset"},
    ],
    ids=["dropout", "adam", "depth and interval apart", "undone"],
)
def test_it_goes_on_from_its_state_to_the_same_bits(make, options):
    original = make(1, **options)
    states = states_of(original, "part")
    for i in (0, 1, len(states) // 2, len(states) - 1):
        assert_resumes(make(1, **options), states[i][1], original)


def together(stack, trainings):
    """Train the members of a stack to the end, one piece of work of each after the other."""
    while live := [training for training in trainings if not training.finished]:
        stack.remove_all_but(live)
        for note in stack.advance(live):
            assert isinstance(note, str), note
    return [training.make_outcome() for training in trainings]


@pytest.mark.parametrize(
    "device",
    ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is visible"))],
)
def test_replicas_of_a_stack_come_to_the_bits_of_one_alone(make, device):
    """Also where one of them ends earlier; on a GPU they compute there, and agree with the CPU up to rounding."""
    options = {"dropout": 0.5 if device == "cpu" else 0.0, "learning_rate": 20.0, "patience": 1, "max_epochs": 4}
    stack = Stack(torch.device(device))
    members = [make(seed, engine=stack, **options) for seed in range(3)]
    assert {parameter.device.type for member in members for parameter in member.model.parameters()} == {device}
    outcomes = together(stack, members)
    for seed, outcome in enumerate(outcomes):
        alone = finish(make(seed, **options))
        if device == "cpu":
            assert outcome == alone
        else:
            rounded = [pytest.approx(metric["value"], rel=1e-8) for metric in alone.metrics]
            assert [metric["value"] for metric in outcome.metrics] == rounded
            one = Stack(torch.device(device))
            assert together(one, [make(seed, engine=one, **options)]) == [outcome]


def test_a_stack_goes_on_from_its_states_to_the_same_bits(make):
    options = {"dropout": 0.5, "update_interval": 3, "max_epochs": 2}
    stack = Stack(torch.device("cpu"))
    originals = [make(seed, engine=stack, **options) for seed in range(2)]
    for _ in range(3):
        stack.advance(originals)
    states = [saved(training) for training in originals]
    outcomes = together(stack, originals)
    stack = Stack(torch.device("cpu"))
    resumed = [make(seed, engine=stack, **options) for seed in range(2)]
    for training, state in zip(resumed, states, strict=True):
        training.restore(decode(state)["state"])
    assert together(stack, resumed) == outcomes


def test_a_step_keeps_to_the_device_of_its_stack(make):
    """On torch's device without values, which refuses tensors of another as a GPU does: all but the loss's number."""
    training = make(engine=Stack(torch.device("meta")), clipping="norm", update_interval=2)
    with pytest.raises(RuntimeError, match=r"item\(\) cannot be called on meta tensors"):
        training.advance()
    state = training.optimiser.state_dict()
    assert {p.device.type for p in training.model.parameters()} == {part.device.type for part in training.carried}
    assert state["param_groups"]


def test_replicas_train_together_by_the_engine_stacked(make, tmp_path):
    jobs = [make.job(replica, tmp_path, engine="stacked") for replica in range(2)]
    records = run_jobs(jobs)
    alone = [run_jobs([make.job(replica, tmp_path / "alone")])[0] for replica in range(2)]
    assert [record["result_sha256"] for record in records] == [record["result_sha256"] for record in alone]
    assert {record["run"]["engine"] for record in records} == {"stacked"}
    read = [read_record(job.output, job.resolved, job.replica) for job in jobs]  # checks every key
    assert all(len(record["run"]["sources"]) == 1 for record in read)


def test_a_gradient_goes_as_far_back_as_it_is_told(make):
    """With one token an update, the first update is that of any depth; the later ones are not."""
    deep, flat = (make(bptt=depth, update_interval=1, max_epochs=1) for depth in (12, 1))
    for training in (deep, flat):
        training.advance()
    one, other = (training.model.state_dict()["rnn.weight_hh_l0"].clone() for training in (deep, flat))
    assert torch.equal(one, other)
    finish(deep)
    finish(flat)
    assert deep.history[0]["train"] != flat.history[0]["train"]


def test_the_rate_falls_after_an_epoch_and_training_stops_early(make):
    training = make(schedule="after-epoch", decay_after=2, decay_factor=2.0, max_epochs=4)
    finish(training)
    assert [epoch["learning_rate"] for epoch in training.history] == [2.0, 2.0, 1.0, 0.5]
    stalled = make(learning_rate=1e-30, initialisation="*: zero", patience=2, max_epochs=9)
    finish(stalled)
    assert stalled.epoch == 3


def test_a_model_that_has_not_beaten_the_unigram_is_named(make, caplog):
    tokens = np.array([0, 0, 1]), np.array([0, 1])
    assert compute_unigram_loss(*tokens, 2) == pytest.approx(-(np.log(3 / 5) + np.log(2 / 5)) / 2)
    for rate, named in ((1e-30, True), (4.0, False)):
        caplog.clear()
        finish(make(learning_rate=rate, max_epochs=5))
        assert ("unigram" in caplog.text) == named


def test_the_next_token_has_the_models_log_probabilities_without_dropout(make):
    training, symbols = make(dropout=0.5), torch.tensor([3, 1, 4])
    logits, _ = training.model.eval()(symbols[:, None], training.model.initial_state(1))
    expected = torch.log_softmax(logits[2, 0], -1)
    training.model.train()
    assert torch.equal(training.compute_next_log_p(symbols), expected)
    assert expected.exp().sum().item() == pytest.approx(1.0)


def test_first_weights_follow_the_table_and_the_seed(make):
    table = "decoder.bias: zero, encoder.*: uniform 0.1, rnn.weight_hh*: orthogonal"
    one, repeated, other = (make(seed, initialisation=table).model.state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], repeated[name]) for name in one)
    assert {name for name in one if torch.equal(one[name], other[name])} == {"decoder.bias"}
    assert one["encoder.weight"].abs().max() <= 0.1
    for wrong in ("decoder: zero", "*: orthogonal", "*: xavier"):
        with pytest.raises(ModelRefused):
            initialise(nn.Linear(2, 2), wrong)


@pytest.mark.parametrize(
    ("option", "options"),
    [
        ("clip", {"clip": 5.0}),
        ("clip", {"clip": 5.0, "clipping": "none"}),
        ("decay_factor", {"decay_factor": 4.0}),
        ("decay_after", {"decay_after": 3, "schedule": "on-stall"}),
        ("momentum", {"momentum": 0.9, "optimiser": "adam"}),
        ("update_interval", {"update_interval": 8}),
        ("initialisation", {"initialisation": "decoder.bias: normal"}),
        ("initialisation", {"initialisation": "decoder.bias: normal inf"}),
        ("initialisation", {"initialisation": "decoder.bias: normal one"}),
        ("initialisation", {"initialisation": "decoder.bias zero"}),
        ("initialisation", {"initialisation": "*: sparse"}),
    ],
)
def test_an_option_that_nothing_reads_is_refused_where_it_is_written(option, options):
    with pytest.raises(UserError, match=f"^here {option}: "):
        complete_options(LanguageModel, "language-model", OPTIONS | options, lambda key: f"here {key}")


@pytest.mark.parametrize("options", [{"clip": 1.0}, {"clip": 5.0, "clipping": "norm"}, {"update_interval": 7}])
def test_an_option_that_is_read_or_keeps_its_default_passes(options):
    completed, _ = complete_options(LanguageModel, "language-model", OPTIONS | options, str)
    assert completed.items() >= options.items()


class Stateless(nn.Linear):
    def initial_state(self, batch):
        return torch.zeros(batch)


def test_a_module_that_is_no_language_model_is_refused():
    with pytest.raises(UserError, match="initial_state"):
        check_contract(nn.Linear(2, 2), 5)

    class Short(Stateless):
        def forward(self, x, state):
            return x.double(), state

    for module in (Short(2, 2), type("One", (Stateless,), {"forward": lambda self, x, state: x})(2, 2)):
        with pytest.raises(UserError, match="forward gives"):
            check_contract(module, 5)


def give_logits(swap=False, state=True):
    """A forward whose logits and state have the right shapes, unless told otherwise."""

    def forward(self, x, before):
        logits = torch.zeros(*(reversed(x.shape) if swap else x.shape), 5)
        return logits, before if state else None

    return type("Network", (Stateless,), {"forward": forward})(2, 2)


def test_logits_with_swapped_axes_and_a_state_that_is_lost_are_refused():
    """Both would train, to numbers that mean nothing."""
    check_contract(give_logits(), 5)
    for wrong in ({"swap": True}, {"state": False}):
        with pytest.raises(UserError, match="forward gives"):
            check_contract(give_logits(**wrong), 5)
