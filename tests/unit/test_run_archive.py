"""`run --archive` on one machine and `collect --from` on another: one file holds all records and logs."""

from __future__ import annotations

import errno
import io
import json
import tarfile
from pathlib import Path

import pytest
from stacked_helpers import SENTENCES, experiment, make_corpus

from reprise import cli
from reprise.cli import collect as collect_command
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, UserError
from reprise.files import write_atomically
from reprise.records.record import Outcome, make_record, read_record, write_record
from reprise.records.resolved import Resolved
from reprise.training import run_archive, timebox
from reprise.training.protocols.rntn import SubsequenceSGD
from reprise.training.run_archive import RunArchive, take_in

RUN = {"engine": "reference", "device": "cpu", "wall_seconds": 1.5}
METRIC = {"split": "test", "metric": "cross_entropy", "value": 2.0, "unit": "nats/token", "n": 10}


def which(name="e", value=1, replicas=2):
    return Resolved("p", name, "quick", "t", replicas, {"check": "c", "tolerance": value}, {}, None)


def leave(folder, one, replica):
    write_record(folder / one.record_path(replica), make_record(one, replica, Outcome([METRIC]), 7, None, RUN))


def archive_of(path, *contents):
    """A gzipped tar of (name, bytes), or of members that are no files."""
    with tarfile.open(path, "w:gz") as archive:
        for content in contents:
            member = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(content[0])
            data = b"" if isinstance(content, tarfile.TarInfo) else content[1]
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def names(path):
    with tarfile.open(path) as archive:
        return archive.getnames()


def test_an_archive_holds_what_is_there_and_grows_with_each_record(tmp_path):
    one, other, said = which(), which("other"), []
    archive = RunArchive(tmp_path / "a.tgz", tmp_path / "out", "quick", [one, other], said.append)
    archive.refresh()
    assert not archive.path.exists()
    leave(tmp_path / "out", one, 1)
    archive.refresh()
    first = archive.path.read_bytes()
    assert names(archive.path) == [one.record_path(1)]
    timebox.Log(tmp_path / "out/logs/run/quick.log")("begins")
    leave(tmp_path / "out", which("older", 3), 0)  # of nobody who was asked for
    archive.refresh()
    assert archive.path.read_bytes() == first
    leave(tmp_path / "out", other, 0)
    archive.refresh()
    assert names(archive.path) == [one.record_path(1), other.record_path(0), "logs/run/quick.log"]
    assert take_in(archive.path, [one, other], tmp_path / "here") == (2, 0, [])
    assert read_record(tmp_path / "here" / one.record_path(1), one)["metrics"] == [METRIC]
    assert take_in(archive.path, [one, other], tmp_path / "here") == (0, 2, [])
    assert said == []


def test_an_archive_that_cannot_be_written_or_is_large_is_told_once(tmp_path, monkeypatch):
    one, said = which(), []
    leave(tmp_path, one, 0)
    (tmp_path / "file").write_text("")
    RunArchive(tmp_path / "file/a.tgz", tmp_path, "quick", [one], said.append).write()
    assert "a.tgz: not written: " in said[0]
    monkeypatch.setattr(run_archive, "LARGEST", 100)
    large = RunArchive(tmp_path / "a.tgz", tmp_path, "quick", [one], said.append)
    large.write()
    large.write()
    assert len(said) == 2
    assert "an --output of its own" in said[1]


def test_records_of_other_configurations_are_refused_and_the_others_taken(tmp_path, monkeypatch, capsys):
    ours, theirs = which(), which(value=2)
    leave(tmp_path / "out", ours, 0)
    leave(tmp_path / "out", theirs, 1)
    RunArchive(tmp_path / "a.tgz", tmp_path / "out", "quick", [ours, theirs], print).write()
    project = type(
        "Project", (), {"root": tmp_path / "here", "config": type("Config", (), {"tier": "quick", "datasets": {}})}
    )
    monkeypatch.setattr(collect_command, "project_and_experiments", lambda tier: (project, [ours]))
    assert cli.main(["collect", "--from", str(tmp_path / "a.tgz")]) == EXIT_FAILED
    said = capsys.readouterr()
    assert "1 new run records, 0 that are here already" in said.out
    assert "1 of 2 run records collected" in said.out
    assert f"{theirs.record_path(1)}: refused, of no experiment of this configuration" in said.err
    assert not (tmp_path / "here" / theirs.record_path(1)).exists()
    assert "cross_entropy" in (tmp_path / "here/results/quick/metrics.csv").read_text()


