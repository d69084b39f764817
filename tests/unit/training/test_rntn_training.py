"""Training on subsequences: it learns, its schedules, and its state is all that decides."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from engine_helpers import same_bits
from experiment_helpers import SENTENCES
from protocol_helpers import finish, goes_on, states_of, values

from reprise.catalogue.spec import DatasetSpec
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.rntn import SubsequenceSGD

CPU = torch.device("cpu")


def config(**training):
    changed = SENTENCES["training"]["options"] | {"max_epochs": 3} | training
    return SENTENCES | {"training": SENTENCES["training"] | {"options": changed}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    spec = DatasetSpec("synthetic", "generated", "none", "", "synthetic")
    options = {"vocabulary_size": 40, "training_sentences": 200, "seed": 1}
    prepare_corpus(spec, options, folder / "raw", folder / "c.npz")
    return folder / "c.npz"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_sentence_training_beats_the_unigram(corpus, engine):
    training = SubsequenceSGD(config(max_epochs=6), 0, corpus, engine, CPU)
    outcome = finish(training)
    found = values(outcome)
    facts = Corpus.load(corpus).facts
    assert found["test", "source_entropy"] == facts["source_nats"]["test"]
    assert facts["source_nats"]["test"] < found["test", "cross_entropy"] < facts["unigram_entropy_nats"]


def test_sentence_training_goes_on_from_its_state(corpus):
    SubsequenceSGD.chunk, old = 37, SubsequenceSGD.chunk
    try:
        whole, again = (SubsequenceSGD(config(), 2, corpus, "auto", CPU) for _ in range(2))
        goes_on(again, states_of(whole)[9][1], whole)
    finally:
        SubsequenceSGD.chunk = old
    # How the text is handed over in pieces decides nothing; only the order in which losses are added up differs.
    at_once = finish(SubsequenceSGD(config(), 2, corpus, "auto", CPU))
    for one, other in zip(at_once.curves, whole.outcome().curves, strict=True):
        tolerance = 1e-12 if one["split"] == "train" else 0
        assert one["y"] == pytest.approx(other["y"], rel=tolerance, abs=0)


def test_schedule_halves_below_the_ratio_and_stops_after_patience(corpus, monkeypatch):
    perplexities = iter([100, 90, 89.9, 80, 79.9, 79.8, 1])
    training = SubsequenceSGD(config(max_epochs=60), 0, corpus, "auto", CPU)

    def evaluate(data):
        if data is training.data["valid"]:
            evaluate.now = math.log(next(perplexities))
        return evaluate.now * len(data.targets)

    monkeypatch.setattr(training.kernel, "evaluate", evaluate)
    outcome = finish(training)
    rates = [h["learning_rate"] for h in training.history]
    # 90/89.9 < 1.003 halves; 89.9/80 does not; two in a row below the ratio halve twice and stop.
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.025, 0.0125]
    assert values(outcome)["valid", "best_epoch"] == 6


def test_rnnlm_schedule_halves_from_the_first_failure_and_undoes_epochs_that_made_it_worse(corpus, monkeypatch):
    entropies = iter([5.0, 4.5, 4.49, 4.6, 4.3, 4.295, 1.0])
    training = SubsequenceSGD(config(max_epochs=60, schedule="rnnlm", patience=3), 0, corpus, "auto", CPU)
    ends = []

    def evaluate(data):
        if data is training.data["valid"]:
            evaluate.now = next(entropies)
            ends.append(training.kernel.export())
        return evaluate.now * len(data.targets)

    monkeypatch.setattr(training.kernel, "evaluate", evaluate)
    undone = []
    while not training.finished:
        training.advance()
        if training.next == 0 and len(undone) < training.epoch:
            undone.append(not same_bits(training.kernel.export(), ends[-1]))
    # 4.5/4.49 < 1.003 begins the halving, 4.6 is worse than 4.49 and fails again, 4.6/4.3 does not fail but halves.
    rates = [h["learning_rate"] for h in training.history]
    assert rates == [0.1, 0.1, 0.05, 0.025, 0.0125, 0.00625]
    assert undone == [False, False, False, True, False, False]
    assert same_bits(training.kernel.export(), ends[5])


def test_undone_epoch_goes_back_to_the_parameters_before_it_also_after_a_resume(corpus, monkeypatch):
    def run(stop):
        training = SubsequenceSGD(config(max_epochs=3, schedule="rnnlm"), 0, corpus, "auto", CPU)
        entropies = iter([5.0, 5.5, 5.4])

        def patch(training):
            monkeypatch.setattr(training.kernel, "evaluate", lambda data: evaluate(training, data))

        def evaluate(training, data):
            if data is training.data["valid"]:
                evaluate.now = next(entropies)
            return evaluate.now * len(data.targets)

        patch(training)
        after = []
        while not training.finished:
            training.advance()
            after.append(training.kernel.export())
            if training.epoch == stop:
                state, stop = copy.deepcopy(training.state()), None
                training = SubsequenceSGD(config(max_epochs=3, schedule="rnnlm"), 0, corpus, "auto", CPU)
                patch(training)
                training.restore(state)
        return after

    whole, resumed = run(None), run(1)
    assert same_bits(whole[0], whole[1])
    for one, other in zip(whole, resumed, strict=True):
        assert same_bits(one, other)


def test_divergence_is_told_and_leaves_a_record_without_numbers(corpus, tmp_path):
    made = config(learning_rate=1e30)
    with pytest.raises(Diverged, match="training loss"):
        finish(SubsequenceSGD(made, 0, corpus, "auto", CPU))
    resolved = Resolved("p", "e", "quick", "t", 1, made, {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path))
    assert record["status"] == "diverged"
    assert record["metrics"] == []
    assert record["diverged"]["quantity"] == "training loss"
