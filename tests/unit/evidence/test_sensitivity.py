"""Counts over many claims: corrections, Welch's answers, criteria set afterwards; and trainings that went wrong."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from claims_helpers import runs
from config_helpers import experiments, project
from scipy import stats

from reprise.config.claims import Claim
from reprise.evidence.load import DIVERGED_EPOCH, load_runs
from reprise.evidence.runs import Table
from reprise.evidence.sensitivity import examine_sensitivity
from reprise.evidence.stability import RISE, count_unstable
from reprise.evidence.verdicts import NO_DATA, NOT_RUN
from reprise.evidence.verdicts.decide import decide


def decision(answer, p, *, tail=0.025, own_sds=None, afterwards=None, evidence="trained"):
    weakest = SimpleNamespace(p=p, tail=tail)
    return SimpleNamespace(answer=answer, weakest=weakest, own_sds=own_sds, afterwards=afterwards, evidence=evidence)


def test_agreements_that_survive_a_correction_for_several():
    p = [0.001, 0.004, 0.008, 0.013, 0.02, 0.2]
    decisions = {f"c{i}": decision("agrees" if x <= 0.025 else "undecided", x) for i, x in enumerate(p)}
    # Two more that count in nothing: one that no test decides, one of another kind of evidence.
    decisions |= {"none": decision("agrees", None), "equation": decision("agrees", 0.5, evidence="equation")}
    sensitivity = examine_sensitivity(decisions)
    assert sensitivity.agree == ("c0", "c1", "c2", "c3", "c4", "none")
    # Holm: 0.001 * 6, 0.004 * 5 and then 0.008 * 4 > 0.025. Benjamini and Hochberg: 0.02 * 6 / 5 is within it.
    assert sensitivity.holm == ("c0", "c1")
    adjusted = stats.false_discovery_control(p)
    assert sensitivity.benjamini_hochberg == tuple(f"c{i}" for i, x in enumerate(adjusted) if x <= 0.025)
    assert len(sensitivity.benjamini_hochberg) == 5
    # Two tests at 5 % each: 0.04 counts as 0.02 at half the level.
    assert examine_sensitivity({"a": decision("agrees", 0.04, tail=0.05)}).holm == ("a",)
    assert examine_sensitivity({}).agree == ()


def test_answers_by_welch_and_criteria_set_afterwards_are_counted_both_ways():
    sensitivity = examine_sensitivity(
        {
            "a": decision("agrees", 0.01, own_sds="undecided", afterwards="the level"),
            "b": decision("agrees", 0.01, own_sds="agrees"),
            "c": decision("disagrees", 0.99, afterwards="the margin"),
        }
    )
    assert sensitivity.own_sds == {"a": "undecided"}
    assert sensitivity.afterwards == {"agrees": ("a",), "disagrees": ("c",)}


@pytest.mark.parametrize(("tier", "paper"), [("paper", "rrntn"), ("paper", "palindromes")])
def test_trainings_that_went_wrong_are_those_of_the_records(tier, paper):
    runs = load_runs(project(tier), experiments(tier))[paper]
    rows = {row.experiment: row for row in count_unstable(runs.values())}
    assert sum(row.trained for row in rows.values()) == sum(len(one.replicas) for one in runs.values() if one.learns)
    assert sum(row.diverged for row in rows.values()) == sum(one.diverged for one in runs.values())
    # Only the m-RNN blows up, and only LSTMs on long palindromes diverge.
    unstable = {name for name, row in rows.items() if row.unstable}
    diverged = {name for name, row in rows.items() if row.diverged}
    assert all(name.startswith("m-rnn") for name in unstable)
    assert all(name.startswith("lstm") for name in diverged)
    assert bool(unstable if paper == "rrntn" else diverged)


def test_a_training_is_unstable_by_its_rise_and_only_if_it_finished():
    experiment = runs("a", [1.0, 1.0, 1.0], diverged=1)
    for replica, rise in zip(experiment.replicas, (RISE + 0.01, RISE - 0.01, None, 9.0), strict=True):
        object.__setattr__(replica, "rise", rise)
    (row,) = count_unstable([experiment])
    assert (row.trained, row.diverged, row.unstable) == (4, 1, 1)
    experiment.replicas[0].metrics[DIVERGED_EPOCH] = 3.0  # the loss stopped being finite, and the best epoch was tested
    (row,) = count_unstable([experiment])
    assert (row.trained, row.diverged, row.unstable) == (4, 2, 0)


def test_what_a_tier_leaves_out_has_no_data_where_its_data_cannot_be_had():
    config = project("quick").config
    unavailable = {"ptb": config.datasets["ptb"].model_copy(update={"unavailable": "It was in no mirror."})}
    changed = replace(
        project("quick"), config=config.model_copy(update={"datasets": {**config.datasets, **unavailable}})
    )
    experiments = load_runs(changed, [])["rrntn"]
    on_ptb = {name for name, one in experiments.items() if one.entry.data and one.entry.data.dataset == "ptb"}
    assert on_ptb
    assert {name for name, one in experiments.items() if one.unavailable == "It was in no mirror."} == on_ptb
    below = {"compare": {"lower": "r-rntn-100-k100", "higher": "s-rnn-100"}, "metric": "perplexity", "split": "test"}
    claim = Claim.model_validate({"tested": "It is so", "place": "Table 1", "kind": "superiority", **below})
    assert decide(claim, Table(experiments)).answer == NO_DATA
    assert decide(claim, Table(load_runs(project("quick"), [])["rrntn"])).answer == NOT_RUN
