"""What the system refuses is told before the work, or in a line that says what to do; Ctrl-C is one line too."""

import os
import runpy
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from verify_helpers import resolved

from reprise import cli
from reprise.errors import EXIT_INTERRUPTED, EXIT_SIGNAL, EXIT_USAGE
from reprise.training import jobs

TRAIN = "train digits/count --tier quick --replica 0"


@pytest.fixture
def places(clone):
    Path("folder").mkdir()
    Path("file").touch()
    Path("link").symlink_to("/nowhere/file")
    return clone


@pytest.mark.parametrize("place", ["folder", "nowhere/", "", "/dev/null", "file/x", "/proc/x", "link", "link/x"])
@pytest.mark.parametrize("command", [f"{TRAIN} --output", "prepare digits/lstm-t5 --output"])
def test_a_place_that_can_hold_no_output_is_refused_before_the_work(command, place, places, capsys, monkeypatch):
    monkeypatch.setattr(jobs, "run_jobs", pytest.fail)
    before = sorted(places.rglob("*"))
    assert cli.main([*command.split(), place]) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    wrong, remedy = line.split("; ")
    assert f" {place or repr(place)}: " in wrong
    assert remedy.startswith(("name ", "mount "))
    assert sorted(places.rglob("*")) == before


def test_a_folder_in_the_place_of_a_corpus_is_told_before_the_work(clone, capsys, monkeypatch):
    monkeypatch.setattr("reprise.data.prepare_corpus", pytest.fail)
    experiment = resolved()["digits/lstm-t5"]
    corpus = "data/corpora/digits.npz"
    loaded = None, [replace(experiment, corpus=corpus)]
    monkeypatch.setattr("reprise.cli.steps.load_tier", lambda *_: loaded)
    refusals = (corpus, "is not a regular file; move it away, or name another"), ("data", f"{clone}/data is no ")
    for place, message in refusals:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).mkdir() if place == corpus else Path(place).touch()
        assert cli.main(["prepare", experiment.id]) == EXIT_USAGE
        assert capsys.readouterr().err.startswith(f"reprise: error: {corpus}: {message}")
        shutil.rmtree("data", ignore_errors=True)


def interrupted(*_):
    raise KeyboardInterrupt


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    """Also while the commands are imported."""
    monkeypatch.setattr("reprise.cli.steps.resolve_command", interrupted)
    assert cli.main(["resolve"]) == EXIT_SIGNAL + signal.SIGINT
    line = "reprise: stopped by SIGINT; every file is whole, and the same command can be run again\n"
    assert capsys.readouterr().err == line
    monkeypatch.setattr(cli, "main", interrupted)
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("reprise", run_name="__main__")
    assert caught.value.code == EXIT_SIGNAL + signal.SIGINT
    assert capsys.readouterr().err == "reprise: stopped\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["resolve", TRAIN])
def test_a_signal_that_becomes_another_error_is_one_line(number, command, monkeypatch, capsys):
    """As Python makes a RuntimeError of one that comes while a class is made."""
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def work(_):
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt as error:
            raise RuntimeError("a class could not be made") from error

    module = "train" if command == TRAIN else "steps"
    monkeypatch.setattr(f"reprise.cli.{module}.{command.split()[0]}_command", work)
    assert cli.main(command.split()) == (EXIT_INTERRUPTED if command == TRAIN else EXIT_SIGNAL + number)
    line = f"reprise: stopped by {number.name}; every file is whole, and the same command can be run again\n"
    assert capsys.readouterr().err == line
    signal.signal(number, before)
