"""The table of replicas that were trained on two machines: which records are twins, and what is divided by what."""

import pytest
from config_helpers import ROOT
from experiment_helpers import SENTENCES, experiment

from benchmarks.machines import find_twins, make_machines_table
from reprise.records.record import Outcome, make_metric, make_record, write_record

AMD, INTEL = "cpu (AMD EPYC)", "cpu (Intel(R) Xeon(R) Processor)"


def record(replica, loss, torch="2.13.0+cpu", device=AMD, engine="fused", diverged=None):
    outcome = Outcome(metrics=[make_metric("test", "cross_entropy", loss, "nats/token", 10)])
    run = {"engine": engine, "device": device, "versions": {"torch": torch}, "wall_seconds": 1.0}
    return make_record(experiment("e", SENTENCES, None), replica, outcome, 1, diverged, run)


SEEDS = [record(0, 4.0), record(1, 4.2), record(2, 4.4)]


def test_a_twin_is_the_same_replica_made_otherwise_and_is_set_beside_the_seeds():
    (twin,) = find_twins([*SEEDS, record(1, 4.1, torch="2.8.0+cu128")])
    assert (twin.differs, twin.equal) == ("torch 2.8.0 and 2.13.0", False)
    assert twin.difference == pytest.approx(0.1)
    assert twin.share_of_sd == pytest.approx(0.1 / 0.2)


def test_replicas_of_another_length_say_nothing_about_the_sd_of_a_twin():
    def change(record, options):
        training = {**record["config"]["training"], "options": options}
        return {**record, "config": {**record["config"], "training": training}, "config_hash": str(options)}

    long = [change(one, {"max_epochs": 99}) for one in SEEDS]
    short = [change(one, {"max_epochs": 1}) for one in (record(0, 9.0), record(0, 9.5, device=INTEL))]
    (twin,) = find_twins([*long, *short])
    assert twin.difference == pytest.approx(0.5)
    assert twin.share_of_sd is None


def test_builds_of_one_release_and_copies_of_a_record_are_no_twins():
    assert not list(find_twins([*SEEDS, record(1, 4.2, torch="2.13.0+cu130"), SEEDS[2]]))


def test_equal_records_and_a_training_that_diverged_are_counted():
    others = [record(0, 4.0, device=INTEL), record(2, 0.0, device=INTEL, diverged={"epoch": 1})]
    equal, diverged = find_twins([*SEEDS, *others])
    assert (equal.equal, equal.difference, equal.differs) == (True, 0.0, "processor AMD and Intel")
    assert (diverged.equal, diverged.first, diverged.share_of_sd) == (False, None, None)


def test_a_row_has_the_largest_difference_and_one_of_diverged_trainings_alone_has_none(tmp_path):
    diverged = record(2, 9.0, "2.8.0", diverged={"epoch": 1})
    others = [record(0, 4.3, device=INTEL), record(1, 4.25, device=INTEL), diverged]
    for number, one in enumerate([*SEEDS, *others]):
        write_record(tmp_path / f"results/machines/{number}.json", one)
    rows = [line.strip("| ").split(" | ") for line in make_machines_table(tmp_path).splitlines()[2:]]
    assert [row[1:5] for row in rows] == [
        ["processor AMD and Intel", "2", "0", "0"],
        ["torch 2.8.0 and 2.13.0", "1", "0", "1"],
    ]
    assert rows[0][5].startswith("0.3 of 4 ")
    assert [row[7] for row in rows] == ["1.5", "–"]


def test_the_committed_table_is_that_of_the_committed_records():
    assert make_machines_table(ROOT) in (ROOT / "docs/weights.md").read_text(encoding="utf-8")
