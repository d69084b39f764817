"""How long what is missing will take, and what its jobs ask for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reprise import cli
from reprise.estimate.calibration import CACHE, calibration, read_cache
from reprise.estimate.estimates import Estimate, estimates, hours, memory_limit, summary, time_limit
from reprise.records.record import Outcome, make_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.devices import processor


def experiment(name, replicas=2, corpus=None, most=60, **training):
    config = {"training": {"protocol": "subsequence-sgd", "options": {"max_epochs": most, **training}}, "name": name}
    return Resolved("p", name, "quick", "t", replicas, config, {}, corpus)


def leave(tmp_path, which, replica, seconds, epochs=None, device=None, diverged=None, peak=300.0, engine="fused"):
    metrics = [{"split": "train", "metric": "epochs", "value": epochs, "unit": "epoch", "n": 1}] if epochs else []
    run = {"engine": engine, "device": device or f"cpu ({processor()})", "wall_seconds": seconds}
    run["peak_memory_mib"] = peak
    record = make_record(which, replica, Outcome(metrics=metrics), 7, diverged, run)
    write_record(tmp_path / which.record_path(replica), record)


def never(which, root):
    raise AssertionError(f"{which.id} need not be measured")


def test_finished_replicas_say_how_long_the_others_take(tmp_path):
    one = experiment("one", replicas=4)
    leave(tmp_path, one, 0, 100.0)
    leave(tmp_path, one, 2, 200.0)
    (found,) = estimates([one], tmp_path, never)
    assert (found.missing, found.seconds, found.total) == (2, 150.0, 300.0)
    assert found.source == "finished replicas"


def test_a_time_limit_leaves_room(tmp_path):
    one, short, unknown = experiment("one"), experiment("short"), experiment("unknown")
    leave(tmp_path, one, 0, 7200.0)
    leave(tmp_path, short, 0, 1.0)
    assert time_limit(one, 1440, tmp_path) == 360
    assert time_limit(short, 1440, tmp_path) == 10
    assert time_limit(unknown, 1440, tmp_path) == 1440
    check = Resolved("p", "check", "quick", "t", 1, {"check": "c"}, {}, None)
    assert time_limit(check, 1440, tmp_path) == 10
    # Damage is not for this to tell.
    (tmp_path / one.record_path(0)).write_text("{")
    assert time_limit(one, 1440, tmp_path) == 1440
    # Nor is a record that cannot be read.
    (tmp_path / one.record_path(0)).unlink()
    (tmp_path / one.record_path(0)).mkdir()
    assert time_limit(one, 1440, tmp_path) == 1440
    assert memory_limit(one, 4000, tmp_path) == 4000


def test_a_record_that_does_not_say_its_memory_is_none_to_go_by(tmp_path):
    one = experiment("one", replicas=1)
    run = {"engine": "fused", "device": "cpu (a chip)", "wall_seconds": 1.0}
    write_record(tmp_path / one.record_path(0), make_record(one, 0, Outcome(), 7, None, run))
    assert memory_limit(one, 4000, tmp_path) == 4000


def test_a_memory_limit_leaves_room(tmp_path):
    one, small, unknown = experiment("one"), experiment("small"), experiment("unknown")
    leave(tmp_path, one, 0, 1.0, peak=1200.5)
    # A processor says nothing about memory.
    leave(tmp_path, one, 1, 1.0, peak=1600.5, device="cpu (another)")
    leave(tmp_path, small, 0, 1.0, peak=300.0)
    # 1.5 times the largest, and the Snakemakes around it
    assert memory_limit(one, 4000, tmp_path) == 2801
    assert memory_limit(small, 4000, tmp_path) == 1000
    assert memory_limit(unknown, 4000, tmp_path) == 4000
    (tmp_path / one.record_path(0)).write_text("{")
    assert memory_limit(one, 4000, tmp_path) == 4000


def test_a_variant_takes_the_memory_of_its_experiment(tmp_path):
    one, variant = experiment("one"), experiment("one@rate=half", rate=0.5)
    leave(tmp_path, one, 0, 1.0, peak=2000.0)
    assert memory_limit(variant, 4000, tmp_path) == 4000
    assert memory_limit(variant, 4000, tmp_path, like=one) == 3400
    # its own say more
    leave(tmp_path, variant, 0, 1.0, peak=1000.0)
    assert memory_limit(variant, 4000, tmp_path, like=one) == 1900


def test_replicas_that_trained_together_or_diverged_say_nothing_of_memory(tmp_path):
    one = experiment("one", replicas=3)
    leave(tmp_path, one, 0, 1.0, peak=20000.0, engine="stacked")
    leave(tmp_path, one, 1, 1.0, peak=900.0, diverged={"epoch": 1})
    assert memory_limit(one, 4000, tmp_path) == 4000
    leave(tmp_path, one, 2, 1.0, peak=900.0)
    assert memory_limit(one, 4000, tmp_path) == 1750


def test_another_processor_speaks_last_and_is_named(tmp_path):
    one, variant, unknown = experiment("one", replicas=4), experiment("one@rate=half", rate=0.5), experiment("unknown")
    leave(tmp_path, one, 0, 100.0, device="cpu (another)")
    leave(tmp_path, one, 1, 3.0, diverged={"epoch": 1})
    leave(tmp_path, one, 2, 5.0, device="cuda (a GPU)", engine="stacked")
    of_one, of_variant, of_unknown = estimates([one, variant, unknown], tmp_path)
    assert (of_one.missing, of_one.seconds, of_variant.seconds, of_unknown.seconds) == (1, 100.0, 100.0, None)
    assert of_one.source == "finished replicas on another processor; not measured: reprise estimate"
    assert [found.elsewhere for found in (of_one, of_variant, of_unknown)] == [True, True, False]
    assert summary([of_one, of_variant, of_unknown], cores=2) == (
        "5 replicas are missing: at least 5.0 min of one core, at least 2.5 min with 2 (5.0 min of it as measured on "
        "another processor); 1 experiment has not been measured (reprise estimate)"
    )
    # No ground for ending a job here.
    assert time_limit(one, 1440, tmp_path) == 1440
    (found,) = estimates([one], tmp_path, lambda which, root: (2.0, 60.0))
    assert (found.seconds, found.elsewhere) == (120.0, False)
    assert time_limit(one, 1440, tmp_path) == 10


def test_a_calibration_counts_as_many_epochs_as_finished_trainings_needed(tmp_path):
    done, new = experiment("done", replicas=1), experiment("new", replicas=3, most=40)
    leave(tmp_path, done, 0, 900.0, epochs=30)
    assert estimates([done, new], tmp_path, lambda which, root: (10.0, 40.0))[1].seconds == 10.0 * 40 * 0.5
    # kept: the next one measures nothing
    again = estimates([done, new], tmp_path, never)[1]
    assert (again.seconds, again.missing, again.source) == (200.0, 3, "calibration")
    assert read_cache(tmp_path) == {new.config_hash: {"seconds_a_unit": 10.0, "units": 40.0}}
    for damaged in ("{", "[]", json.dumps({processor(): 3})):
        (tmp_path / CACHE).write_text(damaged)
        assert estimates([new], tmp_path)[0].seconds is None
    (tmp_path / CACHE).write_text("[]")
    assert estimates([new], tmp_path, lambda which, root: (10.0, 40.0))[0].seconds == 400.0
    assert read_cache(tmp_path) == {new.config_hash: {"seconds_a_unit": 10.0, "units": 40.0}}


def test_a_variant_takes_what_its_experiment_takes(tmp_path):
    one, variant = experiment("one", replicas=1), experiment("one@rate=half", rate=0.5)
    measured = []

    def calibrate(which, root):
        measured.append(which.id)
        return 2.0, 60.0

    of_variant, of_one = estimates([variant, one], tmp_path, calibrate)
    assert measured == ["p/one"]
    assert (of_variant.seconds, of_variant.source) == (120.0, "calibration of its experiment")
    assert of_one.source == "calibration"
    leave(tmp_path, one, 0, 50.0)
    (found,) = estimates([variant], tmp_path, never, among=[one])
    assert (found.missing, found.seconds, found.source) == (2, 50.0, "finished replicas of its experiment")
    assert time_limit(variant, 1440, tmp_path, like=experiment("one", replicas=1)) == 10
    assert time_limit(variant, 1440, tmp_path) == 1440
    # its own say more
    leave(tmp_path, variant, 0, 7200.0)
    assert estimates([variant], tmp_path, never, among=[one])[0].seconds == 7200.0
    assert time_limit(variant, 1440, tmp_path, like=one) == 360


def test_a_calibration_counts_what_the_processor_did(tmp_path, monkeypatch):
    """One step between two looks at the processor's clock, which lie four seconds apart, whatever the wall's says."""
    monkeypatch.setattr("time.process_time", iter([0.0, 1.0, 1.0, 5.0, 5.0]).__next__)
    monkeypatch.setattr("reprise.estimate.calibration.CALIBRATION_SECONDS", 4.0)
    seconds, _ = calibration(palindromes(steps=10**6), tmp_path)
    assert seconds == 4.0


def test_without_a_corpus_the_command_that_prepares_it_is_named(tmp_path):
    (found,) = estimates([experiment("one", corpus="data/corpora/x.npz")], tmp_path, never)
    assert found.source == "not prepared: reprise prepare p/one"
    assert found.total is None


def test_a_check_takes_no_time_worth_naming(tmp_path):
    check = Resolved("p", "check", "quick", "t", 1, {"check": "x", "tolerance": 0.0}, {}, None)
    assert estimates([check], tmp_path, never)[0].seconds == 0.0


def test_the_summary_counts_cores_and_what_is_unknown():
    one, two = experiment("one", replicas=3), experiment("two", replicas=1)
    known = [Estimate(one, 3, 3600.0, ""), Estimate(two, 1, 9000.0, "")]
    assert summary(known, 1) == "4 replicas are missing: 5.5 h of one core, 5.5 h with 1"
    # no faster than the longest replica
    assert summary(known, 8) == "4 replicas are missing: 5.5 h of one core, 2.5 h with 8"
    more = (
        "5 replicas are missing: at least 5.5 h of one core, at least 2.5 h with 8; 1 experiment has not been measured"
    )
    assert summary([*known, Estimate(two, 1, None, "")], 8) == f"{more} (reprise estimate)"
    alone = "1 replica is missing: 1 experiment has not been measured (reprise estimate)"
    assert summary([Estimate(two, 1, None, "")], 8) == alone
    assert summary([Estimate(one, 0, None, "")], 8) == "nothing is missing"


@pytest.mark.parametrize(("seconds", "text"), [(3.2, "3 s"), (90, "1.5 min"), (5400, "1.5 h")])
def test_durations_are_said_in_one_unit(seconds, text):
    assert hours(seconds) == text


def palindromes(steps, rate=0.01):
    options = {"steps": steps, "batch_size": 4, "optimiser": "adam", "learning_rate": rate, "clip_norm": 10.0}
    config = {
        "model": {"name": "elman", "options": {"hidden_size": 4, "weight_law": "fan-in-truncated-normal"}},
        "data": {"dataset": "palindromes", "options": {"length": 3}, "raw": {}},
        "training": {"protocol": "final-digit", "options": {**options, "log_every": 5}},
        "precision": "float32",
    }
    return Resolved("p", "e", "quick", "t", 1, config, {}, None)


def test_a_calibration_trains_for_some_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr("reprise.estimate.calibration.CALIBRATION_SECONDS", 0.1)
    seconds, units = calibration(palindromes(steps=10**6), tmp_path)
    assert units == 10**6
    assert 1e-6 < seconds < 0.5


def test_a_training_that_ends_within_the_first_piece_takes_as_long_as_that_did(tmp_path):
    seconds, units = calibration(palindromes(steps=1), tmp_path)
    assert units == 1
    assert 0 < seconds < 5


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["palindrome"], "did you mean 'palindromes'"), (["--cores", "0"], "number of cores above 0")],
)
def test_the_command_refuses_what_it_does_not_know(arguments, reason, capsys):
    assert cli.main(["estimate", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_the_command_lists_what_is_missing(capsys):
    assert cli.main(["estimate", "--tier", "paper", "--cores", "8", "--no-calibration"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].startswith("all: ")
    for paper in ("palindromes", "books", "gso"):
        assert f"\n{paper}: " in shown
    assert cli.main(["estimate", "--tier", "paper", "--no-calibration", "palindromes/rnn-t10"]) == 0
    assert "palindromes: nothing is missing" in capsys.readouterr().out


OTHER = "cpu (A slower one)"


def at(tier, replicas=2, corpus="data/corpora/c.npz", name="one", **options):
    config = {"training": {"protocol": "folds", "options": {"max_epochs": 10, "rate": 0.1, **options}}}
    return Resolved("p", name, tier, "t", replicas, config, {}, corpus)


def test_an_epoch_takes_what_it_took_at_the_other_tier(tmp_path):
    long, short = at("paper", max_epochs=25), at("reduced", max_epochs=6)
    leave(tmp_path, short, 0, 60.0, epochs=6)
    leave(tmp_path, short, 1, 60.0, epochs=3)
    (found,) = estimates([long], tmp_path, never, tiers=[short])
    assert (found.missing, found.seconds) == (2, pytest.approx(25 * (10.0 + 20.0) / 2))
    assert not found.elsewhere
    assert "another tier" in found.source


def test_so_does_a_step_and_a_variant_of_the_experiment(tmp_path):
    def stepping(tier, steps):
        made = at(tier)
        return replace(made, config={"training": {"protocol": "steps", "options": {"steps": steps}}})

    long, short = stepping("paper", 1000), stepping("quick", 50)
    variant = replace(long, experiment="one@a=b", assumption="a", alternative="b")
    leave(tmp_path, short, 0, 5.0)
    found = estimates([long, variant], tmp_path, never, tiers=[short])
    assert [one.seconds for one in found] == [100.0, 100.0]


@pytest.mark.parametrize("change", [{"rate": 0.2}, {"corpus": "data/corpora/d.npz"}, {"name": "two"}])
def test_what_trains_otherwise_says_nothing(tmp_path, change):
    short = at("reduced", **change)
    leave(tmp_path, short, 0, 60.0, epochs=6)
    (found,) = estimates([at("paper", max_epochs=25)], tmp_path, tiers=[short])
    assert found.seconds is None


def test_epochs_count_as_finished_trainings_of_the_tier_needed_them(tmp_path):
    long, short, done = at("paper", max_epochs=20), at("reduced", max_epochs=5), at("paper", name="done", max_epochs=20)
    leave(tmp_path, short, 0, 50.0, epochs=5)
    leave(tmp_path, done, 0, 1.0, epochs=10)
    (found,) = estimates([long], tmp_path, never, among=[done], tiers=[short])
    assert found.seconds == pytest.approx(20 * 0.5 * 10.0)


def test_another_processor_comes_after_a_measurement_here(tmp_path):
    long, short = at("paper", corpus=None, max_epochs=25), at("reduced", corpus=None, max_epochs=5)
    leave(tmp_path, short, 0, 50.0, epochs=5, device=OTHER)
    (told,) = estimates([long], tmp_path, tiers=[short])
    assert (told.seconds, told.elsewhere) == (250.0, True)
    assert "another tier" in told.source
    assert "another processor" in told.source
    (measured,) = estimates([long], tmp_path, lambda which, root: (2.0, 25.0), tiers=[short])
    assert (measured.seconds, measured.elsewhere) == (50.0, False)


def test_replicas_of_the_tier_itself_come_first(tmp_path):
    long, short = at("paper", max_epochs=25), at("reduced", max_epochs=5)
    leave(tmp_path, short, 0, 50.0, epochs=5)
    leave(tmp_path, long, 0, 99.0, epochs=9)
    assert estimates([long], tmp_path, never, tiers=[short])[0].seconds == 99.0
    # And of the tier elsewhere, before those of another tier elsewhere.
    leave(tmp_path, long, 0, 99.0, epochs=9, device=OTHER)
    leave(tmp_path, short, 0, 50.0, epochs=5, device=OTHER)
    assert estimates([long], tmp_path, tiers=[short])[0].seconds == 99.0


def test_the_command_asks_the_committed_records_of_the_tier_reduced(capsys):
    """In a fresh clone no corpus is prepared; all that document 000 trains is known from shorter trainings."""
    cli.main(["estimate", "--tier", "paper", "--no-calibration", "gso"])
    told = capsys.readouterr().out
    assert told.splitlines()[-1].startswith("all: ")
    assert "not been measured" not in told
