"""Every kind of bad input: the exit status, and one line that names the file and the key.

One row a kind. What a module refuses in more ways is tested with that module.
"""

import os
import shutil
from pathlib import Path

import pytest
from verify_helpers import resolved, verify

from reprise import cli
from reprise.records.record import compute_result_digest, read_record, write_record

CONFIG = "config/config.yaml"
CLAIMS = "results/quick/claims.json"
RNN = "digits/rnn-t5"
RECORD = f"results/quick/runs/{RNN}/0-*.json"
TRAIN = f"train {RNN} --tier quick --replica"
TRAIN_WORDS = "train words/s-rnn-4 --tier quick --replica 0"
RESOLVED = "results/quick/config/digits/rnn-t5.json"
TRAIN_RESOLVED = f"{TRAIN} 0 --config {RESOLVED}"
RENDER = "render --tier quick digits-convergence"


def place(pattern):
    """The file that is meant; by its pattern, if it is there."""
    return next(Path().glob(pattern), Path(pattern))


def removed(path):
    return lambda: shutil.rmtree(place(path)) if place(path).is_dir() else place(path).unlink()


def folder(path):
    return lambda: Path(path).mkdir(parents=True)


def linked(path):
    def change():
        old = place(path)
        removed(path)()
        old.symlink_to("/nowhere/file")

    return change


def written(path, text):
    def change():
        place(path).parent.mkdir(parents=True, exist_ok=True)
        place(path).write_text(text, encoding="utf-8")

    return change


def replaced(path, old, new):
    def change():
        text = Path(path).read_text(encoding="utf-8")
        assert old in text
        Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def change_record(digest=True, **changes):
    """The record of replica 0 with other content; with its digest where `digest` says so."""

    def change():
        record = {**read_record(place(RECORD)), **changes}
        write_record(place(RECORD), {**record, **({"result_sha256": compute_result_digest(record)} if digest else {})})

    return change


