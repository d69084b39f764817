"""Training on subsequences: its schedules, and how the text is handed over."""

import copy
import math
from functools import partial

import pytest
from protocol_helpers import finish, same_bits, values

OPTIONS = {"learning_rate": 0.1, "dropout": 0.5, "max_epochs": 3, "patience": 2, "halving_ratio": 1.003}


@pytest.fixture
def made(small):
    return partial(small, "subsequence-sgd", **OPTIONS)


@pytest.mark.parametrize(
    ("engine", "model"),
    [("auto", {"matrices": 5}), ("reference", {"matrices": 5}), ("auto", {"model": "m-rnn", "factors": 4})],
)
def test_how_the_text_is_handed_over_decides_nothing(made, engine, model):
    """Only the order in which losses are added up differs."""
    pieces, original = made(0, engine, **model), made(0, engine, **model)
    pieces.piece_size = 37
    for one, other in zip(finish(original).curves, finish(pieces).curves, strict=True):
        tolerance = 1e-12 if one["split"] == "train" else 0
        assert one["y"] == pytest.approx(other["y"], rel=tolerance, abs=0)
    assert same_bits(pieces.engine.export(), original.engine.export())


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_bound_on_errors_reaches_the_engine(made, engine):
    """Under a bound next to 0 the output alone learns."""
    training = made(0, engine, matrices=5, error_bound=1e-30)
    before = training.engine.export()
    finish(training)
    changed = {name for name, value in training.engine.export().items() if not value.equal(before[name])}
    assert changed == {"W_o", "b_o"}


@pytest.fixture
def replay_entropies(monkeypatch):
    """A training that is told these cross-entropies of its validations; `validated` are the parameters that it had."""

    def tell(training, entropies):
        training.validated = []

        def evaluate(data):
            if training.part == "valid":
                evaluate.now = next(entropies)
                training.validated.append(training.engine.export())
            return evaluate.now * len(data.targets)

        monkeypatch.setattr(training.engine, "evaluate", evaluate)
        return training

    return tell


def test_schedule_halves_below_the_ratio_and_stops_after_patience(made, replay_entropies):
    training = replay_entropies(made(max_epochs=60), map(math.log, [100, 90, 89.9, 80, 79.9, 79.8, 1]))
    assert values(finish(training))["valid", "best_epoch"] == 6
    # 90/89.9 < 1.003 halves; 89.9/80 does not; two in a row below the ratio halve twice and stop.
    assert [h["learning_rate"] for h in training.history] == [0.1, 0.1, 0.05, 0.05, 0.025, 0.0125]


def test_rnnlm_schedule_halves_from_the_first_failure_and_undoes_epochs_that_made_it_worse(made, replay_entropies):
    entropies, undone = iter([5.0, 4.5, 4.49, 4.6, 4.3, 4.295, 1.0]), []
    training = replay_entropies(made(max_epochs=60, schedule="rnnlm", patience=3), entropies)
    while not training.finished:
        training.advance()
        if training.next == 0 and len(undone) < training.epoch:
            undone.append(not same_bits(training.engine.export(), training.validated[-1]))
    # 4.5/4.49 < 1.003 begins the halving, 4.6 is worse than 4.49 and fails again, 4.6/4.3 does not fail but halves.
    assert [h["learning_rate"] for h in training.history] == [0.1, 0.1, 0.05, 0.025, 0.0125, 0.00625]
    assert undone == [False, False, False, True, False, False]
    assert same_bits(training.engine.export(), training.validated[5])


def test_undone_epoch_goes_back_to_the_parameters_before_it_also_after_a_resume(made, replay_entropies):
    def run(stop):
        entropies, after = iter([5.0, 5.5, 5.4]), []
        training = replay_entropies(made(schedule="rnnlm"), entropies)
        while not training.finished:
            training.advance()
            after.append(training.engine.export())
            if training.epoch == stop:
                stop, state = None, copy.deepcopy(training.get_state())
                training = replay_entropies(made(schedule="rnnlm"), entropies)
                training.restore(state)
        return after

    original = run(None)
    assert same_bits(original[0], original[1])
    assert same_bits(original, run(1))
