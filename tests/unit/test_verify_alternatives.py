"""`reprise verify`: verdicts under other choices of an assumption, and what a sentence says of the tier."""

from __future__ import annotations

from pathlib import Path

import pytest
from verify_helpers import RUN, claims, edit, leave, metric, new_clone, resolved, verify

from reprise.records.record import make_record, write_record
from reprise.report.parts.verdicts import how_many_run, turns
from reprise.training.protocol import Outcome

VARIANTS = """
    source: ours
    alternatives:
      corrected:
        settings: {weight_law: fan-in-truncated-normal-corrected}
        experiments: [rnn-t5, lstm-t5]
        tiers: {quick: {replicas: 2}}
      one-of-two:
        settings: {weight_law: fan-in-truncated-normal-corrected}
        experiments: [rnn-t5]
        tiers: {quick: {replicas: 2}}
"""


@pytest.fixture
def clone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new_clone(tmp_path)
    return tmp_path


def test_alternatives_say_which_verdicts_flip(clone):
    edit("\n    source: ours\n", VARIANTS)
    leave(resolved(), "rnn-t5@weight-law=corrected", 0.90, 0.92)
    leave(resolved(), "lstm-t5@weight-law=corrected", 0.30, 0.32)
    leave(resolved(), "rnn-t5@weight-law=one-of-two", 0.90, 0.92)
    verify()
    found = claims()["D1"]
    # The LSTM rests on the assumption too and was not run under the second alternative: that is said.
    assert found["alternatives"].keys() == {"weight-law=corrected", "weight-law=one-of-two"}
    left = found["alternatives"]["weight-law=one-of-two"]
    assert left["sentence"] == "Not trained under it, so not looked at: LSTM, T = 5."
    assert (left["verdict"], left["flips"], left["parts"], left["experiments"]) == ("not run", False, [0, 1], [])
    assert turns([("D1", left)]) == "D1: not looked at"
    assert how_many_run(found["alternatives"]) == "1 of 1 alternative run, not looked at under 1 more"
    assert found["alternatives"]["weight-law=corrected"]["parts"] == [1, 1]
    under = found["alternatives"]["weight-law=corrected"]
    assert (under["verdict"], under["flips"]) == ("not reproduced", True)
    assert under["experiments"] == ["rnn-t5", "lstm-t5"]
    assert "0.910 (RNN, T = 5 (corrected)) against 0.310 (LSTM, T = 5 (corrected)): 0.600 higher" in under["sentence"]
    assert claims()["D2"]["alternatives"] == {}


def test_an_alternative_is_judged_on_the_comparisons_that_were_run_under_it(clone):
    edit("\n    source: ours\n", VARIANTS)
    edit("kind: superiority", "kind: threshold")
    edit("compare: {lower: rnn-t5, higher: lstm-t5}", "level: {experiments: [rnn-t5, lstm-t5], at_most: 0.5}")
    leave(resolved(), "rnn-t5@weight-law=one-of-two", 0.90, 0.92)
    verify()
    found = claims()["D1"]
    under = found["alternatives"]["weight-law=one-of-two"]
    # The RNN alone keeps the bound as chosen and not under the alternative; the LSTM never did.
    assert (found["verdict"], under["before"], under["verdict"]) == ("inconclusive", "reproduced", "not reproduced")
    assert (under["flips"], under["parts"], under["experiments"]) == (True, [1, 2], ["rnn-t5"])
    assert under["sentence"].endswith(" Not trained under it, so not looked at: LSTM, T = 5.")


def test_numbers_that_an_alternative_cannot_touch_are_said_to_be_the_same(clone):
    edit("\n    source: ours\n", VARIANTS)
    edit("kind: superiority", "kind: threshold")
    edit("compare: {lower: rnn-t5, higher: lstm-t5}", "level: {experiments: [rnn-t5, lstm-t5], at_most: 0.5}")
    said = []
    for accuracies in ((0.30, 0.32), (0.30, 0.33)):
        leave(resolved(), "rnn-t5@weight-law=one-of-two", *accuracies)
        verify()
        said.append(turns([("D1", claims()["D1"]["alternatives"]["weight-law=one-of-two"])]))
    assert said == [
        "D1: still reproduced (1 of 2 comparisons) (the same numbers)",
        "D1: still reproduced (1 of 2 comparisons)",
    ]


