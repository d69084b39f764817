"""Alternatives of an assumption in a paper's file: what is of one piece, and one line for what is not."""

from __future__ import annotations

import pytest
from config_helpers import TOY, copy_config, mistake

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path, TOY)


ALTERNATIVE = """\
    source: ours
    alternatives:
      other: {text}
"""


def offer(clone, text: str) -> None:
    """Gives an assumption of the toy paper an alternative."""
    path = clone / "config/papers/digits.yaml"
    written = path.read_text(encoding="utf-8").replace("    source: ours\n", ALTERNATIVE.format(text=text), 1)
    path.write_text(written, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{metrics: {accuracy: loss}, experiments: [rnn-t5]}", "other.experiments: another metric trains nothing"),
        ("{settings: {hidden_size: 9}, tiers: {quick: {replicas: 1}}}", "other.experiments: missing; say what is"),
        ("{settings: {hidden_size: 9}, experiments: [rnn-t5]}", "other.tiers: missing; say what is trained"),
        ("{experiments: [rnn-t5], tiers: {quick: {replicas: 1}}}", "other.settings: nothing is changed for 'rnn-t5'"),
        (
            "{settings_of: {lstm-t5: {hidden_size: 9}}, settings: {hidden_size: 7}, experiments: [rnn-t5], "
            "tiers: {quick: {replicas: 1}}}",
            "other.settings_of: no experiment 'lstm-t5'",
        ),
        (
            "{replicas_of: {lstm-t5: 2}, settings: {hidden_size: 7}, experiments: [rnn-t5], "
            "tiers: {quick: {replicas: 1}}}",
            "other.replicas_of: no experiment 'lstm-t5'",
        ),
        (
            "{replicas_of: {rnn-t5: 0}, settings: {hidden_size: 7}, experiments: [rnn-t5], "
            "tiers: {quick: {replicas: 1}}}",
            "other.replicas_of.rnn-t5: ",
        ),
        (
            "{settings_of: {rnn-t5: {hidden_sice: 9}}, experiments: [rnn-t5], tiers: {quick: {replicas: 1}}}",
            "other.settings_of.rnn-t5.hidden_sice: the experiment has no setting 'hidden_sice'; did you mean",
        ),
        (
            "{settings: {hidden_sice: 9}, experiments: [rnn-t5], tiers: {quick: {replicas: 1}}}",
            "other.settings.hidden_sice: the experiment has no setting 'hidden_sice'; did you mean",
        ),
        (
            "{settings: {hidden_size: 8}, experiments: [rnn-t5], tiers: {quick: {replicas: 1}}}",
            "other.settings: 'rnn-t5' has these values already in the tier quick; write others",
        ),
    ],
)
def test_an_alternative_that_changes_nothing_or_two_things_is_refused(clone, text, words):
    offer(clone, text)
    assert words in mistake(clone)


def test_an_alternative_may_change_each_experiment_in_its_own_way(clone):
    text = "{settings: {steps: 9}, settings_of: {lstm-t5: {hidden_size: 4}}, experiments: [rnn-t5, lstm-t5], "
    offer(clone, text + "tiers: {quick: {replicas: 1}}}")
    found = {e.experiment: e.config for e in resolve_tier(load_project(clone), "quick") if e.alternative}
    sizes = {name.partition("@")[0]: config["model"]["options"]["hidden_size"] for name, config in found.items()}
    assert sizes == {"rnn-t5": 8, "lstm-t5": 4}
    assert {config["training"]["options"]["steps"] for config in found.values()} == {9}


def test_an_experiment_may_have_replicas_of_its_own_under_an_alternative(clone):
    text = "{settings: {steps: 9}, experiments: [rnn-t5, lstm-t5], replicas_of: {lstm-t5: 4}, "
    offer(clone, text + "tiers: {quick: {replicas: 2}}}")
    found = {e.experiment: e.replicas for e in resolve_tier(load_project(clone), "quick") if e.alternative}
    assert {name.partition("@")[0]: replicas for name, replicas in found.items()} == {"rnn-t5": 2, "lstm-t5": 4}


def test_variants_can_be_compared(clone):
    path = clone / "config/papers/digits.yaml"
    text = path.read_text(encoding="utf-8").replace(
        "    source: ours\n  precision:",
        "    source: ours\n    alternatives:\n      corrected:\n"
        "        settings: {weight_law: fan-in-truncated-normal-corrected}\n"
        "        experiments: [rnn-t5]\n        tiers: {quick: {replicas: 1}}\n  precision:",
        1,
    )
    path.write_text(text.replace("lower: rnn-t5", "lower: rnn-t5@weight-law=corrected"), encoding="utf-8")
    resolve_tier(load_project(clone))