# kind: (the command, file or option, key or value, commands and changes that come before it)
KINDS = {
    "no clone": ("resolve", CONFIG, "no such file", removed(CONFIG)),
    "a folder for a paper": (
        *("resolve", "config/papers/digits.yaml", "not a regular file"),
        *(removed("config/papers/digits.yaml"), folder("config/papers/digits.yaml")),
    ),
    "no papers": ("resolve", CONFIG, "too few entries", replaced(CONFIG, "  - digits\n  - words\n", "  []\n")),
    "a replica that is no number": (f"{TRAIN} x", "--replica", "'x' is not a whole number"),
    "weights that nothing reads": (f"show {RNN} --tier quick --weights a", "--weights a", "--words"),
    "an unknown tier": ("resolve --tier quik", "--tier", "quik"),
    "an unknown command": ("resolv", "command", "resolv"),
    "an unknown experiment": ("train digits/rnn --replica 0", "tier paper", "digits/rnn"),
    "an unknown claim": ("show digits/D11 --tier quick", "tier quick", "digits/D11"),
    "a paper to show": ("show digits --tier quick", "'digits'", "`reprise list digits`"),
    "an unknown paper": ("list digit", CONFIG, "digit"),
    "readings of an unknown paper": ("readings digts --tier quick", CONFIG, "no paper 'digts'"),
    "an unknown dataset": ("fetch ptbb", CONFIG, "key datasets"),
    "an unknown display": (f"{RENDER} digits-curve", "digits-curve", "digits-curves", "collect --tier quick"),
    "a display beside README": (f"{RENDER} --readme", "--readme", "alone", "collect --tier quick"),
    "a report beside README": ("render --tier quick --readme --report", "--readme", "alone", "collect --tier quick"),
    "an unknown engine": (f"{TRAIN} 0 --engine fast --output again.json", "engine", "fast"),
    "a record under another ending": (f"{TRAIN} 0 --output again.safetensors", "--output again.safetensors", ".json"),
    "weights in the place of new ones": (
        *(f"{TRAIN} 0 --weights all --output again.json", "again.safetensors", "--output"),
        written("again.safetensors", "mine"),
    ),
    "a record beside a text": (f"evaluate {RNN} --tier quick --text a --record b.json", "--record", "--text"),
    "no weights": ("sample words/s-rnn-4 --tier quick", "s-rnn-4", "no such file"),
    "an unknown engine to run": ("run --tier quick --engine fusd", "--engine fusd", "did you mean 'fused'"),
    "a replica below 0": (f"{TRAIN} -1", "--replica", "-1"),
    "no threads": (f"{TRAIN} 0 --threads 0", "--threads", "0"),
    "too many threads": (f"{TRAIN} 0 --threads 1025", "--threads", "1025"),
    "no cores": ("estimate --tier quick --cores 0", "--cores", "0"),
    "no minutes": ("run --tier quick --minutes 0", "--minutes", "0"),
    "no GPU": ("run --tier quick --device cuda", "--device cuda", "no GPU is visible"),
    "another paper to run": ("run --tier quick --paper nobody", "'nobody'", "known are digits, words"),
    "another experiment to run": ("run --tier quick --experiment digits/rnn-t4", "rnn-t4", f"mean '{RNN}'?"),
    "another paper's experiment": (f"run --tier quick --paper words --experiment {RNN}", RNN, "not of --paper words"),
    "a tier without experiments": ("run --tier reduced", CONFIG, "write --tier quick or --tier paper"),
    "nothing to run": ("run --tier quick", "results/quick/config", "from the root", removed("config")),
    "nothing resolved": ("run --tier quick --resolved", "results/quick/config", "where pydantic is"),
    "no papers in an unchecked file": (
        *("run --tier quick --resolved", CONFIG, "key papers"),
        *("resolve --tier quick", written(CONFIG, "papers:\n")),
    ),
    "a list for an unchecked file": (
        *("run --tier quick --resolved", CONFIG, "key papers"),
        *("resolve --tier quick", written(CONFIG, "- papers\n")),
    ),
    "no experiments in an unchecked file": (
        *("run --tier quick --resolved", "config/papers/digits.yaml", "key experiments"),
        *("resolve --tier quick", written("config/papers/digits.yaml", "experiments:\n")),
    ),
    "no corpus": (TRAIN_WORDS, "data/corpora/synthetic-", "s-rnn-4"),
    "a damaged corpus": (
        *(TRAIN_WORDS, "data/corpora/synthetic-", "corpus"),
        lambda: written(resolved()["words/s-rnn-4"].corpus, "PK")(),  # noqa: PLW0108
    ),
    "a mirror that is no folder": (
        *("fetch synthetic", "REPRISE_MIRROR", "/nowhere"),
        lambda: os.environ.__setitem__("REPRISE_MIRROR", "/nowhere"),
    ),
    "a configuration cut short": (TRAIN_RESOLVED, RESOLVED, "not a resolved configuration", written(RESOLVED, "{")),
    "a configuration altered": (
        *(TRAIN_RESOLVED, RESOLVED, "key config_hash"),
        *("resolve --tier quick", replaced(RESOLVED, '"steps": 30', '"steps": 31')),
    ),
    "another configuration than planned": (f"{TRAIN} 0 --hash {'0' * 12}", "config/", "0" * 12),
    "a record cut short": (f"{TRAIN} 0", "0-", "not a whole run record", written(RECORD, "{")),
    "a link for a record": (f"{TRAIN} 0", "0-", "leads nowhere (to /nowhere/file)", linked(RECORD)),
    "a record altered": (f"show {RNN} --tier quick", "0-", "key result_sha256", change_record(False, seed=7)),
    "a record of other settings": ("collect --tier quick", "0-", "key config_hash", change_record(config={})),
    "a record of another experiment": (
        "collect --tier quick",
        "0-",
        "the record is of",
        change_record(experiment="lstm-t5"),
    ),
    "a record of another shape": (f"show {RNN} --tier quick", "0-", "key metrics", change_record(metrics=[{}])),
    "a record under another's name": ("collect --tier quick", "0-", "key replica", change_record(replica=1)),
    "a record to train under another's name": (f"{TRAIN} 0", "0-", "key replica", change_record(replica=1)),
    "no such record": ("diff a.json b.json", "a.json", "no such record"),
    "another file than a record": ("diff config/config.yaml a.json", "config/config.yaml", "; name a run record"),
    "a folder in place of a record": ("diff config config", "first config", "name a file"),
    "a folder in place of weights": (f"evaluate {RNN} --weights config", "--weights config", "name a file"),
    "a dead link for metrics": (
        *("collect --tier quick", "results/quick/metrics.csv", "leads nowhere"),
        lambda: Path("results/quick/metrics.csv").symlink_to("/nowhere/file"),
    ),
    "a folder for claims": (RENDER, CLAIMS, "a file is wanted", folder(CLAIMS)),
    "claims altered": ("verify --tier quick --check", CLAIMS, "digits/D1", verify, replaced(CLAIMS, "D1", "D9")),
    "no file of claims": ("list --tier quick", CLAIMS, "verify", written(CLAIMS, "[1]")),
    "a file where a folder is wanted": (
        *(RENDER, "results/quick/tables", "folder"),
        *("collect --tier quick", written("results/quick/tables", "")),
    ),
    "a file for the results": (
        *("resolve --tier quick", "results is no folder", "move it away, or name another place"),
        *(removed("results"), written("results", "")),
    ),
    "a link for the results": ("resolve --tier quick", "the link results", "leads nowhere", linked("results")),
    "a folder for metrics": (
        *("collect --tier quick", "results/quick/metrics.csv", "a file is wanted; move it away, or name another"),
        folder("results/quick/metrics.csv"),
    ),
    "no cache": ("cache nowhere", "nowhere", "files/md5"),
    "no lock": ("cache c", "dvc.lock", "no such file", folder("c/files/md5")),
    "a lock cut short": (
        *("cache c", "dvc.lock", "git checkout dvc.lock"),
        *(folder("c/files/md5"), written("dvc.lock", "schema: '2.0'\n")),
    ),
    "a lock cut in a line": (
        *("cache c", "dvc.lock", "git checkout dvc.lock"),
        *(folder("c/files/md5"), written("dvc.lock", "schema: '2.0'\nstages:\n  a:\n    cmd")),
    ),
}
FAIL = {"claims altered", "a file where a folder is wanted", "a file for the results"}
FAIL |= {"a folder for metrics", "a folder for claims"}


def list_outputs():
    return sorted(path for folder in ("results", "data") for path in Path(folder).rglob("*"))


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_one_line_with_file_and_key_also_with_quiet(kind, clone, monkeypatch, capsys):
    command, file, key, *before = KINDS[kind]
    # Given back when the test ends, whatever it was set to.
    monkeypatch.setenv("REPRISE_MIRROR", "")
    monkeypatch.setattr("reprise.cli.run.count_visible_gpus", lambda: 0)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for step in before:
        step() if callable(step) else cli.main(step.split())
    paths = list_outputs()
    capsys.readouterr()
    assert cli.main([*command.split(), "--quiet"]) == (1 if kind in FAIL else 2)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("reprise: ")
    assert file in lines[0]
    assert key in lines[0]
    assert list_outputs() == paths
