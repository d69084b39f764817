"""What jobs read and ask for, and what has to hold before the first of them starts."""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from project import TOY

from reprise.cli import main
from reprise.cluster import Limits
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, UserError
from reprise.outputs import Outputs
from reprise.plan import Plan, Request, require_past, stop_on_error
from reprise.training.locks import LockHeld, lock_clone, lock_replica

RNN, COUNT, WORDS = "digits/rnn-t5", "digits/count", "words/s-rnn-4"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The current folder is a project with the tests' own small papers."""
    shutil.copytree(TOY, tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(partitions: Sequence[Limits] | None = None, gpus: int = 0) -> Plan:
    loaded = Plan.load({"tier": "quick"})
    return Plan(loaded.project, loaded.experiments.values(), lambda: partitions, lambda: gpus)


def use(toy: Path, old: str, new: str) -> None:
    file = toy / "config/config.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_training_reads_its_configuration_and_its_corpus(toy):
    words = plan().experiments[WORDS]
    inputs = {"config": ["results/quick/config/words/s-rnn-4.json"], "corpus": [words.corpus], "together": []}
    assert plan().list_inputs(WORDS) == inputs
    assert plan().list_inputs(COUNT)["corpus"] == []
    assert not (toy / "results").exists(), "a plan writes nothing"


def test_the_command_line_may_say_another_engine_and_device(toy):
    stated = Plan.load({"tier": "quick", "engine": "reference", "device": "cpu"})
    assert {e.engine for e in stated.experiments.values()} == {"reference"}
    assert stated.choose_device_option(RNN, 0) == "--device cpu"


def test_replicas_whose_raw_file_cannot_be_had_are_left_out(toy, monkeypatch, caplog):
    """Their records stay those of the tier where they are there, and no other replica is left out."""
    file = f"{{name: text.gz, algorithm: sha256, digest: {64 * 'a'}}}"
    use(toy, "    prepare: synthetic\n", f"    prepare: synthetic\n    files: [{file}]\n")
    records = plan().experiments[WORDS].list_record_paths()
    (toy / records[0]).parent.mkdir(parents=True)
    (toy / records[0]).touch()
    assert plan().omitted == {records[1]: "synthetic/text.gz"}
    assert plan().list_unavailable() == []
    (toy / records[0]).rename(toy / "elsewhere")
    assert plan().list_unavailable() == [WORDS]
    (toy / "elsewhere").rename(toy / records[0])
    assert not {records[1]} & set(plan().records)
    assert {records[0], *plan().experiments[RNN].list_record_paths()} < set(plan().records)
    plan().report_omitted()
    assert "replicas left out: 1;" in caplog.text
    monkeypatch.setenv("REPRISE_MIRROR", "no-such-folder")  # as on a node that does not share the head node's mirror
    assert plan().omitted
    with pytest.raises(UserError, match="^REPRISE_MIRROR: no folder"):
        plan().report_omitted()
    (toy / "files").mkdir()
    monkeypatch.setenv("REPRISE_MIRROR", "files")
    for path in ("files/synthetic/text.gz", "data/raw/synthetic/text.gz", plan().experiments[WORDS].corpus):
        (toy / path).parent.mkdir(parents=True, exist_ok=True)
        (toy / path).touch()
        assert plan().omitted == {}
        (toy / path).unlink()


def test_a_request_is_doubled_with_every_attempt_up_to_what_a_partition_allows(toy):
    stated = plan().project.config.resources.train
    first = Request(stated.runtime, stated.mem_mb)
    assert plan().make_request("train", 1, RNN) == first
    assert plan().make_request("train", 3, RNN) == Request(4 * first.runtime, 4 * first.mem_mb)
    narrow = [Limits(first.runtime + 1, first.mem_mb + 2)]
    assert plan(narrow).make_request("train", 2, RNN) == Request(first.runtime + 1, first.mem_mb + 2)
    assert plan().make_request("train", 1, COUNT).runtime == 10


def test_replicas_train_together_on_a_gpu_alone(toy):
    use(toy, "device: cpu", "device: auto")
    cpu, gpu, cluster = plan(), plan(gpus=1), plan([Limits(max_gpu=2)])
    assert not cpu.is_trained_together(RNN)
    assert not gpu.is_trained_together(COUNT)
    for on in (gpu, cluster):
        assert on.list_inputs(RNN)["together"] == ["build/together/quick/digits/rnn-t5.done"]
        assert on.list_inputs(RNN, together=True)["together"] == []
        assert on.make_request("train_together", 1, RNN).gpu == 1
        assert on.make_request("train", 1, RNN).gpu == 0
    # A job that was given no GPU uses none, even where it sees one.
    assert [gpu.choose_device_option(RNN, count) for count in (0, 1)] == ["--device cpu", "--device auto"]


def test_outputs_of_a_tier_are_its_data_its_displays_and_the_page(toy):
    outputs = Outputs(plan().project)
    assert outputs.list_displays("digits", "figures", ("svg", "pdf")) == [
        f"results/quick/figures/digits-curves.{suffix}" for suffix in ("svg", "pdf")
    ]
    assert {*outputs.list_figures(), *outputs.list_tables(), "results/report.html"} < set(outputs.list_all())
    listed = dict(outputs.label_displays("digits"))
    assert listed.keys() == {"results/quick/figures/digits-curves.svg", "results/quick/tables/digits-convergence.html"}
    assert outputs.full_claims == []
    digits = [name for name in plan().experiments if name.startswith("digits/")]
    assert Outputs(plan().project, digits).list_figures() == [], "nothing is there to draw, so render draws none"
    assert Outputs(plan().project, digits[:1]).list_figures() == outputs.list_figures()
    files = [toy / f"results/{name}" for name in ("paper/claims.json", "quick/claims.json", "reduced/figures/a.svg")]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    outputs = Outputs(plan().project)
    assert outputs.full_claims == ["results/paper/claims.json"]
    assert outputs.other_results == ["results/paper/claims.json", "results/reduced/figures/a.svg"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UserError("bad"), EXIT_USAGE),
        (OSError(errno.ENOSPC, "full", "x"), EXIT_FAILED),
        (LockHeld("busy"), EXIT_INTERRUPTED),
    ],
)
def test_a_run_that_cannot_begin_ends_with_one_line(error, status, caplog):
    with pytest.raises(SystemExit) as stopped, stop_on_error():
        raise error
    assert stopped.value.code == status
    (line,) = caplog.messages
    assert line.startswith("reprise: error: ")


