"""Protocols in small: they learn, their state is all that decides, and their outcomes say what they mean."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from reprise.config.resolved import Resolved
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus
from reprise.data.spec import DatasetSpec
from reprise.errors import UserError
from reprise.training.final_digit import FinalDigit
from reprise.training.loop import Job, choose_device, run_job
from reprise.training.protocol import Diverged, generator_for
from reprise.training.subsequence_sgd import SubsequenceSGD

CPU = torch.device("cpu")


def palindrome_config(steps=41, length=3, rate=0.02, model="elman"):
    return {
        "model": {"name": model, "options": {"hidden_size": 16, "weight_law": "fan-in-truncated-normal"}},
        "data": {"dataset": "palindromes", "options": {"length": length}, "raw": {}},
        "training": {
            "protocol": "final-digit",
            "options": {
                "steps": steps,
                "batch_size": 32,
                "optimiser": "adam",
                "learning_rate": rate,
                "clip_norm": 10.0,
                "log_every": 5,
            },
        },
        "precision": "float32",
    }


def sentence_config(**training):
    options = {
        "subsequence_length": 20,
        "loss_reduction": "sum",
        "learning_rate": 0.1,
        "dropout": 0.5,
        "schedule": "halve-below-ratio",
        "halving_ratio": 1.003,
        "patience": 2,
        "max_epochs": 3,
    }
    model = {"hidden_size": 8, "matrices": 3, "mapping": "f", "bias": "matrix", "h_0": 0.0}
    return {
        "model": {"name": "r-rntn", "options": model | {"weight_std": 0.03, "bias_law": "normal"}},
        "data": {"dataset": "synthetic", "options": {}, "raw": {}},
        "training": {"protocol": "subsequence-sgd", "options": options | training},
        "precision": "float32",
    }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    spec = DatasetSpec("synthetic", "generated", "none", "", "synthetic")
    options = {"vocabulary_size": 40, "training_sentences": 200, "seed": 1}
    prepare_corpus(spec, options, folder / "raw", folder / "c.npz")
    return folder / "c.npz"


def finish(training):
    while not training.finished:
        training.advance()
    return training.outcome()


@pytest.mark.parametrize("model", ["elman", "lstm"])
def test_palindromes_of_three_digits_are_learned(model):
    outcome = finish(FinalDigit(palindrome_config(steps=301, model=model), 0, None, "auto", CPU))
    values = {m["metric"]: m["value"] for m in outcome.metrics}
    assert values["reached_full_accuracy"] == 1
    assert values["last_ten_accuracy"] > 0.95
    accuracy = next(c for c in outcome.curves if c["metric"] == "accuracy")
    assert accuracy["x"] == list(range(0, 301, 5))
    first = accuracy["x"][accuracy["y"].index(1.0)]
    assert values["first_full_accuracy_step"] == first
    assert values["last_ten_accuracy"] == pytest.approx(sum(accuracy["y"][-10:]) / 10)


def test_longer_training_has_the_shorter_one_as_its_beginning():
    short = finish(FinalDigit(palindrome_config(steps=21), 1, None, "auto", CPU))
    long = finish(FinalDigit(palindrome_config(steps=41), 1, None, "auto", CPU))
    assert long.curves[0]["y"][:5] == short.curves[0]["y"]


@pytest.mark.parametrize("stop", [1, 7, 20])
def test_palindrome_training_goes_on_from_its_state(stop):
    whole = finish(FinalDigit(palindrome_config(), 2, None, "auto", CPU))
    first = FinalDigit(palindrome_config(), 2, None, "auto", CPU)
    for _ in range(stop):
        first.advance()
    second = FinalDigit(palindrome_config(), 2, None, "auto", CPU)
    second.restore(copy.deepcopy(first.state()))
    assert finish(second) == whole


def test_replicas_differ_and_repeat():
    one, two, again = (finish(FinalDigit(palindrome_config(), s, None, "auto", CPU)) for s in (1, 2, 1))
    assert one == again
    assert one != two


@pytest.mark.parametrize("engine", ["reference", "hand", "auto"])
def test_sentence_training_beats_the_unigram(corpus, engine):
    training = SubsequenceSGD(sentence_config(max_epochs=6), 0, corpus, engine, CPU)
    outcome = finish(training)
    values = {(m["split"], m["metric"]): m["value"] for m in outcome.metrics}
    facts = Corpus.load(corpus).facts
    assert values["test", "source_entropy"] == facts["source_nats"]["test"]
    assert facts["source_nats"]["test"] < values["test", "cross_entropy"] < facts["unigram_entropy_nats"]


def test_sentence_training_goes_on_from_its_state(corpus):
    SubsequenceSGD.chunk, old = 37, SubsequenceSGD.chunk
    try:
        whole = finish(SubsequenceSGD(sentence_config(), 2, corpus, "auto", CPU))
        first = SubsequenceSGD(sentence_config(), 2, corpus, "auto", CPU)
        for _ in range(9):
            first.advance()
        second = SubsequenceSGD(sentence_config(), 2, corpus, "auto", CPU)
        second.restore(copy.deepcopy(first.state()))
        assert finish(second) == whole
    finally:
        SubsequenceSGD.chunk = old
    # How the text is handed over in pieces decides nothing; only the order in which losses are added up differs.
    at_once = finish(SubsequenceSGD(sentence_config(), 2, corpus, "auto", CPU))
    for one, other in zip(at_once.curves, whole.curves, strict=True):
        tolerance = 1e-12 if one["split"] == "train" else 0
        assert one["y"] == pytest.approx(other["y"], rel=tolerance, abs=0)


def test_schedule_halves_below_the_ratio_and_stops_after_patience(corpus, monkeypatch):
    perplexities = iter([100, 90, 89.9, 80, 79.9, 79.8, 1])
    training = SubsequenceSGD(sentence_config(max_epochs=60), 0, corpus, "auto", CPU)

    def evaluate(data):
        if data is training.data["valid"]:
            evaluate.now = math.log(next(perplexities))
        return evaluate.now * len(data.targets)

    monkeypatch.setattr(training.kernel, "evaluate", evaluate)
    outcome = finish(training)
    rates = [h["learning_rate"] for h in training.history]
    # 90/89.9 < 1.003 halves; 89.9/80 does not; two in a row below the ratio halve twice and stop.
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.025, 0.0125]
    assert {m["metric"]: m["value"] for m in outcome.metrics}["best_epoch"] == 6


def test_rnnlm_schedule_halves_from_the_first_failure_and_undoes_epochs_that_made_it_worse(corpus, monkeypatch):
    entropies = iter([5.0, 4.5, 4.49, 4.6, 4.3, 4.295, 1.0])
    training = SubsequenceSGD(sentence_config(max_epochs=60, schedule="rnnlm", patience=3), 0, corpus, "hand", CPU)
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
            undone.append(any(not torch.equal(v, ends[-1][n]) for n, v in training.kernel.export().items()))
    # 4.5/4.49 < 1.003 begins the halving, 4.6 is worse than 4.49 and fails again, 4.6/4.3 does not fail but halves.
    rates = [h["learning_rate"] for h in training.history]
    assert rates == [0.1, 0.1, 0.05, 0.025, 0.0125, 0.00625]
    assert undone == [False, False, False, True, False, False]
    assert all(torch.equal(v, ends[5][n]) for n, v in training.kernel.export().items())


def test_undone_epoch_goes_back_to_the_parameters_before_it_also_after_a_resume(corpus, monkeypatch):
    def run(stop):
        training = SubsequenceSGD(sentence_config(max_epochs=3, schedule="rnnlm"), 0, corpus, "hand", CPU)
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
                training = SubsequenceSGD(sentence_config(max_epochs=3, schedule="rnnlm"), 0, corpus, "hand", CPU)
                patch(training)
                training.restore(state)
        return after

    whole, resumed = run(None), run(1)
    assert all(torch.equal(whole[0][n], whole[1][n]) for n in whole[0])
    for one, other in zip(whole, resumed, strict=True):
        assert all(torch.equal(one[n], other[n]) for n in one)


def test_divergence_is_told_and_leaves_a_record_without_numbers(corpus, tmp_path):
    config = sentence_config(learning_rate=1e30)
    with pytest.raises(Diverged, match="training loss"):
        finish(SubsequenceSGD(config, 0, corpus, "auto", CPU))
    resolved = Resolved("p", "e", "quick", "t", 1, config, {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, root=tmp_path))
    assert record["status"] == "diverged"
    assert record["metrics"] == []
    assert record["diverged"]["quantity"] == "training loss"


def test_an_existing_record_is_not_trained_again(tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, palindrome_config(steps=6), {}, None)
    job = Job(resolved, 0, tmp_path / "r.json", root=tmp_path)
    first = run_job(job)
    stamp = job.output.stat().st_mtime_ns
    assert run_job(job) == first
    assert job.output.stat().st_mtime_ns == stamp


def test_random_streams_are_apart():
    numbers = {tuple(torch.rand(3, generator=generator_for(s, n)).tolist()) for s in (0, 1) for n in ("a", "b")}
    assert len(numbers) == 4


def test_cuda_without_a_gpu_is_one_line():
    if torch.cuda.is_available():
        pytest.skip("a GPU is visible here")
    with pytest.raises(UserError, match="no GPU"):
        choose_device("cuda", "final-digit")


def test_a_protocol_of_the_cpu_takes_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto", "final-digit").type == "cuda"
    assert choose_device("auto", "subsequence-sgd").type == "cpu"
    with pytest.raises(UserError, match="runs on the CPU"):
        choose_device("cuda", "subsequence-sgd")
