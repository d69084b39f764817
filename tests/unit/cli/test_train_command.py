"""What `reprise train` says: where the record is, and what becomes of it."""

import errno
import json
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from experiment_helpers import SENTENCES, WINDOWS, experiment, make_corpus

from reprise.cli import main
from reprise.errors import EXIT_FAILED, EXIT_USAGE, UserError, report_memory
from reprise.records.resolved import Resolved

CHECK = {"check": "lstm-parameter-count", "tolerance": 0.0}


@pytest.fixture
def resolved(tmp_path, monkeypatch):
    """A check, which takes no time, as the tier quick has it; two replicas."""
    monkeypatch.chdir(tmp_path)
    one = Resolved("digits", "count", "quick", "The parameter formula", 2, CHECK, {}, None)
    Path("resolved.json").write_text(one.to_json(), encoding="utf-8")
    return one


def train(replica, *more):
    return main(["train", "digits/count", "--config", "resolved.json", "--replica", str(replica), *more])


def test_the_record_is_named_and_not_made_twice(resolved, capsys):
    record = resolved.record_path(0)
    assert train(0, "--hash", resolved.config_hash) == 0
    assert capsys.readouterr().out == f"{record}: done\n"
    made = Path(record).read_bytes()
    assert train(0) == 0
    assert capsys.readouterr().out == f"{record}: already there; nothing to train (--output FILE trains it again)\n"
    assert Path(record).read_bytes() == made
    assert train(0, "--output", "again.json") == 0
    assert capsys.readouterr().out == "again.json: done\n"
    assert json.loads(Path("again.json").read_text(encoding="utf-8"))["replica"] == 0


@pytest.mark.parametrize("why", [errno.EIO, errno.EACCES])
def test_a_record_that_cannot_be_read_is_not_called_damaged(why, resolved, capsys, monkeypatch):
    assert train(0) == 0
    path = Path(resolved.record_path(0))
    capsys.readouterr()

    def closed(self):
        # Opening names the file, reading from a disk that fails does not.
        raise OSError(why, os.strerror(why), *([str(self)] if why == errno.EACCES else []))

    monkeypatch.setattr(Path, "read_bytes", closed)
    assert train(0) == EXIT_FAILED
    remedy = "make room or fix the access, then run it again"
    assert capsys.readouterr().err == f"reprise: error: {path}: {os.strerror(why)}; {remedy}\n"


def test_a_replica_that_the_tier_has_not_is_told(resolved, capsys):
    for replica, note in ((1, ""), (7, "note: the tier quick has replicas 0 to 1; this record is not collected\n")):
        assert train(replica) == 0
        said = capsys.readouterr()
        assert (said.out, said.err) == (f"{resolved.record_path(replica)}: done\n", note)


@pytest.mark.parametrize("base", [SENTENCES, WINDOWS], ids=["r-rntn", "gru-lm"])
@pytest.mark.parametrize(
    ("options", "engine", "says"),
    [
        ({"matrices": 41}, "auto", "matrices must be in 1 .. 40, the vocabulary, not 41"),
        ({"matrices": 41}, "reference", "matrices must be in 1 .. 40, the vocabulary, not 41"),
        ({"hidden_size": 2**31 - 1}, "auto", "needs more memory than there is, with hidden 2147483647"),
        ({"hidden_size": 77}, MemoryError, "needs more memory than there is; make hidden_size (77) or "),
    ],
)
def test_what_a_model_cannot_be_is_one_line_and_leaves_no_record(
    base, options, engine, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    one = experiment("wide", base, make_corpus(tmp_path).relative_to(tmp_path), **options)
    Path("resolved.json").write_text(one.to_json(), encoding="utf-8")
    if engine is MemoryError:
        monkeypatch.setattr("reprise.training.loop.build_training", Mock(side_effect=engine))
    named = f"model {base['model']['name']}: " if isinstance(engine, str) else ""
    command = ["train", "p/wide", "--config", "resolved.json", "--replica", "0", "--device", "cpu"]
    assert main([*command, "--engine", engine if isinstance(engine, str) else "auto"]) == EXIT_USAGE
    err = capsys.readouterr().err
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("reprise: error: ")
    assert f"p/wide: {named}{says}" in last
    assert last.endswith("in config/papers/p.yaml")
    assert not Path(one.record_path(0)).exists()


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("CUDA out of memory. Tried"), ValueError("array is too big")]
)
def test_memory_that_does_not_suffice_is_told_with_a_remedy(error):
    says = "^it: needs more memory than there is; make it smaller$"
    with pytest.raises(UserError, match=says), report_memory("it", "make it smaller"):
        raise error
    with pytest.raises(ValueError, match="another"), report_memory("it", "make it smaller"):
        raise ValueError("another")
