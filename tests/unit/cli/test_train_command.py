"""What `reprise train` says: where the record is, and what becomes of it."""

import errno
import json
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from experiment_helpers import SENTENCES, WINDOWS, experiment, make_corpus
from verify_helpers import resolved

from reprise.cli import main
from reprise.errors import EXIT_FAILED, EXIT_USAGE, UserError, report_memory


def train(replica, *more):
    return main(["train", "digits/count", "--tier", "quick", "--replica", str(replica), *more])


def test_the_record_is_named_and_not_made_twice(clone, capsys):
    """A check, which takes no time."""
    one = resolved()["digits/count"]
    record = Path(one.get_record_path(0))
    record.unlink()
    assert train(0, "--hash", one.config_hash) == 0
    assert capsys.readouterr() == (f"{record}: done\n", "")
    made = record.read_bytes()
    assert train(0) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"{record}: already there")
    assert "--output FILE" in output
    assert record.read_bytes() == made
    assert train(0, "--trained", ".") == 0  # where it was trained is where it belongs
    assert capsys.readouterr().out.startswith(f"{record}: already there")
    assert record.read_bytes() == made
    assert train(0, "--output", "again.json") == 0
    assert capsys.readouterr().out == "again.json: done\n"
    assert json.loads(Path("again.json").read_text(encoding="utf-8"))["replica"] == 0
    assert train(0, "--output", "again.json") == 0
    assert "--output another FILE" in capsys.readouterr().out
    assert train(7) == 0
    note = "note: the tier quick has replica 0 alone; this record is not collected\n"
    assert capsys.readouterr() == (f"{one.get_record_path(7)}: done\n", note)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_record_that_cannot_be_read_is_not_called_damaged(number, clone, capsys, monkeypatch):
    path = Path(resolved()["digits/count"].get_record_path(0))
    # Opening names the file, reading from a disk that fails does not.
    closed = OSError(number, os.strerror(number), *([str(path)] if number == errno.EACCES else []))
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=closed))
    assert train(0) == EXIT_FAILED
    error = capsys.readouterr().err
    assert error.startswith(f"reprise: error: {path}: {os.strerror(number)}; ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("base", [SENTENCES, WINDOWS], ids=["r-rntn", "gru-lm"])
@pytest.mark.parametrize(
    ("options", "engine", "message"),
    [
        ({"matrices": 41}, "auto", "model {name}: matrices must be in 1 .. 40, the vocabulary, not 41"),
        ({"matrices": 41}, "reference", "model {name}: matrices must be in 1 .. 40, the vocabulary, not 41"),
        ({"hidden_size": 2**31 - 1}, "auto", "model {name}: needs more memory than there is, with hidden"),
        ({"hidden_size": 77}, "", "needs more memory than there is; make hidden_size (77) or "),
    ],
)
def test_what_a_model_cannot_be_is_one_line_without_a_record(
    base, options, engine, message, clone, monkeypatch, capsys
):
    one = experiment("wide", base, make_corpus(clone).relative_to(clone), **options)
    Path("resolved.json").write_text(one.to_json(), encoding="utf-8")
    if not engine:
        monkeypatch.setattr("reprise.training.jobs.build_training", Mock(side_effect=MemoryError))
    command = f"train p/wide --config resolved.json --replica 0 --device cpu --engine {engine or 'auto'}"
    assert main(command.split()) == EXIT_USAGE
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"reprise: error: p/wide: {message.format(**base['model'])}")
    assert last.endswith("in config/papers/p.yaml")
    assert not Path(one.get_record_path(0)).exists()


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("CUDA out of memory. Tried"), ValueError("array is too big"), ValueError("x")]
)
def test_memory_that_does_not_suffice_is_told_with_a_remedy(error):
    message = "^x$" if str(error) == "x" else "^it: needs more memory than there is; make it smaller$"
    with pytest.raises((UserError, ValueError), match=message), report_memory("it", "make it smaller"):
        raise error
