"""`reprise run`: what is missing, the most valuable first, within a time."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from experiment_helpers import SENTENCES, experiment, make_corpus, records, run, small, write

from reprise import cli
from reprise.cli import run as run_command
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, Interrupted
from reprise.evidence.collect import collect
from reprise.records.record import read_record
from reprise.records.resolved import Resolved
from reprise.training import timebox
from reprise.training.locks import replica_lock
from reprise.training.loop import Job
from reprise.training.protocols.palindromes import FinalDigit
from reprise.training.timebox import missing

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def log():
    return Path("out/logs/run/quick.log").read_text(encoding="utf-8")


@pytest.fixture
def place(corpus, tmp_path, monkeypatch):
    """A folder without config/: resolved configurations and a corpus, as on a machine that was lent for an hour."""
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "c.npz").write_bytes(corpus.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_gpu_replicas_train_one_by_one_and_leave_records_that_collect_takes(place):
    one, two = small("a", replicas=2), replace(small("b", matrices=5), engine="reference")
    write([one, two])
    assert run("--minutes", "5") == 0
    found = [read_record(Path("out") / path, which) for which in (one, two) for path in which.record_paths()]
    assert [record["status"] for record in found] == ["finished"] * 3
    assert found[2]["run"]["engine"] == "reference"
    assert collect([one, two], Path("out"), Path("collected")) == (3, 3)
    begun = [line.split(" ", 1)[1] for line in log().splitlines() if line.endswith("begins")]
    # The second replica of an experiment is worth less than the first of another.
    assert begun == ["p/a replica 0: begins", "p/b replica 0: begins", "p/a replica 1: begins"]
    assert run() == 0
    assert log().count("begins") == 3


def test_when_the_time_is_up_the_state_is_saved_and_the_next_run_goes_on(place, monkeypatch):
    from reprise.training.protocols.rntn import SubsequenceSGD

    one = small("a", max_epochs=3)
    write([one])
    monkeypatch.setattr(SubsequenceSGD, "at_once", 20)
    seconds = iter([100.0] * 6)
    monkeypatch.setattr(timebox.TimeBox, "left", lambda self: next(seconds, 0.0))
    assert run("--minutes", "1") == EXIT_INTERRUPTED
    assert records(one) == []
    assert list(Path("checkpoints").rglob("*.ckpt"))
    assert "stopped by the end of its time" in log()
    monkeypatch.setattr(timebox.TimeBox, "left", lambda self: 1e9)
    assert run() == 0
    assert read_record(Path("out") / one.record_path(0), one)["run"]["resumed"] == 1


def test_an_experiment_beside_its_paper_is_trained_alone(place):
    one, two, other = small("a"), small("b"), replace(small("c"), paper="q")
    write([one, two, other])
    assert run("--paper", "p", "--experiment", "p/b") == 0
    assert [bool(records(which)) for which in (one, two, other)] == [False, True, False]
    assert run("--paper", "p", "q") == 0
    assert all(records(which) for which in (one, two, other))


def test_a_corpus_that_is_not_there_is_told_and_the_rest_is_trained(place):
    there, absent = small("a"), experiment("b", SENTENCES, "data/corpora/absent.npz")
    write([there, absent])
    assert run() == EXIT_FAILED
    assert records(there)
    assert "absent.npz: no such corpus, left out: 1 replicas; run `python -m reprise prepare p/b --tier quick`" in log()
    assert "1 left out" in log()


def test_a_replica_that_cannot_be_trained_is_told_and_the_rest_is_trained(place):
    wrong, right = replace(small("a"), engine="nonsense"), small("b")
    write([wrong, right])
    assert run() == EXIT_FAILED
    assert records(right)
    assert "p/a replica 0: left out: engine: nonsense" in log()


@pytest.mark.parametrize(("number", "goes_on"), [(errno.EACCES, True), (errno.ENOSPC, False)])
def test_a_file_that_cannot_be_had_leaves_out_its_replica_and_a_full_disk_ends_the_run(
    number, goes_on, place, monkeypatch, capsys
):
    first, second = small("a"), small("b")
    write([first, second])
    run_jobs = timebox.run_jobs

    def refused(jobs):
        if jobs[0].resolved.experiment == "a":
            raise OSError(number, os.strerror(number), "checkpoints/a")
        return run_jobs(jobs)

    monkeypatch.setattr(timebox, "run_jobs", refused)
    assert run() == EXIT_FAILED
    assert bool(records(second)) is goes_on
    told = f"{os.strerror(number)}: 'checkpoints/a'"
    assert (f"p/a replica 0: left out: [Errno {number}] {told}; fix the access" in log()) is goes_on
    assert ("checkpoints/a" in capsys.readouterr().err.splitlines()[-1]) is not goes_on


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--paper", "nobody"], "no paper 'nobody' in the tier quick; known are p, q"),
        (["--experiment", "p/b"], "no experiment 'p/b' in the tier quick; did you mean 'p/a'?"),
        (["--paper", "p", "--experiment", "p/a", "q/c"], "--experiment q/c: is not of --paper p; leave one of the two"),
        (["--device", "cuda"], "--device cuda: no GPU is visible"),
    ],
)
def test_bad_input_is_one_line(options, says, place, capsys, monkeypatch):
    monkeypatch.setattr(run_command, "visible_gpus", lambda: 0)
    write([small("a"), replace(small("c"), paper="q")])
    assert run(*options) == EXIT_USAGE
    error = capsys.readouterr().err
    assert error.startswith(f"reprise: error: {says}")
    assert error.count("\n") == 1
    assert not Path("out").exists()


def test_without_configurations_the_folder_to_run_from_and_the_command_that_writes_them_are_named(place, capsys):
    assert run() == EXIT_USAGE
    error = capsys.readouterr().err
    assert "run from the root of the clone, or put there what `python -m reprise resolve --tier quick` wrote" in error
    Path("config").mkdir()
    Path("config/config.yaml").touch()
    assert run("--resolved") == EXIT_USAGE
    assert capsys.readouterr().err.endswith("run `python -m reprise resolve --tier quick` where pydantic is\n")


def test_a_tier_of_which_no_configured_paper_has_experiments_is_named(place, capsys):
    shutil.copytree(ROOT / "config", "config")
    config = Path("config/config.yaml")
    text = re.sub(r"^papers:\n(  - .*\n)+", "papers: [palindromes]\n", config.read_text(encoding="utf-8"), flags=re.M)
    config.write_text(text, encoding="utf-8")
    assert cli.main(["run", "--tier", "reduced"]) == EXIT_USAGE
    assert capsys.readouterr().err == (
        "reprise: error: config/config.yaml: no paper of palindromes has experiments in the tier reduced; "
        "write --tier quick or --tier paper\n"
    )


def test_replicas_of_the_experiments_with_the_fewest_records_come_first(tmp_path):
    a, b = small("a", replicas=3), small("b", replicas=2)
    for replica in range(2):
        written = tmp_path / a.record_path(replica)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.touch()
    gaps = [(one.experiment, replica) for one, replica in missing([a, b], [Path("/nowhere"), tmp_path])]
    assert gaps == [("b", 0), ("b", 1), ("a", 2)]


def test_what_another_process_trains_is_passed_over(place):
    a, b = small("a"), small("b")
    write([a, b])
    with replica_lock(Path("checkpoints", a.id, f"0-{a.config_hash}.lock"), "p/a replica 0"):
        assert run() == EXIT_INTERRUPTED
    assert [records(a), len(records(b))] == [[], 1]
    assert "1 in training elsewhere" in log()
    assert run() == 0
    assert records(a)


@pytest.mark.parametrize("kind", ["garbage", "folder", "link"])
def test_a_damaged_record_is_told_and_not_taken_for_one_that_is_done(kind, place):
    a, b = small("a"), small("b")
    write([a, b])
    path = Path("out", a.record_path(0))
    path.parent.mkdir(parents=True)
    says = {"garbage": "not a whole run record; remove the file", "folder": "a folder, not a run record; move it away"}
    make = {
        "garbage": lambda: path.write_text("{}"),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to("/nowhere/0"),
    }
    make[kind]()
    assert run() == EXIT_FAILED
    assert records(b)
    assert path.is_symlink() == (kind == "link")
    assert f"left out: {path}: {says.get(kind, f'no such record: the link {path} leads nowhere')}" in log()
    assert "1 left out" in log()
    assert log().count("left out: ") == 1


OPTIONS = {"steps": 60, "batch_size": 4, "optimiser": "adam", "learning_rate": 0.01, "clip_norm": 1.0, "log_every": 1}
CONFIG = {
    "model": {"name": "elman", "options": {"hidden_size": 4, "weight_law": "fan-in-truncated-normal"}},
    "data": {"dataset": "palindromes", "options": {"length": 5}, "raw": {}},
    "training": {"protocol": "final-digit", "options": OPTIONS},
    "precision": "float32",
}


def runner(folder, said):
    resolved = Resolved("palindromes", "e", "quick", "t", 2, CONFIG, {}, None)
    jobs = [Job(resolved, i, folder / f"{i}.json", root=folder, engine="reference") for i in range(2)]
    return timebox.Runner([[job] for job in jobs], timebox.TimeBox(None), said.append)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("piece", ["first", "second", "last"])
def test_a_signal_in_any_piece_of_work_stops_the_run(tmp_path, monkeypatch, piece, number):
    advance, pieces, before = FinalDigit.advance, [], signal.getsignal(number)

    def signalled(training):
        found = advance(training)
        pieces.append(training.finished)
        if piece == "last" and training.finished or len(pieces) == {"first": 1, "second": 2}.get(piece):
            os.kill(os.getpid(), number)
        return found

    monkeypatch.setattr(FinalDigit, "advance", signalled)
    said: list[str] = []
    with pytest.raises(Interrupted, match=f"stopped by {number.name}.*the same command goes on"):
        runner(tmp_path, said).run()
    finished = ["0.json"] if piece == "last" else []
    assert sorted(path.name for path in tmp_path.glob("*.json")) == finished
    assert signal.getsignal(number) == before  # SIGINT may be ignored: a shell starts what runs in its background so
    monkeypatch.setattr(FinalDigit, "advance", advance)
    runner(tmp_path, said).run()
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["0.json", "1.json"]
