"""`reprise run`: what is missing, the most valuable first, within a time."""

import errno
import math
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from experiment_helpers import DIGITS, SENTENCES, experiment, jobs_of, make_corpus, records, run, small, write

from reprise.catalogue.protocols import PROTOCOLS
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, Interrupted
from reprise.evidence.collect import collect
from reprise.files import write_atomically
from reprise.records.record import read_record
from reprise.training import timebox
from reprise.training.locks import lock_replica
from reprise.training.protocols.palindromes import FinalDigit
from reprise.training.protocols.rntn import SubsequenceSGD
from reprise.training.timebox import list_missing


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
    one, two = write(small("a", replicas=2), replace(small("b", matrices=5), engine="reference"))
    assert run("--minutes", "5") == 0
    contents = [
        read_record(Path("out") / path, resolved) for resolved in (one, two) for path in resolved.list_record_paths()
    ]
    assert [record["status"] for record in contents] == ["finished"] * 3
    assert contents[2]["run"]["engine"] == "reference"
    assert collect([one, two], Path("out"), Path("collected")) == (3, 3)
    started = [line.split(" ", 1)[1] for line in log().splitlines() if line.endswith("begins")]
    # The second replica of an experiment is worth less than the first of another.
    assert started == ["p/a replica 0: begins", "p/b replica 0: begins", "p/a replica 1: begins"]
    assert run() == 0
    assert log().count("begins") == 3


def test_when_the_time_is_up_the_state_is_saved_and_the_next_run_goes_on(place, monkeypatch):
    (one,) = write(small("a", max_epochs=3))
    monkeypatch.setattr(SubsequenceSGD, "piece_size", 20)
    seconds = iter([1] * 6)
    monkeypatch.setattr(timebox.Runner, "is_over", lambda self: not next(seconds, 0))
    assert run("--minutes", "1") == EXIT_INTERRUPTED
    assert records(one) == []
    assert list(Path("checkpoints").rglob("*.ckpt"))
    assert "the end of its time" in log()
    monkeypatch.setattr(timebox.Runner, "is_over", lambda self: False)
    assert run() == 0
    assert read_record(Path("out") / one.get_record_path(0), one)["run"]["resumed"] == 1


def test_the_time_is_up_where_no_more_than_that_for_a_save_is_left():
    ends = [time.monotonic() + seconds for seconds in (-1, 2, 60, math.inf)]
    assert [timebox.Runner([], end, print).is_over() for end in ends] == [True, True, False, False]


def test_an_experiment_beside_its_paper_is_trained_alone(place):
    one, two, other = write(small("a"), small("b"), replace(small("c"), paper="q"))
    assert run("--paper", "p", "--experiment", "p/b") == 0
    assert [bool(records(resolved)) for resolved in (one, two, other)] == [False, True, False]
    assert run("--paper", "p", "q") == 0
    assert all(records(resolved) for resolved in (one, two, other))


def test_what_cannot_be_trained_is_told_and_the_rest_is_trained(place):
    absent = experiment("b", SENTENCES, "data/corpora/absent.npz")
    _, _, right = write(absent, replace(small("a"), engine="nonsense"), small("c"))
    assert run() == EXIT_FAILED
    assert records(right)
    assert "absent.npz: " in log()
    assert "`python -m reprise prepare p/b --tier quick`" in log()
    assert "p/a replica 0: left out: engine: nonsense" in log()
    assert "1 left out" in log()


def test_what_could_not_be_written_is_not_trained(place):
    one, two = write(small("a", replicas=2), small("b"))
    folder = Path("out", one.get_record_path(0)).parent
    write_atomically(folder, "no folder")
    assert run() == EXIT_FAILED
    assert f"{folder} is no folder" in log()
    assert ("p/a replica" in log(), bool(records(two))) == (False, True)


def test_resolved_files_of_what_config_no_longer_names_are_not_read(place):
    (one,) = write(small("a"))
    write_atomically("config/config.yaml", "papers: [p]")
    write_atomically("config/papers/p.yaml", "experiments: {a: {}}")
    for stale in ("gone/x", "p/b", "p/b@law=other"):
        write_atomically(f"results/quick/config/{stale}.json", "{")
    assert run("--resolved") == 0
    assert records(one)


def test_a_mistake_of_ours_ends_its_training_alone_and_its_traceback_is_kept(place, monkeypatch):
    (one,) = write(small("a", replicas=2))
    advance, failures = SubsequenceSGD.advance, iter([KeyError("of ours")])

    def fail_once(training):
        for error in failures:
            raise error
        return advance(training)

    monkeypatch.setattr(SubsequenceSGD, "advance", fail_once)
    assert run() == EXIT_FAILED
    assert "Traceback" in log()
    assert "KeyError: 'of ours'" in log()
    assert len(records(one)) == 1