def test_fewer_replicas_alone_flip_nothing(clone):
    edit("\n    source: ours\n", VARIANTS)
    edit("tiers: {quick: {replicas: 2}, paper", "tiers: {quick: {replicas: 3}, paper")
    edit("tiers: {quick: {replicas: 1}, paper", "tiers: {quick: {replicas: 3}, paper")
    for suffix, count in (("", 3), ("@weight-law=corrected", 1)):
        leave(resolved(), f"rnn-t5{suffix}", *(0.30, 0.48, 0.12)[:count])
        leave(resolved(), f"lstm-t5{suffix}", *(0.80, 0.98, 0.62)[:count])
    verify()
    found = claims()["D1"]
    under = found["alternatives"]["weight-law=corrected"]
    # The very same numbers, of one replica: what three of them establish one does not.
    assert (found["verdict"], under["before"], under["verdict"]) == ("reproduced", *["direction only"] * 2)
    assert under["flips"] is False
    assert under["sentence"].endswith(" With as few replicas the choice is direction only.")
    # That is another verdict than the claim's, and the table of assumptions says why.
    assert under["fewer"] is True
    assert turns([("D1", under)]) == "D1: still direction only (with as few replicas) (the same numbers)"


def test_an_alternative_that_was_not_trained_flips_nothing(clone):
    edit("\n    source: ours\n", VARIANTS)
    verify()
    under = claims()["D1"]["alternatives"]["weight-law=corrected"]
    assert (under["verdict"], under["flips"]) == ("not run", False)


def test_what_a_tier_reduces_is_said(clone):
    edit("tiers: {quick: {replicas: 2}, paper", "tiers: {quick: {replicas: 2, steps: 10, learning_rate: 0.1}, paper")
    leave(resolved(), "rnn-t5", 0.30, 0.32)
    verify()
    less = " At this tier 10 steps in place of 30 and learning rate 0.1 in place of 0.01."
    assert claims()["D1"]["sentence"].endswith(less)
    assert "At this tier" not in claims()["D2"]["sentence"]
    # Two experiments that it changes in two ways, and one that it sets to what it is.
    edit("tiers: {quick: {replicas: 1}, paper", "tiers: {quick: {replicas: 1, steps: 20, clip_norm: 10.0}, paper")
    leave(resolved(), "lstm-t5", 0.9)
    verify()
    less = " At this tier other values of steps and learning rate 0.1 in place of 0.01."
    assert claims()["D1"]["sentence"].endswith(less)


def test_another_metric_of_the_same_records_is_an_alternative(clone):
    other = "\n    source: ours\n    alternatives:\n      best: {metrics: {last_ten_accuracy: best_accuracy}}\n"
    edit("\n    source: ours\n", other)
    there = resolved()
    assert not [name for name in there if "@" in name]
    for name, pairs in (("rnn-t5", [(0.30, 0.9), (0.32, 0.92)]), ("lstm-t5", [(0.9, 0.1)])):
        for replica, (last, best) in enumerate(pairs):
            one = there[f"digits/{name}"]
            metrics = [metric("last_ten_accuracy", last), metric("best_accuracy", best)]
            write_record(Path(one.record_path(replica)), make_record(one, replica, Outcome(metrics), 7, None, RUN))
    verify()
    found = claims()
    under = found["D1"]["alternatives"]["weight-law=best"]
    assert (found["D1"]["verdict"], under["before"], under["verdict"]) == (*["direction only"] * 2, "inconclusive")
    assert (under["flips"], under["parts"], under["experiments"]) == (True, [1, 1], ["rnn-t5", "lstm-t5"])
    assert under["sentence"].startswith(
        "Training best accuracy 0.91 (RNN, T = 5) against 0.10 (LSTM, T = 5): 0.81 higher"
    )
    assert found["D2"]["alternatives"] == {}


BEST = "\n    source: ours\n    alternatives:\n      best: {metrics: {last_ten_accuracy: best_accuracy}}\n"


def test_a_metric_that_some_records_lack_flips_nothing(clone):
    edit("\n    source: ours\n", BEST)
    rnn = resolved()["digits/rnn-t5"]
    metrics = [metric("last_ten_accuracy", 0.3), metric("best_accuracy", 0.95)]
    write_record(Path(rnn.record_path(0)), make_record(rnn, 0, Outcome(metrics), 7, None, RUN))
    verify()
    under = claims()["D1"]["alternatives"]["weight-law=best"]
    assert (under["before"], under["verdict"], under["flips"]) == ("direction only", "not run", False)
    lacking = "Not in every record: training best accuracy of RNN, T = 5; training best accuracy of LSTM, T = 5."
    assert under["sentence"] == lacking


def test_a_metric_that_no_record_has_is_a_mistake(clone, capsys):
    edit("\n    source: ours\n", BEST.replace("best_accuracy", "last_ten_acuracy"))
    assert verify() == 2
    said = capsys.readouterr().err
    assert "digits.yaml: key assumptions.weight-law.alternatives.best.metrics: no record has the metric " in said
    assert "last_ten_acuracy (train); " in said


def test_a_metric_that_no_claim_is_about_is_a_mistake(clone, capsys):
    edit("\n    source: ours\n", BEST.replace("last_ten_accuracy", "last_ten_acuracy"))
    assert verify() == 2
    said = capsys.readouterr().err
    assert "best.metrics: no claim about a metric 'last_ten_acuracy'; did you mean 'last_ten_accuracy'?" in said
