"""The line that a mistake in config/ gets names what is wrong, and not what follows from it."""

from __future__ import annotations

import pytest
from config_helpers import TOY, copy_config, edit, mistake

from reprise.cli import main
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import EXIT_USAGE, UserError, known

LONELY = "function: shared.perplexity}\n"


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
        ("name: r-rntn", "name: gru-lm", "or add it to subsequence-sgd in src/reprise/catalogue/protocols.py"),
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


REPORTED = "metric: last_ten_accuracy, split: train, value: 0.5, "


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (REPORTED, f"{REPORTED}unit: bit, ", "experiments.rnn-t5.reported.0.unit: 'bit' is not known; write one of"),
        ("cited_by: [curves,", "cited_by: [curve,", "experiments.rnn-t5.cited_by: no figure or table 'curve'"),
        ("  small:\n", "  small:\n    cited_by: [curve]\n", "families.small.cited_by: no figure or table 'curve'"),
        ("assumption weight-law", "assumption weight", "families.small.model.weight_law.from: no assumption 'weight'"),
        ("assumption precision", "deviation x", "families.small.precision.from: no deviation 'x'; known are none"),
        (
            "model: {name: lstm}",
            "model: {name: lstm, hidden_size: {value: 8, from: assumption x}}",
            "experiments.lstm-t5.model.hidden_size.from: no assumption 'x'",
        ),
    ],
)
def test_the_key_is_where_it_was_written_in_an_experiment_or_its_family(tmp_path, old, new, says):
    clone = copy_config(tmp_path, TOY)
    if "families" in says and "cited_by" in says:  # what an experiment says itself is in place of its family's
        edit(clone, "papers/digits.yaml", "    cited_by: [curves, convergence]\n", "")
    edit(clone, "papers/digits.yaml", old, new)
    assert f"digits.yaml: key {says}" in mistake(clone)


LINE = "      - {metric: last_ten_accuracy, split: train, value: 0.5, from: paper Figure 1}\n"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "tolerance: 0.0",
            "tolerance: -1.0",
            "experiments.count.check.tolerance: input should be greater than or equal",
        ),
        (
            "{replicas: 2}",
            "{replicas: 1000000000000}",
            "rnn-t5.tiers.quick.replicas: input should be less than or equal",
        ),
        ("{replicas: 2}", "{replicas: 2, dataset: ''}", "rnn-t5.tiers.quick.dataset: no dataset ''; known are"),
        ("{replicas: 2}", "{replicas: 2, steps: [1]}", "steps: [1] should be true or false, a number or a word; write"),
        (
            "tiers: {quick: {replicas: 2}, paper: {replicas: 2}}",
            "tiers: {}",
            "rnn-t5.tiers: it runs in no tier; name one",
        ),
        (LINE, LINE + LINE, "rnn-t5.reported.1: 'last_ten_accuracy train' stands twice; keep one of the two"),
        (REPORTED, REPORTED + "unit: bits/token, ", "rnn-t5.reported.0.unit: 'last_ten_accuracy' is no entropy"),
    ],
)
def test_what_would_be_ignored_or_never_end_is_refused(tmp_path, old, new, says):
    edit(copy_config(tmp_path, TOY), "papers/digits.yaml", old, new)
    assert says in mistake(tmp_path)


def test_an_experiment_that_the_paper_did_not_run_needs_no_tier(tmp_path):
    edit(copy_config(tmp_path, TOY), "papers/digits.yaml", "value: 0.5", "value: null")
    edit(tmp_path, "papers/digits.yaml", "tiers: {quick: {replicas: 2}, paper: {replicas: 2}}", "tiers: {}")
    assert all(e.experiment != "rnn-t5" for e in resolve_tier(load_project(tmp_path)))


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


def test_a_name_of_two_lines_is_told_on_one(tmp_path, monkeypatch, capsys):
    edit(copy_config(tmp_path, TOY), "papers/digits.yaml", "name: elman", 'name: "el\\nman"')
    monkeypatch.chdir(tmp_path)
    assert main(["resolve"]) == EXIT_USAGE
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_that_is_no_mapping_is_not_shown_whole(tmp_path):
    path = copy_config(tmp_path, TOY) / "config/papers/digits.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"- {line!r}\n" for line in lines), encoding="utf-8")
    message = mistake(tmp_path)
    assert "digits.yaml: key (top): should be a mapping, not ['paper: digits'" in message
    assert len(message) < 500


def test_of_many_names_few_are_listed():
    names = [f"{paper}/{kind}-{n}" for paper in ("digits", "words") for kind in ("rnn", "lstm") for n in range(20)]
    assert known("nosuch", names) == "known are digits, words"
    assert known("words/feed-forward", names).endswith("and 28 more")
    assert "digits" not in known("words/feed-forward", names)
    assert known("words/rnn3", names) == "did you mean 'words/rnn-3'?"
    metrics = [f"agreement/{n}" for n in range(20)]
    assert known("bleu", [*metrics, "perplexity"]).startswith("known are agreement/0, agreement/1, ")
    assert known("gru", ["rnn", "lstm"]) == "known are lstm, rnn"
    letters = "abcdefghijklmn"
    assert known("nosuch", letters) == "known are a, b, c, d, e, f, g, h, i, j, k, l and 2 more"


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "papers/digits.yaml",
            "name: elman",
            "name: mgu",
            "no model 'mgu' in MODELS of src/reprise/catalogue/models.py; k",
        ),
        (
            "papers/digits.yaml",
            "protocol: final-digit",
            "protocol: sgd",
            "no protocol 'sgd' in PROTOCOLS of src/reprise/catalogue/protocols.py; known",
        ),
        (
            "papers/digits.yaml",
            "name: lstm-parameter-count",
            "name: nothing",
            "no check 'nothing' in CHECKS of src/reprise/catalogue/checks.py; known",
        ),
        (
            "config.yaml",
            "prepare: palindromes",
            "prepare: rhymes",
            "no preparation 'rhymes' in PREPARATIONS of src/reprise/catalogue/datasets.py; known",
        ),
    ],
)
def test_what_is_not_registered_is_told_with_its_registry(tmp_path, file, old, new, says):
    edit(copy_config(tmp_path, TOY), file, old, new)
    assert says in mistake(tmp_path)


def test_a_paper_that_is_no_file_is_called_what_it_is(tmp_path):
    path = copy_config(tmp_path, TOY) / "config/papers/digits.yaml"
    path.unlink()
    path.symlink_to(path)
    assert mistake(tmp_path) == f"{path}: is a link that leads to no file; put the paper's YAML file there"
    path.unlink()
    path.mkdir()
    assert mistake(tmp_path) == f"{path}: is a folder; put the paper's YAML file there"
    path.rmdir()
    assert f"key papers: no file {path}; write it, or name one of words" in mistake(tmp_path)