@pytest.mark.parametrize(("number", "continues"), [(errno.EACCES, True), (errno.ENOSPC, False)])
def test_a_file_that_cannot_be_had_leaves_out_its_replica_and_a_full_disk_ends_the_run(
    number, continues, place, monkeypatch, capsys
):
    _, second = write(small("a"), small("b"))
    run_jobs = timebox.run_jobs

    def refused(jobs):
        if jobs[0].resolved.experiment == "a":
            raise OSError(number, os.strerror(number), "checkpoints/a")
        return run_jobs(jobs)

    monkeypatch.setattr(timebox, "run_jobs", refused)
    assert run() == EXIT_FAILED
    assert bool(records(second)) is continues
    message = f"checkpoints/a: {os.strerror(number)}; make room or fix the access"
    assert (f"p/a replica 0: left out: {message}" in log()) is continues
    assert ("checkpoints/a" in capsys.readouterr().err.splitlines()[-1]) is not continues


def test_replicas_of_the_experiments_with_the_fewest_records_come_first(tmp_path):
    a, b = small("a", replicas=3), small("b", replicas=2)
    for replica in range(2):
        write_atomically(tmp_path / a.get_record_path(replica), "")
    gaps = [(one.experiment, replica) for one, replica in list_missing([a, b], [Path("/nowhere"), tmp_path])]
    assert gaps == [("b", 0), ("b", 1), ("a", 2)]


def test_what_another_process_trains_is_passed_over(place):
    a, b = write(small("a"), small("b"))
    with lock_replica(Path("checkpoints", a.id, f"0-{a.config_hash}.lock"), "p/a replica 0"):
        assert run() == EXIT_INTERRUPTED
    assert [records(a), len(records(b))] == [[], 1]
    assert "1 in training elsewhere" in log()
    assert run() == 0
    assert records(a)


def unchanged_facts(path):
    """Say what only a write changes. Reading sets the time of access, by whole seconds where the machine is busy."""
    status = path.lstat()
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns


def test_a_damaged_record_is_told_and_not_taken_for_one_that_is_done(place):
    *damaged, sound = write(*map(small, "abcd"))
    garbage, folder, link = paths = [Path("out", one.get_record_path(0)) for one in damaged]
    for path in paths:
        path.parent.mkdir(parents=True)
    garbage.write_text("{}")
    folder.mkdir()
    link.symlink_to("/nowhere/0")
    before = [unchanged_facts(path) for path in paths]
    assert run() == EXIT_FAILED
    assert records(sound)
    assert [unchanged_facts(path) for path in paths] == before
    assert f"left out: {garbage}: not a whole run record" in log()
    assert f"left out: {folder}: this is a folder" in log()
    assert f"left out: {link}: no such record" in log()
    assert log().count("left out: ") == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("piece", [1, 2, "last"])
def test_a_signal_in_any_piece_of_work_stops_the_run(tmp_path, monkeypatch, piece, number):
    """Two replicas, one after the other."""
    two = experiment("e", DIGITS, None, replicas=2, steps=60, batch_size=4, hidden_size=4, log_every=1)
    jobs = jobs_of([two], tmp_path, "reference")
    run = timebox.Runner([[job] for job in jobs], math.inf, lambda line: None)
    advance, pieces, before = FinalDigit.advance, [], signal.getsignal(number)

    def signalled(training):
        progress = advance(training)
        pieces.append(training.finished)
        if piece == "last" and training.finished or len(pieces) == piece:
            os.kill(os.getpid(), number)
        return progress

    monkeypatch.setattr(FinalDigit, "advance", signalled)
    with pytest.raises(Interrupted, match=number.name):
        run.run()
    assert [job.output.exists() for job in jobs] == [piece == "last", False]
    assert signal.getsignal(number) == before  # SIGINT may be ignored: a shell starts what runs in its background so
    monkeypatch.setattr(FinalDigit, "advance", advance)
    timebox.Runner([[job] for job in jobs], math.inf, lambda line: None).run()
    assert all(job.output.exists() for job in jobs)


def test_modules_of_ones_own_share_torchs_random_numbers_and_train_one_at_a_time(place, monkeypatch, capsys):
    write(small("a"))
    monkeypatch.setitem(PROTOCOLS, "subsequence-sgd", replace(PROTOCOLS["subsequence-sgd"], any_module=True))
    assert run("--at-once", "2") == EXIT_USAGE
    assert "--at-once: p/a " in capsys.readouterr().err
    assert run("--at-once", "1") == 0
    assert run("--at-once", "2") == 0  # nothing is missing


def test_trainings_at_once_leave_what_they_leave_one_after_another(tmp_path):
    some = [
        experiment(name, DIGITS, None, replicas=2, steps=20, batch_size=4, hidden_size=size, log_every=5)
        for name, size in (("a", 3), ("b", 4), ("c", 5))
    ]
    digests = []
    for parallel in (1, 3):
        jobs = [jobs_of([one], tmp_path / str(parallel), "stacked") for one in some]
        run = timebox.Runner(jobs, math.inf, lambda line: None, parallel)
        run.run()
        assert [run.failed, run.unfinished, run.locked_elsewhere] == [[], [], []]
        digests.append([read_record(job.output, job.resolved)["result_sha256"] for group in jobs for job in group])
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == 6
