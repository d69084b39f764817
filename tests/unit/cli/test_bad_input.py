"""Every kind of bad input: the exit status, and one line that names the file and the key.

One row a kind. What a module refuses in more ways is tested with that module.
"""

import os
import shutil
from pathlib import Path

import pytest
from verify_helpers import new_clone, resolved, verify

from reprise import cli
from reprise.records.record import read_record, result_digest, write_record

CONFIG = "config/config.yaml"
CLAIMS = "results/quick/claims.json"
RNN = "digits/rnn-t5"
TRAIN = f"train {RNN} --tier quick --replica"
RESOLVED = "results/quick/config/digits/rnn-t5.json"
TRAIN_RESOLVED = f"{TRAIN} 0 --config {RESOLVED}"


def replaced(path, old, new):
    def change():
        text = Path(path).read_text(encoding="utf-8")
        assert old in text
        Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def written(path, text):
    def change():
        place = Path(path() if callable(path) else path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    return change


def linked(path):
    def change():
        place = Path(path() if callable(path) else path)
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        place.symlink_to("/nowhere/file")

    return change


def record():
    return resolved()[RNN].record_path(0)


def altered(digest=True, **changes):
    """The record of replica 0 with other content; with its digest where `digest` says so."""

    def change():
        found = {**read_record(Path(record())), **changes}
        write_record(Path(record()), {**found, **({"result_sha256": result_digest(found)} if digest else {})})

    return change


def after(command, change):
    return lambda: (cli.main(command.split()), change())


def nothing():
    pass


# kind: (what is wrong, the command, file or option, key or value)
KINDS = {
    "no clone": (lambda: Path(CONFIG).unlink(), "resolve", CONFIG, "no such file"),
    "an unknown tier": (nothing, "resolve --tier quik", "--tier", "quik"),
    "an unknown command": (nothing, "resolv", "command", "resolv"),
    "an unknown experiment": (nothing, "train digits/rnn --replica 0", "tier paper", "digits/rnn"),
    "an unknown claim": (nothing, "show digits/D11 --tier quick", "tier quick", "digits/D11"),
    "an unknown paper": (nothing, "list digit", CONFIG, "digit"),
    "an unknown dataset": (nothing, "fetch ptbb", CONFIG, "key datasets"),
    "an unknown display": (
        after("collect --tier quick", nothing),
        "render digits-curve --tier quick",
        "digits-curve",
        "digits-curves",
    ),
    "an unknown benchmark": (nothing, "bench rnt", "no benchmark 'rnt'", "did you mean 'rntn'?"),
    "no benchmark": (nothing, "bench", "no benchmark ''", "known are"),
    "a benchmark by its earlier name": (nothing, "bench rrntn-gated", "rrntn-gated", "it is called gated"),
    "a benchmark of nothing": (nothing, "bench rntn --only k7", "--only k7", "ptb-h100-k1/fused is one"),
    "no time for a benchmark": (nothing, "bench rntn --budget 0", "--budget", "0"),
    "no results of a benchmark": (nothing, "bench --table", "results/bench/rntn.json", "is missing; run"),
    "an unknown engine": (nothing, f"{TRAIN} 0 --engine fast --output again.json", "engine", "fast"),
    "a replica below 0": (nothing, f"{TRAIN} -1", "--replica", "-1"),
    "no threads": (nothing, f"{TRAIN} 0 --threads 0", "--threads", "0"),
    "too many threads": (nothing, f"{TRAIN} 0 --threads 1025", "--threads", "1025"),
    "no cores": (nothing, "estimate --tier quick --cores 0", "--cores", "0"),
    "no minutes": (nothing, "run --tier quick --minutes 0", "--minutes", "0"),
    "no GPU": (nothing, "run --tier quick --device cuda", "--device cuda", "no GPU is visible"),
    "another paper to run": (nothing, "run --tier quick --paper nobody", "'nobody'", "known are digits, words"),
    "another experiment to run": (nothing, "run --tier quick --experiment digits/rnn-t4", "rnn-t4", f"mean '{RNN}'?"),
    "an experiment of another paper": (
        nothing,
        f"run --tier quick --paper words --experiment {RNN}",
        f"--experiment {RNN}",
        "is not of --paper words",
    ),
    "a tier without experiments": (nothing, "run --tier reduced", CONFIG, "write --tier quick or --tier paper"),
    "nothing to run": (lambda: shutil.rmtree("config"), "run --tier quick", "results/quick/config", "from the root"),
    "nothing resolved": (nothing, "run --tier quick --resolved", "results/quick/config", "where pydantic is"),
    "no corpus": (nothing, "train words/s-rnn-4 --tier quick --replica 0", "data/corpora/synthetic-", "s-rnn-4"),
    "a damaged corpus": (
        written(lambda: resolved()["words/s-rnn-4"].corpus, "PK"),
        "train words/s-rnn-4 --tier quick --replica 0",
        "data/corpora/synthetic-",
        "corpus",
    ),
    "a mirror that is no folder": (
        lambda: os.environ.__setitem__("REPRISE_MIRROR", "/nowhere"),
        "fetch synthetic",
        "REPRISE_MIRROR",
        "/nowhere",
    ),
    "a configuration cut short": (written(RESOLVED, "{"), TRAIN_RESOLVED, RESOLVED, "not a resolved configuration"),
    "a configuration altered": (
        after("resolve --tier quick", replaced(RESOLVED, '"steps": 30', '"steps": 31')),
        TRAIN_RESOLVED,
        RESOLVED,
        "key config_hash",
    ),
    "another configuration than planned": (nothing, f"{TRAIN} 0 --hash {'0' * 12}", "config/", "0" * 12),
    "a record cut short": (written(record, "{"), f"{TRAIN} 0", "0-", "not a whole run record"),
    "a link for a record": (linked(record), f"{TRAIN} 0", "0-", "leads nowhere (to /nowhere/file)"),
    "a record altered": (altered(False, seed=7), f"show {RNN} --tier quick", "0-", "key result_sha256"),
    "a record of other settings": (altered(config={}), "collect --tier quick", "0-", "key config_hash"),
    "a record of another shape": (altered(metrics=[{}]), f"show {RNN} --tier quick", "0-", "key metrics"),
    "a record under another's name": (altered(replica=1), f"{TRAIN} 0", "0-", "key replica"),
    "no such record": (nothing, "diff a.json b.json", "a.json", "no such record"),
    "claims altered": (
        lambda: (verify(), replaced(CLAIMS, "D1", "D9")()),
        "verify --tier quick --check",
        CLAIMS,
        "digits/D1",
    ),
    "no file of claims": (written(CLAIMS, "[1]"), "list --tier quick", CLAIMS, "verify"),
    "a file where a folder is wanted": (
        after("collect --tier quick", written("results/quick/tables", "")),
        "render digits-convergence --tier quick",
        "results/quick/tables",
        "folder",
    ),
    "a file for the results": (
        lambda: (shutil.rmtree("results"), Path("results").touch()),
        "resolve --tier quick",
        "results is no folder",
        "move it away, or name another place",
    ),
    "a link for the results": (linked("results"), "resolve --tier quick", "the link results", "leads nowhere"),
    "a folder for metrics": (
        lambda: Path("results/quick/metrics.csv").mkdir(),
        "collect --tier quick",
        "results/quick/metrics.csv",
        "a file is wanted; move it away, or name another place",
    ),
    "no cache": (nothing, "cache nowhere", "nowhere", "files/md5"),
    "no lock": (lambda: Path("c/files/md5").mkdir(parents=True), "cache c", "dvc.lock", "no such file"),
    "a lock cut short": (
        lambda: (Path("c/files/md5").mkdir(parents=True), written("dvc.lock", "schema: '2.0'\n")()),
        "cache c",
        "dvc.lock",
        "git checkout dvc.lock",
    ),
}
FAIL = {"claims altered", "a file where a folder is wanted", "a file for the results", "a link for the results"}
FAIL.add("a folder for metrics")


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_one_line_with_file_and_key_also_with_quiet(kind, tmp_path, monkeypatch, capsys):
    wrong, command, file, key = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    # Given back when the test ends, whatever it was set to.
    monkeypatch.setenv("REPRISE_MIRROR", "")
    monkeypatch.setattr("reprise.cli.run.visible_gpus", lambda: 0)
    new_clone(tmp_path)
    wrong()
    before = sorted(Path("results").rglob("*.json"))
    capsys.readouterr()
    try:
        found = cli.main([*command.split(), "--quiet"])
    except SystemExit as error:  # argparse's own, after its usage
        found = error.code
    lines = capsys.readouterr().err.splitlines()
    assert found == (1 if kind in FAIL else 2), lines
    said = [line for line in lines if line.startswith("reprise") and ": " in line]
    assert len(said) == 1, lines
    assert file in said[0]
    assert key in said[0]
    assert sorted(Path("results").rglob("*.json")) == before
