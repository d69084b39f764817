"""What the runner of stacks says and does when a device, a capture or a file fails, or others go on or have gone on."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from pretended_stacks import Pretence
from stacked_helpers import SENTENCES, experiment, jobs_of, make_corpus, never, runner_of
from stacked_training_helpers import stopped_after

from reprise.errors import UserError
from reprise.records.record import read_record
from reprise.training import stack, stack_member
from reprise.training.locks import replica_lock
from reprise.training.stack_alone import train_alone
from reprise.training.stack_check import StackDisagrees
from reprise.training.stack_epochs import StackEpochs
from reprise.training.stack_member import checkpoint_of
from reprise.training.stack_running import Running


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def two_stacks(corpus, folder):
    how = {"max_epochs": 1}
    made = [experiment("a", SENTENCES, corpus, **how), experiment("b", SENTENCES, corpus, hidden_size=9, **how)]
    return [jobs_of([one], folder) for one in made]


def test_a_capture_that_failed_is_told_before_the_first_epoch(corpus, tmp_path, monkeypatch):
    real, said = stack.start, []

    def start(*arguments):
        running = real(*arguments)
        running.epochs.stack.programs.trouble = "program step: not permitted"
        return running

    monkeypatch.setattr(stack, "start", start)
    first, _ = two_stacks(corpus, tmp_path)
    runner_of([first], said).run(stopped_after(4))
    (told,) = [line for line in said if "without graphs" in line]
    assert told.endswith("since a capture failed: program step: not permitted")
    assert not any("epoch" in line for line in said)


def test_a_device_that_gives_up_under_one_stack_does_not_end_the_run(corpus, tmp_path, monkeypatch):
    first, second = two_stacks(corpus, tmp_path)
    ready = StackEpochs.ready

    def broken(epochs):
        if epochs.members[0].job is first[0]:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return ready.fget(epochs)

    monkeypatch.setattr(StackEpochs, "ready", property(broken))
    said = []
    runner = runner_of([first, second], said, streams=2)
    runner.run(never)
    assert runner.failed == first
    assert second[0].output.exists()
    assert any("p/a replica 0 and 0 more: left out: RuntimeError: CUDA error: an illegal" in line for line in said)


@pytest.fixture
def theirs(monkeypatch):
    """Records by the titles of replicas that another process finishes before a stack has their locks."""
    records = {}

    @contextmanager
    def lock(path, what, wait):
        if what in records:
            records[what].parent.mkdir(parents=True, exist_ok=True)
            records[what].write_text("theirs", encoding="utf-8")
        with replica_lock(path, what, wait):
            yield

    monkeypatch.setattr(stack, "replica_lock", lock)
    return records


def test_what_another_process_finished_meanwhile_is_not_trained_again(corpus, tmp_path, theirs):
    how = {"max_epochs": 1}
    made = [experiment("a", SENTENCES, corpus, replicas=2, **how), experiment("b", SENTENCES, corpus, **how)]
    first, second, third = jobs_of(made, tmp_path)
    theirs[second.title] = second.output
    runner = runner_of([[first, second, third]])
    runner.run(never)
    assert second.output.read_text(encoding="utf-8") == "theirs"
    assert [read_record(job.output)["run"]["stack_replicas"] for job in (first, third)] == [2, 2]
    assert (runner.failed, runner.unfinished) == ([], [])


def test_what_another_process_trains_is_unfinished(corpus, tmp_path):
    """`run` ended with 0, as if all were done."""
    first, second = jobs_of([experiment("a", SENTENCES, corpus, replicas=2, max_epochs=1)], tmp_path)
    said = []
    runner = runner_of([[first, second]], said)
    with replica_lock(second.state_path.with_suffix(".lock"), second.title):
        runner.run(never)
    assert (runner.failed, runner.unfinished) == ([], [second])
    assert first.output.exists()
    assert any(f"{second.title} is being trained by process" in line for line in said)


def test_what_another_process_finished_while_one_waited_is_not_trained_again(corpus, tmp_path, theirs, capsys):
    (job,) = jobs_of([experiment("a", SENTENCES, corpus, max_epochs=1)], tmp_path, "stacked")
    theirs[job.title] = job.output
    train_alone(replace(job, wait=True))
    assert job.output.read_text(encoding="utf-8") == "theirs"
    assert capsys.readouterr().err == ""


def test_a_checkpoint_that_cannot_be_read_leaves_out_its_replica_alone(corpus, tmp_path):
    first, second = jobs_of([experiment("a", SENTENCES, corpus, replicas=2, max_epochs=1)], tmp_path)
    unread = checkpoint_of(first).path
    unread.mkdir(parents=True)
    said = []
    runner = runner_of([[first, second]], said)
    runner.run(never)
    assert runner.failed == [first]
    assert second.output.exists()
    assert unread.is_dir()
    why = "a folder, and a file is wanted; move it away, or name another place"
    assert f"{first.title}: left out: {unread}: {why}" in said


@pytest.mark.parametrize("at", ["start b", "turn a"])
@pytest.mark.parametrize("gone", [True, False])
def test_after_a_device_has_given_up_no_other_stack_is_blamed(at, gone, tmp_path, monkeypatch):
    dead = []

    def before(line):
        if line == at and pretence.running == (1 if at == "start b" else 2):
            dead.append(line)
        if line in dead or (gone and dead):
            raise RuntimeError("CUDA error: device-side assert triggered")

    def synchronize(device):
        if gone:
            raise RuntimeError("CUDA error: device-side assert triggered")

    pretence = Pretence(monkeypatch, pieces=3, before=before)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    runner = pretence.runner("abcd", tmp_path, streams=2)
    runner.device = torch.device("cuda", 0)
    runner.run(never)
    assert [job.resolved.experiment for job in runner.failed] == [at[-1]]
    others = sorted(set("abcd") - {at[-1]})
    assert [job.resolved.experiment for job in runner.unfinished] == (others if gone else [])
    assert ("device has given up" in pretence.said[-1] and "same command again" in pretence.said[-1]) == gone
    assert any(line[-1] in "cd" for line in pretence.log) != gone


def test_a_device_is_not_asked_after_what_says_nothing_of_it(tmp_path, monkeypatch):
    errors = {"start a": UserError("no"), "start b": StackDisagrees("no"), "start c": torch.OutOfMemoryError("no")}

    def before(line):
        raise errors[line]

    def synchronize(device):
        raise AssertionError("asked")

    pretence = Pretence(monkeypatch, before=before)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    runner = pretence.runner("abc", tmp_path)
    runner.device = torch.device("cuda", 0)
    runner.run(never)
    assert len(runner.failed) == 3


@pytest.mark.parametrize(("lease", "put_off"), [(None, 1), (40.0, 1), (60.0, 0)])
def test_a_stack_that_later_calls_can_end_is_not_put_off(lease, put_off, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(Running, "seconds_left", lambda self, usual: 50.0)
    said = []
    how = {} if lease is None else {"lease": lambda: lease}
    runner = runner_of(two_stacks(corpus, tmp_path), said, left=lambda: 45.0, **how)
    runner.run(never)
    assert sum("p/a: put off: it would take 50 s of" in line for line in said) == put_off
    assert not runner.failed
    order = [line[:3] for line in said if ": finished after" in line]
    assert order == (["p/b", "p/a"] if put_off else ["p/a", "p/b"])


def test_the_memory_in_a_record_is_called_that_of_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(stack_member, "write_record", lambda output, record: None)
    monkeypatch.setattr(stack_member, "make_record", lambda *arguments: arguments[-1])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 3 * 2**20)
    (job,) = jobs_of([experiment("a", SENTENCES, None)], tmp_path)
    schedule = SimpleNamespace(outcome=lambda: None)
    facts = stack_member.Member(job, schedule, 1, stack_member.checkpoint_of(job), None).write(torch.device("cuda"), 2)
    assert (facts["stack_replicas"], facts["peak_gpu_memory_mib_of_process"]) == (2, 3.0)
    assert "peak_gpu_memory_mib" not in facts
