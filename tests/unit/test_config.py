"""The configuration: errors of one line, and a hash over what decides the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_helpers import add_example, copy_config, edit

from reprise.cli import main
from reprise.config.displays import entries
from reprise.config.project import load_project, merge
from reprise.config.resolve import resolve_tier
from reprise.errors import EXIT_USAGE, UserError
from reprise.records.resolved import Resolved, hash_of, read_resolved
from reprise.report.render import find_function

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path)


def test_the_example_of_the_docs_is_sound(clone):
    """docs/adding.md has it copied; what it says of tables and claims has to be right as well."""
    add_example(clone)
    project = load_project(clone)
    found = [e.id for e in resolve_tier(project, "quick") if e.paper == "sizes"]
    assert {"sizes/units-10", "sizes/units-20"} <= set(found)
    tables = entries({"sizes": project.papers["sizes"]})
    for entry in tables.values():
        assert find_function(entry.kind, entry.display.function)


def hashes(clone, tier="paper"):
    return {e.id: e.config_hash for e in resolve_tier(load_project(clone), tier)}


@pytest.mark.parametrize("tier", ["quick", "reduced", "paper"])
def test_the_committed_configuration_is_sound(tier):
    for experiment in resolve_tier(load_project(ROOT), tier):
        assert experiment.is_check or experiment.origins


@pytest.mark.parametrize(
    ("file", "old", "new", "key", "remedy"),
    [
        ("config.yaml", "engine: auto", "engnie: auto", "key engnie", "unknown key; did you mean 'engine'?"),
        ("config.yaml", "  - rrntn\n", "  - rrntn\n  - rrntn\n", "key papers", "'rrntn' stands twice; keep one"),
        ("config.yaml", "digest: fcea", "digest: FCEA", "files.0.digest", "64 hexadecimal digits for sha256"),
        ("config.yaml", "device: auto", "device: tpu", "key device", "'auto', 'cpu' or 'cuda'"),
        ("config.yaml", "engine: auto", "engine: fussed", "key engine", "write one of 'auto', 'reference', 'hand', "),
        (
            "papers/palindromes.yaml",
            "precision: {value: float32",
            "precision: {value: float16x",
            "families.rnn.precision",
            "'float16x' is not known; write one of float32, float64",
        ),
        ("config.yaml", "  - rrntn", "  - rrnt", "key papers", "rrntn"),
        ("config.yaml", "prepare: ptb", "prepare: pbt", "datasets.ptb.prepare", "did you mean 'ptb'"),
        ("config.yaml", "algorithm: sha256", "algorithm: md5", "datasets.ptb.files.0.algorithm", "sha256"),
        ("papers/palindromes.yaml", "value: 128", "value: wide", "model.hidden_size", "not an int"),
        ("papers/palindromes.yaml", "hidden_size:", "hidden_sise:", "model.hidden_sise", "'hidden_size'"),
        ("papers/palindromes.yaml", "name: elman", "name: elmann", "model.name", "did you mean 'elman'"),
        ("papers/palindromes.yaml", "dataset: palindromes", "dataset: palindrome", "dataset", "palindromes"),
        (
            "papers/palindromes.yaml",
            "protocol: final-digit",
            "protocol: last-digit",
            "protocol",
            "final-digit",
        ),
        ("papers/palindromes.yaml", "like: rnn", "like: rnm", "like", "did you mean 'rnn'"),
        ("papers/palindromes.yaml", "like: rnn", "like: [rnn]", "like", "no family '['rnn']'; "),
        ("papers/palindromes.yaml", "like: rnn", "like: {}", "like", "no family '{}'; known are "),
        (
            "papers/palindromes.yaml",
            "assumption weight-law",
            "assumption law",
            "weight_law.from",
            "weight-law",
        ),
        (
            "papers/palindromes.yaml",
            'from: "author\'s code"',
            "from: hearsay",
            "hidden_size.from",
            "begin with 'paper …'",
        ),
        ("papers/palindromes.yaml", "replicas: 3", "replicas: 0", "tiers.quick.replicas", "greater"),
        (
            "papers/palindromes.yaml",
            "replicas: 3",
            "replicas: 3, epochs: 1",
            "tiers.quick.epochs",
            "no setting",
        ),
        (
            "papers/palindromes.yaml",
            "cited_by: [figure-1,",
            "cited_by: [figure-7,",
            "cited_by",
            "did you mean",
        ),
        ("papers/palindromes.yaml", "name: lstm-parameter-count", "name: count", "check.name", "known are"),
        (
            "papers/palindromes.yaml",
            "checks: [u13",
            "checks: [u31",
            "claims.U13.checks",
            "u13-parameter-formula",
        ),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_remedy(clone, file, old, new, key, remedy):
    edit(clone, file, old, new)
    with pytest.raises(UserError) as caught:
        resolve_tier(load_project(clone))
    message = str(caught.value)
    assert "\n" not in message
    assert file in message
    assert key in message
    assert remedy in message


def test_a_mistake_in_a_family_is_reported_there(clone):
    edit(clone, "papers/palindromes.yaml", "hidden_size: {value: 128,", "hidden_size: {vallue: 128,")
    with pytest.raises(UserError, match=r"key families\.rnn\.model\.hidden_size\.vallue: .* did you mean 'value'"):
        load_project(clone)


def test_a_changed_hyperparameter_changes_that_experiment_alone(clone):
    before = hashes(clone)
    edit(clone, "papers/palindromes.yaml", "steps: {value: 226", "steps: {value: 227")
    after = hashes(clone)
    changed = {e for e in before if before[e] != after[e]}
    assert {e.split("@")[0] for e in changed} == {"palindromes/rnn-t10"}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.yaml", "engine: auto", "engine: reference"),
        ("config.yaml", "device: auto", "device: cpu"),
        ("config.yaml", "runtime: 1440", "runtime: 7"),
        ("papers/palindromes.yaml", "title: RNN, T = 10", "title: a vanilla network"),
        ("papers/palindromes.yaml", "value: 90, from", "value: 95, from"),
        ("papers/palindromes.yaml", "paper: {replicas: 10}", "paper: {replicas: 11}"),
        ("papers/palindromes.yaml", 'from: "author\'s code"', "from: paper §2"),
    ],
)
def test_what_does_not_decide_the_numbers_is_not_hashed(clone, file, old, new):
    before = hashes(clone)
    edit(clone, file, old, new)
    assert hashes(clone) == before


def test_raw_checksums_decide(clone):
    before = {e.id: e for e in resolve_tier(load_project(clone), "paper")}
    edit(clone, "config.yaml", "digest: fcea", "digest: aaaa")
    changed = {e for e, h in hashes(clone).items() if before[e].config_hash != h}
    assert changed == {id for id, e in before.items() if e.config.get("data", {}).get("dataset") == "ptb"}


def test_the_hash_is_over_canonical_json():
    # printf of this text, piped to sha256sum: {"a":1,"b":[1.5,"x"]}
    assert hash_of({"b": [1.5, "x"], "a": 1}) == "253252306831"
    with pytest.raises(ValueError, match="JSON"):
        hash_of({"a": float("nan")})


def test_variants_are_experiments_of_their_own(clone):
    old = "        tiers: {paper: {replicas: 20}}\n"
    edit(clone, "papers/palindromes.yaml", old, old.replace("paper", "reduced"))
    variant = next(e for e in resolve_tier(load_project(clone), "reduced") if e.base == "rnn-t10")
    assert variant.id == "palindromes/rnn-t10@weight-law=corrected"
    assert variant.config["model"]["options"]["weight_law"] == "fan-in-truncated-normal-corrected"
    assert variant.origins["model.weight_law"] == "assumption weight-law"
    assert variant.config_hash != hashes(clone)["palindromes/rnn-t10"]


def test_a_setting_replaces_as_a_whole():
    base = {"model": {"size": {"value": 1, "from": "paper"}, "name": "a"}}
    over = {"model": {"size": {"value": 2}}}
    assert merge(base, over) == {"model": {"size": {"value": 2}, "name": "a"}}


def test_resolved_files_round_trip_and_are_checked(tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 2, {"x": 1}, {}, None)
    path = tmp_path / "e.json"
    path.write_text(resolved.to_json(), encoding="utf-8")
    assert read_resolved(path) == resolved
    assert resolved.record_paths()[1] == f"results/quick/runs/p/e/1-{resolved.config_hash}.json"
    path.write_text(resolved.to_json().replace('"x": 1', '"x": 2'), encoding="utf-8")
    with pytest.raises(UserError, match="config_hash"):
        read_resolved(path)
    for text in ("{}", "[" * 200_000, resolved.to_json().replace('"x": 1', '"x": NaN')):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match="not a resolved configuration"):
            read_resolved(path)
    # What cannot be read is not called damaged.
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        read_resolved(tmp_path / "folder")


@pytest.mark.parametrize(
    "command",
    [
        ["prepare", "rrntn/gru-650"],
        ["train", "rrntn/gru-650", "--replica", "0"],
        ["run", "--experiment", "rrntn/gru-650"],
        ["estimate", "rrntn/gru-650"],
    ],
    ids=lambda command: command[0],
)
def test_an_experiment_of_another_tier_is_looked_for_there(command, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main([*command, "--tier", "quick"]) == EXIT_USAGE
    assert "'rrntn/gru-650' is not in the tier quick; write --tier paper\n" in capsys.readouterr().err


def test_a_paper_of_another_tier_is_looked_for_there(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["estimate", "books", "--tier", "reduced"]) == EXIT_USAGE
    assert "'books' is not in the tier reduced; write --tier quick or --tier paper\n" in capsys.readouterr().err
