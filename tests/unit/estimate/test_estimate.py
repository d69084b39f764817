"""How long what is missing will take, and what its jobs ask for."""

import re
from dataclasses import replace

import pytest

from reprise import cli
from reprise.estimate.estimates import (
    Estimate,
    estimate_memory_limit,
    estimate_time_limit,
    estimate_times,
    format_duration,
    summarise_estimates,
)
from reprise.processor import read_processor_name
from reprise.records.record import Outcome, make_record, write_record
from reprise.records.resolved import Resolved

HERE, OTHER = f"cpu ({read_processor_name()})", "cpu (A slower one)"
CHECK = Resolved("p", "check", "quick", "t", 1, {"check": "c"}, {}, None)


def experiment(name="one", replicas=2, tier="quick", corpus=None, most=60, **training):
    config = {"training": {"protocol": "subsequence-sgd", "options": {"max_epochs": most, **training}}, "name": name}
    return Resolved("p", name, tier, "t", replicas, config, {}, corpus)


def leave(tmp_path, resolved, replica, seconds, epochs=None, device=None, diverged=None, peak=300.0, engine="fused"):
    metrics = [{"split": "train", "metric": "epochs", "value": epochs, "unit": "epoch", "n": 1}] if epochs else []
    run = {"engine": engine, "device": device or HERE, "wall_seconds": seconds}
    run |= {"peak_memory_mib": peak} if peak else {}
    record = make_record(resolved, replica, Outcome(metrics=metrics), 7, diverged, run)
    write_record(tmp_path / resolved.get_record_path(replica), record)


def summarise(one):
    return one.missing, one.seconds, one.source, one.is_foreign


def list_numbers(text):
    return re.findall(r"\d[\d.]*(?: h| min)?", text)


def test_finished_replicas_say_how_long_the_others_take_and_a_check_takes_no_time(tmp_path):
    one, unprepared = experiment(replicas=4), experiment("unprepared", corpus="data/corpora/x.npz")
    leave(tmp_path, one, 0, 100.0)
    leave(tmp_path, one, 2, 200.0)
    estimate, check, other = estimate_times([one, CHECK, unprepared], tmp_path)
    assert summarise(estimate) == (2, 150.0, "finished replicas", False)
    assert summarise(other) == (2, None, "no finished replica", False)
    assert (estimate.total_seconds, check.seconds, other.total_seconds) == (300.0, 0.0, None)
    known = [Estimate(experiment(), 3, 3600.0, ""), Estimate(experiment("two"), 1, 9000.0, "")]
    assert list_numbers(summarise_estimates(known, 1)) == ["4", "5.5 h", "5.5 h", "1"]
    # No faster than the longest replica.
    assert list_numbers(summarise_estimates(known, 8)) == ["4", "5.5 h", "2.5 h", "8"]
    assert list_numbers(summarise_estimates([Estimate(experiment(), 0, None, "")], 8)) == []
    assert [format_duration(seconds) for seconds in (3.2, 90, 5400)] == ["3 s", "1.5 min", "1.5 h"]


@pytest.mark.parametrize("damage", [lambda path: path.write_text("{"), lambda path: path.unlink() or path.mkdir()])
def test_a_time_limit_leaves_room_and_a_record_that_cannot_be_read_is_none_to_go_by(damage, tmp_path):
    one, short, unknown = experiment(), experiment("short"), experiment("unknown")
    leave(tmp_path, one, 0, 7200.0)
    leave(tmp_path, short, 0, 1.0)
    assert [estimate_time_limit(e, 1440, tmp_path) for e in (one, short, unknown, CHECK)] == [360, 10, 1440, 10]
    damage(tmp_path / one.get_record_path(0))
    assert (estimate_time_limit(one, 1440, tmp_path), estimate_memory_limit(one, 4000, tmp_path)) == (1440, 4000)


@pytest.mark.parametrize(
    ("records", "limit"),
    [
        # 1.5 times the largest, and the Snakemakes around it; a processor says nothing about memory.
        ([{"peak": 1200.5}, {"peak": 1600.5, "device": OTHER}], 2801),
        ([{"peak": 300.0}], 1000),
        ([{"peak": None}], 4000),
        # of all that trained together, and of a part of a training
        ([{"peak": 20000.0, "engine": "stacked"}, {"peak": 900.0, "diverged": {"epoch": 1}}], 4000),
        ([{"peak": 20000.0, "engine": "stacked"}, {"peak": 900.0}], 1750),
    ],
)
def test_a_memory_limit_leaves_room(records, limit, tmp_path):
    one, variant = experiment(), experiment("one@rate=half", rate=0.5)
    for replica, options in enumerate(records):
        leave(tmp_path, one, replica, 1.0, **options)
    assert (
        estimate_memory_limit(one, 4000, tmp_path) == estimate_memory_limit(variant, 4000, tmp_path, base=one) == limit
    )
    assert estimate_memory_limit(variant, 4000, tmp_path) == 4000
    leave(tmp_path, variant, 0, 1.0, peak=1000.0)  # its own say more
    assert estimate_memory_limit(variant, 4000, tmp_path, base=one) == 1900


