"""Estimates by what another tier took, where it trains the same for another while."""

from __future__ import annotations

from dataclasses import replace

import pytest
from estimate_helpers import leave, never

from reprise import cli
from reprise.estimate.estimates import estimates
from reprise.records.resolved import Resolved

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