def test_inputs_dated_in_the_future_are_refused(tmp_path):
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    for path, seconds in ((old, -60), (new, 3600)):
        path.touch()
        os.utime(path, times=(time.time() + seconds,) * 2)
    require_past([old])
    with pytest.raises(UserError, match=rf"^1 files .*{new}"):
        require_past([old, new])


def test_a_second_run_of_a_clone_is_refused_until_the_first_ends(tmp_path):
    """The lock is the operating system's: here its holder is a child, which ends without a word."""
    lock, (read, write) = tmp_path / "run/clone.lock", os.pipe()
    child = os.fork()
    if not child:
        lock_clone(lock)
        os.write(write, b"x")
        time.sleep(60)
    os.read(read, 1)
    with pytest.raises(LockHeld, match=f"process {child} "):
        lock_clone(lock)
    os.kill(child, 9)
    os.waitpid(child, 0)
    lock_clone(lock)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named_with_the_lock_file(monkeypatch, tmp_path, number):
    def flock(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = tmp_path / "0.lock"
    with pytest.raises(UserError, match=f"^{lock}: .*locks"), lock_replica(lock, "p/e"):
        pass


def test_a_lock_file_on_a_full_disk_is_named_and_let_go(monkeypatch, tmp_path):
    def pwrite(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lock = tmp_path / "0.lock"
    with monkeypatch.context() as changed:
        changed.setattr(os, "pwrite", pwrite)
        with pytest.raises(OSError, match="0.lock"), lock_replica(lock, "p/e"):
            pass
    with lock_replica(lock, "p/e"):
        pass


def test_resolve_removes_the_configurations_that_config_no_longer_has(toy):
    assert main(["resolve", "--tier", "quick"]) == 0
    files = {str(path.relative_to(toy)) for path in toy.glob("results/quick/config/*/*.json")}
    assert files == {*plan().configurations}
    left = toy / "results/quick/config/digits/rnn-t5@weight-law=gone.json"
    left.write_text("{}", encoding="utf-8")
    assert main(["resolve", "--tier", "quick"]) == 0
    assert not left.exists()
    assert files == {str(path.relative_to(toy)) for path in toy.glob("results/quick/config/*/*.json")}