def test_another_processor_speaks_last_and_is_named(tmp_path):
    one, variant, unknown = experiment(replicas=4), experiment("one@rate=half", rate=0.5), experiment("unknown")
    leave(tmp_path, one, 0, 100.0, device=OTHER)
    leave(tmp_path, one, 1, 3.0, diverged={"epoch": 1})
    leave(tmp_path, one, 2, 5.0, device="cuda (a GPU)", engine="stacked")
    estimates = estimate_times([one, variant, unknown], tmp_path)
    source = "finished replicas on another processor"
    assert summarise(estimates[0]) == (1, 100.0, source, True)
    assert [(e.seconds, e.is_foreign) for e in estimates[1:]] == [(100.0, True), (None, False)]
    summary = summarise_estimates(estimates, cores=2)
    assert list_numbers(summary) == ["5", "5.0 min", "2.5 min", "2", "5.0 min", "1"]
    assert summary.count("at least") == 2
    assert "another processor" in summary
    # No ground for ending a job here.
    assert estimate_time_limit(one, 1440, tmp_path) == 1440


def test_a_variant_takes_what_its_experiment_takes(tmp_path):
    one, variant = experiment(replicas=1), experiment("one@rate=half", rate=0.5)
    leave(tmp_path, one, 0, 50.0)
    (estimate,) = estimate_times([variant], tmp_path, tier_experiments=[one])
    assert summarise(estimate) == (2, 50.0, "finished replicas of its experiment", False)
    assert (estimate_time_limit(variant, 1440, tmp_path, base=one), estimate_time_limit(variant, 1440, tmp_path)) == (
        10,
        1440,
    )
    leave(tmp_path, variant, 0, 7200.0)  # its own say more
    assert estimate_times([variant], tmp_path, tier_experiments=[one])[0].seconds == 7200.0


def test_an_epoch_or_a_step_takes_what_it_took_at_the_other_tier(tmp_path):
    long, short = experiment(tier="paper", most=25), experiment(tier="reduced", most=6)
    leave(tmp_path, short, 0, 60.0, epochs=6)
    leave(tmp_path, short, 1, 60.0, epochs=3)
    (estimate,) = estimate_times([long], tmp_path, other_tiers=[short])
    source = "finished replicas of another tier, by their time for an epoch or step"
    assert summarise(estimate) == (2, pytest.approx(25 * (10.0 + 20.0) / 2), source, False)
    # As many epochs as finished trainings of the tier needed.
    finished = experiment("done", tier="paper", most=25)
    leave(tmp_path, finished, 0, 1.0, epochs=10)
    (estimate,) = estimate_times([long], tmp_path, tier_experiments=[finished], other_tiers=[short])
    assert estimate.seconds == pytest.approx(10 * (10.0 + 20.0) / 2)
    long, short = (
        replace(experiment("steps", tier=tier), config={"training": {"protocol": "s", "options": {"steps": steps}}})
        for tier, steps in (("paper", 1000), ("quick", 50))
    )
    variant = replace(long, experiment="steps@a=b", assumption="a", alternative="b")
    leave(tmp_path, short, 0, 5.0)
    assert [e.seconds for e in estimate_times([long, variant], tmp_path, other_tiers=[short])] == [100.0, 100.0]


@pytest.mark.parametrize("change", [{"rate": 0.2}, {"corpus": "data/corpora/d.npz"}, {"name": "two"}])
def test_what_trains_otherwise_says_nothing(tmp_path, change):
    short = experiment(tier="reduced", **change)
    leave(tmp_path, short, 0, 60.0, epochs=6)
    (estimate,) = estimate_times([experiment(tier="paper", most=25)], tmp_path, other_tiers=[short])
    assert estimate.seconds is None


@pytest.mark.parametrize(
    ("device_of_long", "device_of_short", "expected"),
    [
        (HERE, HERE, (99.0, False)),
        (OTHER, HERE, (250.0, False)),
        (OTHER, OTHER, (99.0, True)),
        (None, OTHER, (250.0, True)),
    ],
)
def test_what_is_nearest_comes_first(tmp_path, device_of_long, device_of_short, expected):
    """The tier itself, another tier, the tier elsewhere, another tier elsewhere."""
    long, short = experiment(tier="paper", most=25), experiment(tier="reduced", most=5)
    if device_of_long:
        leave(tmp_path, long, 0, 99.0, device=device_of_long, epochs=25)
    leave(tmp_path, short, 0, 50.0, device=device_of_short, epochs=5)
    (one,) = estimate_times([long], tmp_path, other_tiers=[short])
    assert (one.seconds, one.is_foreign) == expected


def test_the_command_lists_what_is_missing(capsys):
    """In a fresh clone no corpus is prepared; all that document 000 trains is known from shorter trainings."""
    assert cli.main(["estimate", "--tier", "paper", "--cores", "8"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].startswith("all: ")
    lines = {line.partition(":")[0]: line for line in shown.splitlines()}
    assert {"palindromes", "books", "gso"} <= lines.keys()
    assert "not known" not in lines["gso"]
    assert cli.main(["estimate", "--tier", "paper", "palindromes/rnn-t10"]) == 0
    assert "palindromes: nothing is missing" in capsys.readouterr().out