def test_records_of_another_tier_are_refused_with_its_name(tmp_path, monkeypatch, capsys):
    one = which()
    leave(tmp_path / "out", one, 0)
    RunArchive(tmp_path / "a.tgz", tmp_path / "out", "quick", [one], print).write()
    project = type(
        "Project", (), {"root": tmp_path / "here", "config": type("Config", (), {"tier": "paper", "datasets": {}})}
    )
    monkeypatch.setattr(collect_command, "project_and_experiments", lambda tier: (project, []))
    assert cli.main(["collect", "--from", str(tmp_path / "a.tgz")]) == EXIT_FAILED
    assert "refused, of the tier quick, not of paper; take it in with `--tier quick`" in capsys.readouterr().err


def test_an_archive_that_cannot_be_read_is_not_called_damaged(tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        take_in(tmp_path, [which()], tmp_path / "here")


def link():
    member = tarfile.TarInfo("results/quick/runs/p/e/0.json")
    member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return member


@pytest.mark.parametrize("content", [("/results/x.json", b""), ("results/../../x.json", b""), ("x.json", b""), link()])
def test_what_does_not_belong_into_an_archive_is_not_taken(content, tmp_path):
    one = which()
    leave(tmp_path / "out", one, 0)
    record = one.record_path(0), (tmp_path / "out" / one.record_path(0)).read_bytes()
    path = archive_of(tmp_path / "a.tgz", record, content)
    with pytest.raises(UserError, match="does not belong into an archive"):
        take_in(path, [one], tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_damaged_archives_and_altered_records_are_not_taken(tmp_path):
    one = which()
    leave(tmp_path / "out", one, 0)
    leave(tmp_path / "out", one, 1)
    record = json.loads((tmp_path / "out" / one.record_path(1)).read_text())
    record["metrics"][0]["value"] = 1.0
    write_record(tmp_path / "out" / one.record_path(1), record)
    path = tmp_path / "a.tgz"
    RunArchive(path, tmp_path / "out", "quick", [one], print).write()
    says = r"a.tgz: results/quick/runs/p/e/1-\w+.json: key result_sha256 does not fit .*; bring the archive from the"
    with pytest.raises(UserError, match=says):
        take_in(path, [one], tmp_path / "here")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match="not a whole gzipped tar"):
        take_in(path, [one], tmp_path / "here")
    with pytest.raises(UserError, match="no such file"):
        take_in(tmp_path / "b.tgz", [one], tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_no_bit_of_an_archive_matters_unseen(tmp_path):
    one = which()
    leave(tmp_path / "out", one, 0)
    path = tmp_path / "a.tgz"
    RunArchive(path, tmp_path / "out", "quick", [one], print).write()
    whole = path.read_bytes()
    # Neither the ten bytes of gzip's header nor the bits that fill up the byte before the checksum say anything.
    for place in [*range(10, len(whole) - 9), *range(len(whole) - 8, len(whole))]:
        flipped = whole[place] ^ 1 << place % 8
        path.write_bytes(whole[:place] + bytes([flipped]) + whole[place + 1 :])
        with pytest.raises(UserError, match=r"a.tgz: not a whole gzipped tar \(.*\); copy it again"):
            take_in(path, [one], tmp_path / "here")
    assert not (tmp_path / "here").exists()
    path.write_bytes(whole)
    assert take_in(path, [one], tmp_path / "here") == (1, 0, [])


def test_a_record_under_the_name_of_another_replica_is_not_taken(tmp_path):
    one = which()
    leave(tmp_path / "out", one, 0)
    content = (tmp_path / "out" / one.record_path(0)).read_bytes()
    path = archive_of(tmp_path / "a.tgz", *((name, content) for name in one.record_paths()))
    says = r"1-\w+.json: key replica: the record is of replica 0, not of 1; bring the archive from the"
    with pytest.raises(UserError, match=says):
        take_in(path, [one], tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_a_run_archives_what_it_did_and_its_checkpoints_are_where_they_are_wanted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = make_corpus(tmp_path)
    one = experiment("a", SENTENCES, str(corpus), replicas=2, max_epochs=1)
    path = Path(one.config_path())
    path.parent.mkdir(parents=True)
    path.write_text(one.to_json(), encoding="utf-8")
    run = ["run", "--tier", "quick", "--corpora", ".", "--output", "out", "--archive", "back/a.tgz", "--checkpoints"]
    held = []
    monkeypatch.setattr(RunArchive, "refresh", keeping(RunArchive.refresh, held))
    # The first replica ends, the second one begins and is stopped.
    lefts = iter([1e9] * 3)
    monkeypatch.setattr(timebox.TimeBox, "left", lambda self: next(lefts, 0.0) if held else 1e9)
    monkeypatch.setattr(SubsequenceSGD, "chunk", 20)
    assert cli.main([*run, "kept", "--minutes", "5", "--lease-minutes", "30"]) == EXIT_INTERRUPTED
    assert names("back/a.tgz") == [one.record_path(0), "logs/run/quick.log"]
    with tarfile.open("back/a.tgz") as archive:
        assert b"1 unfinished" in archive.extractfile("logs/run/quick.log").read()
    assert one.record_path(0) in held[0]
    assert not Path("checkpoints").exists()
    assert Path("kept/checkpoints").is_dir()
    assert cli.main([*run, "kept", "--minutes", "5", "--lease-minutes", "4"]) == EXIT_USAGE


@pytest.fixture
def checks(tmp_path, monkeypatch):
    """A tier of one check, which takes no time."""
    monkeypatch.chdir(tmp_path)
    one = Resolved("p", "check", "quick", "t", 1, {"check": "lstm-parameter-count", "tolerance": 0.0}, {}, None)
    write_atomically(one.config_path(), one.to_json())
    return one


def test_a_path_that_can_hold_no_archive_is_refused_before_anything_is_trained(checks, capsys):
    Path("file").touch()
    here = str(Path().absolute())
    for path, why in (
        ("results", "is a folder; name a file in it, results/records.tgz"),
        ("nowhere/", "is a folder; name a file in it, nowhere/records.tgz"),
        ("file/a.tgz", f"{here}/file is no folder; name a file in another folder"),
        ("file/b/a.tgz", f"{here}/file is no folder; name a file in another folder"),
    ):
        assert cli.main(["run", "--tier", "quick", "--archive", path]) == EXIT_USAGE
        assert capsys.readouterr().err == f"reprise: error: --archive {path}: {why}\n"
    assert sorted(path.name for path in Path().iterdir()) == ["file", "results"]
    assert not Path(checks.record_path(0)).exists()


def test_a_run_whose_archive_could_not_be_written_in_the_end_has_failed(checks, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    run = ["run", "--tier", "quick", "--device", "cpu", "--archive", "a.tgz"]
    with monkeypatch.context() as patched:
        patched.setattr(run_archive, "write_atomically", full)
        assert cli.main(run) == EXIT_FAILED
    assert read_record(Path(checks.record_path(0)), checks)["status"] == "finished"
    assert "a.tgz: not written: No space left" in Path("logs/run/quick.log").read_text(encoding="utf-8")
    assert cli.main(run) == 0
    assert checks.record_path(0) in names("a.tgz")


def keeping(refresh, held):
    def wrapped(self):
        before = self.held
        refresh(self)
        if self.held != before:
            held.append(list(self.held))

    return wrapped
