"""Training on subsequences: it learns, its schedules, and its state is all that decides."""

import copy
import math
from functools import partial

import pytest
from protocol_helpers import finish, same_bits, values

OPTIONS = {"learning_rate": 0.1, "dropout": 0.5, "max_epochs": 3, "patience": 2, "halving_ratio": 1.003}


@pytest.fixture
def made(small):
    return partial(small, "subsequence-sgd", **OPTIONS)


def test_how_the_text_is_handed_over_decides_nothing(made):
    """Only the order in which losses are added up differs."""
    pieces, at_once = made(), made()
    pieces.at_once = 37
    for one, other in zip(finish(at_once).curves, finish(pieces).curves, strict=True):
        tolerance = 1e-12 if one["split"] == "train" else 0
        assert one["y"] == pytest.approx(other["y"], rel=tolerance, abs=0)


def test_schedule_halves_below_the_ratio_and_stops_after_patience(made, monkeypatch):
    perplexities = iter([100, 90, 89.9, 80, 79.9, 79.8, 1])
    training = made(max_epochs=60)

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


def test_rnnlm_schedule_halves_from_the_first_failure_and_undoes_epochs_that_made_it_worse(made, monkeypatch):
    entropies = iter([5.0, 4.5, 4.49, 4.6, 4.3, 4.295, 1.0])
    training = made(max_epochs=60, schedule="rnnlm", patience=3)
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


def test_undone_epoch_goes_back_to_the_parameters_before_it_also_after_a_resume(made, monkeypatch):
    def run(stop):
        training = made(schedule="rnnlm")
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
                training = made(schedule="rnnlm")
                patch(training)
                training.restore(state)
        return after

    whole, resumed = run(None), run(1)
    assert same_bits(whole[0], whole[1])
    for one, other in zip(whole, resumed, strict=True):
        assert same_bits(one, other)
