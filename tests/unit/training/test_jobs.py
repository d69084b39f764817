"""Jobs: their locks and devices, and replicas of one experiment as one job in the engine `stacked`."""

import fcntl
import sys
import types
from dataclasses import replace
from functools import partialmethod

import pytest
import torch
from experiment_helpers import DIGITS, experiment, jobs_of
from protocol_helpers import checkpoints
from torch import nn

import reprise.models
from reprise.catalogue import stated
from reprise.catalogue.models import MODELS, ModelEntry
from reprise.catalogue.protocols import PROTOCOLS
from reprise.catalogue.stated import load
from reprise.engines.stack import OutOfMemory, Stack
from reprise.errors import Interrupted, UserError
from reprise.records.model import read_record
from reprise.training.locks import Held, replica_lock
from reprise.training.loop import choose_device, run_jobs

REPLICAS = 3


@pytest.fixture
def jobs(tmp_path):
    return made(tmp_path)


def made(folder, engine="stacked"):
    options = {"steps": 12, "batch_size": 8, "log_every": 1, "clip_norm": 1.0}
    return jobs_of([experiment("e", DIGITS | {"precision": "float64"}, None, REPLICAS, **options)], folder, engine)


def held_to(records, others):
    """Their metrics differ in rounding alone."""
    for one in zip(records, others, strict=True):
        mine, theirs = ([metric["value"] for metric in record["metrics"]] for record in one)
        assert mine == pytest.approx(theirs, rel=1e-9)


def test_one_job_writes_a_record_a_replica(jobs, tmp_path):
    records = run_jobs(jobs)
    held_to(records, run_jobs(made(tmp_path / "alone", "reference")))
    assert records == [read_record(job.output, job.resolved, job.replica) for job in jobs]
    assert {record["run"]["engine"] for record in records} == {"stacked"}
    assert checkpoints(tmp_path) == []
    assert run_jobs(jobs) == records


def test_a_replica_that_diverges_leaves_its_record_and_the_others_finish(monkeypatch, tmp_path):
    whole = run_jobs(made(tmp_path / "whole"))
    advance = Stack.advance

    def poisoned(stack, trainings):
        if len(trainings) == REPLICAS and trainings[1].step == 4:
            kernel = trainings[1].kernel
            kernel.load({name: value * float("nan") for name, value in kernel.export().items()})
        return advance(stack, trainings)

    monkeypatch.setattr(Stack, "advance", poisoned)
    records = run_jobs(made(tmp_path))
    assert [record["status"] for record in records] == ["finished", "diverged", "finished"]
    held_to(records[::2], whole[::2])


def test_without_room_the_job_is_halved_and_without_any_it_is_refused(monkeypatch, tmp_path, capsys):
    whole, sizes, advance = run_jobs(made(tmp_path / "whole")), [], Stack.advance

    def scarce(stack, trainings, room):
        sizes.append(len(trainings))
        if len(trainings) > room:
            raise OutOfMemory("no room")
        return advance(stack, trainings)

    monkeypatch.setattr(Stack, "advance", partialmethod(scarce, room=2))
    capsys.readouterr()
    records = run_jobs(made(tmp_path))
    assert set(sizes) == {3, 2, 1}
    held_to(records, whole)
    assert capsys.readouterr().err.count("out of memory: 2 replicas at a time instead") == 1
    assert checkpoints(tmp_path) == []
    monkeypatch.setattr(Stack, "advance", partialmethod(scarce, room=0))
    with pytest.raises(UserError, match="more memory than there is"):
        run_jobs(made(tmp_path / "none"))


def test_what_another_process_trains_is_left_out(jobs):
    with replica_lock(jobs[0].file_of(0).with_suffix(".lock"), jobs[0].title):
        assert [record["replica"] for record in run_jobs(jobs)] == [1, 2]
        with pytest.raises(Held):
            run_jobs(jobs[:1])


def test_what_no_stack_trains_has_its_own_engine(small, tmp_path):
    (job,) = jobs_of([replace(small.resolved("error-surface"), replicas=1)], tmp_path, "stacked")
    assert run_jobs([job])[0]["run"]["engine"] == "numpy"


def test_cuda_without_a_gpu_is_one_line():
    if torch.cuda.is_available():
        pytest.skip("a GPU is visible here")
    with pytest.raises(UserError, match="no GPU"):
        choose_device("cuda", "final-digit", "auto")


def test_what_runs_on_a_cpu_takes_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto", "final-digit", "auto").type == "cuda"
    assert choose_device("auto", "final-digit", "stacked").type == "cuda"
    for protocol, engine in (("ngram", "auto"), ("final-digit", "fused")):
        assert choose_device("auto", protocol, engine).type == "cpu"
        with pytest.raises(UserError, match="runs on the CPU"):
            choose_device("cuda", protocol, engine)


class Lacking(nn.Module):
    """A network that was written for something else."""

    def __init__(self, hidden_size, **options):
        super().__init__()
        self.W, self.weight_law = nn.Parameter(torch.ones(hidden_size, 3)), "plain"

    def fan_in(self):
        return {"W": 3}

    def forward(self, x):
        return self.W[x]


@pytest.mark.parametrize(
    ("protocol", "engine", "says"),
    [
        (
            "recall",
            "auto",
            r"protocols/recall.py, line \d+: AttributeError: 'Lacking' object has no attribute 'initialise'",
        ),
        ("final-digit", "auto", r"engines/palindromes/reference.py, line \d+: \w+Error: .*"),
        ("final-digit", "stacked", r"engines/stack/symbols.py, line \d+: \w+Error: .*"),
    ],
)
def test_a_model_that_lacks_what_its_protocol_needs_is_one_line(small, monkeypatch, tmp_path, protocol, engine, says):
    own = types.ModuleType("reprise.models.own")
    own.Lacking = Lacking
    monkeypatch.setitem(sys.modules, own.__name__, own)
    monkeypatch.setitem(MODELS, "own", ModelEntry("reprise.models.own:Lacking"))
    (job, _) = jobs_of([small.resolved(protocol, model="own")], tmp_path, engine)
    like = PROTOCOLS[protocol].models[0].replace("notes-rnn", "recurrent")
    says += (
        rf": while the protocol {protocol} trained the model own \(src/reprise/models/own.py\); "
        f"what the protocol needs of a model is in src/reprise/models/{like}.py"
    )
    with pytest.raises(UserError, match=f"^src/reprise/(training/)?{says}$"):
        run_jobs([job])


def test_a_mistake_in_a_file_is_one_line(monkeypatch, tmp_path):
    """Where its options are read, and where it is imported."""
    file = tmp_path / "broken.py"
    file.write_text("OPTIONS = {}\n\nclass Broken(:\n")
    says = "broken.py, line 3: SyntaxError: invalid syntax; correct the file"
    monkeypatch.setattr(reprise.models, "__path__", [str(tmp_path)])
    with pytest.raises(UserError, match=says):
        load("reprise.models.broken:Broken", "")
    monkeypatch.setattr(stated, "_path", lambda module: file)
    with pytest.raises(UserError, match=says):
        stated.stated("reprise.models.broken:Broken", "OPTIONS")


@pytest.mark.parametrize(("content", "holder"), [("", "unknown"), ("12 node-07.cluster", "12 on node-07.cluster")])
def test_what_others_have_written_is_read(tmp_path, content, holder):
    """One that has only just locked the file has written nothing yet."""
    lock = tmp_path / "0.lock"
    lock.write_text(content)
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Interrupted, match=f"is being trained by process {holder};"), replica_lock(lock, "p/e"):
            pass
