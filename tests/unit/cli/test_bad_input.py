"""Every kind of bad input: the exit status, and one line that names the file and the key.

One row a kind. What a module refuses in more ways is tested with that module.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from verify_helpers import new_clone, resolved, verify

from reprise import cli
from reprise.records.record import read_record, result_digest, write_record

DIGITS = "config/papers/digits.yaml"
CONFIG = "config/config.yaml"
RNN = "digits/rnn-t5"
TRAIN = ("train", RNN, "--tier", "quick", "--replica")
CORPUS = ("train", "words/s-rnn-4", "--tier", "quick", "--replica", "0")
RESOLVED = "results/quick/config/digits/rnn-t5.json"


def replaced(path, old, new):
    def change():
        text = Path(path).read_text(encoding="utf-8")
        assert old in text
        Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def written(path, text):
    def change():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")

    return change


def removed(path):
    return lambda: Path(path).unlink()


def record(replica=0):
    return resolved()[RNN].record_path(replica)


def altered(digest=True, **changes):
    """The record of replica 0 with other content; with its digest where `digest` says so."""

    def change():
        found = {**read_record(Path(record())), **changes}
        write_record(Path(record()), {**found, **({"result_sha256": result_digest(found)} if digest else {})})

    return change


def resolved_file(change):
    def act():
        assert cli.main(["resolve", "--tier", "quick", "--quiet"]) == 0
        change()

    return act


def nothing():
    pass


def variable(name, value):
    return lambda: os.environ.__setitem__(name, value)


# kind: (what is wrong, the command, exit status, file or option, key or value)
KINDS = {
    "no clone": (removed(CONFIG), ("resolve",), 2, CONFIG, "no such file"),
    "no YAML": (written(CONFIG, "tier: [\n"), ("resolve",), 2, f"{CONFIG}:2", "YAML"),
    "a key twice": (replaced(CONFIG, "engine: auto", "engine: auto\nengine: auto"), ("resolve",), 2, CONFIG, "engine"),
    "an unknown key": (replaced(DIGITS, "\nfamilies:", "\nfamilys:"), ("resolve",), 2, DIGITS, "key familys"),
    "a wrong type": (
        replaced(DIGITS, "steps: {value: 30", "steps: {value: many"),
        ("resolve",),
        2,
        DIGITS,
        "key families.small.training.steps",
    ),
    "a value out of bounds": (
        replaced(DIGITS, "quick: {replicas: 2}", "quick: {replicas: 0}"),
        ("resolve",),
        2,
        DIGITS,
        "key experiments.rnn-t5.tiers.quick.replicas",
    ),
    "a setting without its source": (
        replaced(DIGITS, "length: {value: 5, from: paper §1}", "length: {value: 5}"),
        ("resolve",),
        2,
        DIGITS,
        "key families.small.data.length.from",
    ),
    "an unknown model": (
        replaced(DIGITS, "name: elman", "name: elmann"),
        ("resolve",),
        2,
        DIGITS,
        "key families.small.model.name",
    ),
    "an unknown function of a table": (
        replaced(DIGITS, "palindromes.convergence", "palindromes.convergense"),
        ("resolve",),
        2,
        DIGITS,
        "key tables.convergence.function",
    ),
    "an unknown experiment of a claim": (
        replaced(DIGITS, "lower: rnn-t5", "lower: rnn-t6"),
        ("resolve",),
        2,
        DIGITS,
        "key claims.D1.compare.lower",
    ),
    "a paper without a file": (replaced(CONFIG, "- digits", "- digitz"), ("resolve",), 2, CONFIG, "key papers"),
    "an unknown tier": (nothing, ("resolve", "--tier", "quik"), 2, "--tier", "quik"),
    "an unknown command": (nothing, ("resolv",), 2, "command", "resolv"),
    "an unknown experiment": (nothing, ("train", "digits/rnn", "--replica", "0"), 2, "tier paper", "digits/rnn"),
    "an unknown claim": (nothing, ("show", "digits/D11", "--tier", "quick"), 2, "tier quick", "digits/D11"),
    "an unknown paper": (nothing, ("list", "digit"), 2, CONFIG, "digit"),
    "an unknown dataset": (nothing, ("fetch", "ptbb"), 2, CONFIG, "key datasets"),
    "an unknown display": (nothing, ("render", "digits-curve", "--tier", "quick"), 2, "digits-curve", "digits-curves"),
    "an unknown benchmark": (nothing, ("bench", "rrntm"), 2, "benchmark", "rrntm"),
    "an unknown engine": (nothing, (*TRAIN, "0", "--engine", "fast", "--output", "again.json"), 2, "engine", "fast"),
    "a replica below 0": (nothing, (*TRAIN, "-1"), 2, "--replica", "-1"),
    "no threads": (nothing, (*TRAIN, "0", "--threads", "0"), 2, "--threads", "0"),
    "no cores": (nothing, ("estimate", "--tier", "quick", "--cores", "0"), 2, "--cores", "0"),
    "no minutes": (nothing, ("run", "--tier", "quick", "--minutes", "0"), 2, "--minutes", "0"),
    "a folder for a file": (nothing, (*TRAIN, "0", "--output", "config"), 2, "--output", "config"),
    "no corpus": (nothing, CORPUS, 2, "data/corpora/synthetic-", "words/s-rnn-4"),
    "a damaged corpus": (
        lambda: written(resolved()["words/s-rnn-4"].corpus, "PK")(),
        CORPUS,
        2,
        "data/corpora/synthetic-",
        "corpus",
    ),
    "a mirror that is no folder": (
        variable("REPRISE_MIRROR", "/nowhere"),
        ("fetch", "synthetic"),
        2,
        "REPRISE_MIRROR",
        "/nowhere",
    ),
    "a configuration cut short": (
        resolved_file(written(RESOLVED, "{")),
        (*TRAIN, "0", "--config", RESOLVED),
        2,
        RESOLVED,
        "not a resolved configuration",
    ),
    "a configuration altered": (
        resolved_file(replaced(RESOLVED, '"steps": 30', '"steps": 31')),
        (*TRAIN, "0", "--config", RESOLVED),
        2,
        RESOLVED,
        "key config_hash",
    ),
    "another configuration than planned": (nothing, (*TRAIN, "0", "--hash", "0" * 12), 2, "config/", "0" * 12),
    "a record cut short": (lambda: written(record(), "{")(), ("show", RNN, "--tier", "quick"), 2, "0-", "whole"),
    "a record altered": (altered(False, seed=7), ("show", RNN, "--tier", "quick"), 2, "0-", "key result_sha256"),
    "a record of another shape": (altered(metrics=[{}]), ("show", RNN, "--tier", "quick"), 2, "0-", "key metrics"),
    "a record under another's name": (altered(replica=1), ("collect", "--tier", "quick"), 2, "0-", "key replica"),
    "no such record": (nothing, ("diff", "a.json", "b.json"), 2, "a.json", "no such record"),
    "claims altered": (
        lambda: (verify(), replaced("results/quick/claims.json", "D1", "D9")()),
        ("verify", "--tier", "quick", "--check"),
        1,
        "results/quick/claims.json",
        "digits/D1",
    ),
    "no file of claims": (
        written("results/quick/claims.json", "[1]"),
        ("list", "--tier", "quick"),
        2,
        "results/quick/claims.json",
        "verify",
    ),
    "a file where a folder is wanted": (
        written("results/quick/tables", ""),
        ("render", "digits-convergence", "--tier", "quick"),
        1,
        "results/quick/tables",
        "folder",
    ),
    "no cache": (nothing, ("cache", "nowhere"), 2, "nowhere", "files/md5"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_one_line_with_file_and_key(kind, tmp_path, monkeypatch, capsys):
    wrong, command, status, file, key = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REPRISE_MIRROR", raising=False)
    # Given back when the test ends, whatever it was set to.
    monkeypatch.setenv("REPRISE_MIRROR", "")
    new_clone(tmp_path)
    if command[0] == "render":
        assert cli.main(["collect", "--tier", "quick"]) == 0
    wrong()
    before = sorted(Path("results").rglob("*.json"))
    capsys.readouterr()
    try:
        found = cli.main(command)
    except SystemExit as error:  # argparse's own, after its usage
        found = error.code
    lines = capsys.readouterr().err.splitlines()
    assert found == status, lines
    said = [line for line in lines if line.startswith("reprise") and ": " in line]
    assert len(said) == 1, lines
    assert file in said[0]
    assert key in said[0]
    assert sorted(Path("results").rglob("*.json")) == before
