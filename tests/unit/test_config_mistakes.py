"""The line that a mistake in config/ gets names what is wrong, and not what follows from it."""

from __future__ import annotations

import pytest
from config_helpers import copy_config, edit

from reprise.cli import main
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import EXIT_USAGE, UserError

LONELY = "function: language_models.perplexity}\n"


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "max_epochs: {value",
            "max_epoch: {value",
            "families.r-rntn.training.max_epoch: protocol subsequence-sgd has no such option; "
            "did you mean 'max_epochs'?",
        ),
        ("name: r-rntn", "nam: r-rntn", "families.r-rntn.model.nam: unknown key; did you mean 'name'?"),
        ("name: r-rntn", "name: gru-lm", "or add it to subsequence-sgd in src/reprise/training/__init__.py"),
        ("    like: r-rntn\n", "    likes: r-rntn\n", "experiments.s-rnn-100.likes: unknown key; did you mean 'like'?"),
        ("\nassumptions:\n", "\nassumption:\n", "key assumption: unknown key; did you mean 'assumptions'?"),
        ("\nfamilies:\n", "\nfamilys:\n", "key familys: unknown key; did you mean 'families'?"),
        ("from: paper §4", "from: paper §4, Table 1", "Table 1: unknown key; .*a value with a comma needs quotes"),
        ("max_epochs: 4", "max_epochs: many", "experiments.s-rnn-100.tiers.quick.max_epochs: 'many' is not an int"),
        (
            "dataset: synthetic, vocabulary_size: 1000",
            "dataset: synthetic",
            "tiers.quick: dataset synthetic needs the option 'vocabulary_size'; add it",
        ),
        ("dataset: synthetic, ", "dataset: syntetic, ", "tiers.quick.dataset: no dataset 'syntetic'"),
    ],
)
def test_the_key_is_named_that_is_wrong_and_not_what_follows_from_it(clone, old, new, says):
    edit(clone, "papers/rrntn.yaml", old, new)
    with pytest.raises(UserError, match=says.replace("?", r"\?").replace("(", r"\(")):
        resolve_tier(load_project(clone, {"tier": "quick"}))


def test_what_is_missing_is_named_together(clone):
    edit(clone, "config.yaml", '    licence: none needed (generated)\n    homepage: ""\n', "")
    with pytest.raises(UserError, match=r"keys datasets\.(\S+)\.licence, datasets\.\1\.homepage: missing; add them"):
        load_project(clone)


def test_the_command_line_is_blamed_for_what_it_said_alone(clone):
    edit(clone, "config.yaml", "device: auto", "device: tpu")
    for overrides, beginning in (
        ({"tier": "quick"}, ": key device"),
        ({"device": "tpu"}, " (with --config device=tpu)"),
    ):
        with pytest.raises(UserError) as caught:
            load_project(clone, overrides)
        assert str(caught.value).startswith(f"{clone / 'config/config.yaml'}{beginning}")


def test_resolve_refuses_a_table_in_which_nothing_stands(clone, monkeypatch, capsys):
    edit(clone, "papers/rrntn.yaml", "tables:\n", "tables:\n  lonely: {title: a, place: b, caption: c, " + LONELY)
    monkeypatch.chdir(clone)
    assert main(["resolve", "--tier", "quick"]) == EXIT_USAGE
    assert "rrntn.yaml: key tables.lonely: no experiment has it under cited_by; add it" in capsys.readouterr().err
