"""Jobs: their locks and devices, and replicas of one experiment as one job in the engine `stacked`."""

import fcntl
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partialmethod
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from experiment_helpers import DIGITS, experiment, jobs_of
from protocol_helpers import checkpoints

from reprise.catalogue.models import MODELS, Model
from reprise.engines.stack import OutOfMemory, Stack
from reprise.errors import Interrupted, UserError
from reprise.records.record import read_record
from reprise.training.jobs import run_jobs
from reprise.training.locks import LockHeld, lock_replica
from reprise.training.run_facts import collect_run_facts, reset_peak_memory
from reprise.training.torch_state import choose_device, use_torch_settings

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
        values, expected = ([metric["value"] for metric in record["metrics"]] for record in one)
        assert values == pytest.approx(expected, rel=1e-9)


def test_one_job_writes_a_record_a_replica(jobs, tmp_path):
    records = run_jobs(jobs)
    held_to(records, run_jobs(made(tmp_path / "alone", "reference")))
    assert records == [read_record(job.output, job.resolved, job.replica) for job in jobs]
    assert {record["run"]["engine"] for record in records} == {"stacked"}
    assert checkpoints(tmp_path) == []
    assert run_jobs(jobs) == records


def test_a_replica_that_diverges_leaves_its_record_and_the_others_finish(monkeypatch, tmp_path):
    originals = run_jobs(made(tmp_path / "whole"))
    advance = Stack.advance

    def poisoned(stack, trainings):
        if len(trainings) == REPLICAS and trainings[1].step == 4:
            engine = trainings[1].engine
            engine.load({name: value * float("nan") for name, value in engine.export().items()})
        return advance(stack, trainings)

    monkeypatch.setattr(Stack, "advance", poisoned)
    records = run_jobs(made(tmp_path))
    assert [record["status"] for record in records] == ["finished", "diverged", "finished"]
    held_to(records[::2], originals[::2])


def test_without_room_the_job_is_halved_and_without_any_it_is_refused(monkeypatch, tmp_path, caplog):
    originals, sizes, advance = run_jobs(made(tmp_path / "whole")), [], Stack.advance

    def scarce(stack, trainings, room):
        sizes.append(len(trainings))
        if len(trainings) > room:
            raise OutOfMemory("no room")
        return advance(stack, trainings)

    monkeypatch.setattr(Stack, "advance", partialmethod(scarce, room=2))
    caplog.clear()
    records = run_jobs(made(tmp_path))
    assert set(sizes) == {3, 2, 1}
    held_to(records, originals)
    assert caplog.text.count("out of memory: 2 replicas") == 1
    assert checkpoints(tmp_path) == []
    monkeypatch.setattr(Stack, "advance", partialmethod(scarce, room=0))
    with pytest.raises(UserError, match="more memory than there is"):
        run_jobs(made(tmp_path / "none"))


def test_what_another_process_trains_is_left_out(jobs):
    with lock_replica(jobs[0].get_path(0).with_suffix(".lock"), jobs[0].title):
        assert [record["replica"] for record in run_jobs(jobs)] == [1, 2]
        with pytest.raises(LockHeld):
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


OWN = """
import torch
from torch import nn

class Lacking(nn.Module):
    def __init__(self, hidden_size, **options):
        super().__init__()
        self.W, self.weight_law = nn.Parameter(torch.ones(hidden_size, 3)), "plain"
"""
BROKEN = (
    OWN
    + """
    def initialise(self, generator):
        return {}["a key"]
"""
)
SHAPES = (
    OWN
    + """
    def fan_in(self):
        return {"W": 3}

    def forward(self, x):
        return self.W @ self.W
"""
)


@pytest.fixture
def own_model(monkeypatch, tmp_path):
    """Makes a model file outside of the package; a function of its text."""

    def make(text: str) -> Path:
        file = tmp_path / "own_model.py"
        file.write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "own_model", raising=False)
        monkeypatch.setitem(MODELS, "own", Model("own_model:Lacking"))
        return file

    yield make
    sys.modules.pop("own_model", None)


@pytest.mark.parametrize(
    ("protocol", "engine", "text", "message"),
    [
        ("recall", "auto", OWN, ": AttributeError: 'Lacking' object has no attribute 'initialise'"),
        ("recall", "auto", BROKEN, ", line 11: KeyError: 'a key'"),
        ("final-digit", "auto", SHAPES, r", line 14: RuntimeError: mat1 and mat2 .*"),
    ],
)
def test_a_mistake_of_the_users_model_is_one_line(small, own_model, tmp_path, protocol, engine, text, message):
    file = own_model(text)
    (job, _) = jobs_of([small.resolved(protocol, model="own")], tmp_path, engine)
    with pytest.raises(UserError, match=rf"^{file}{message}: while the protocol {protocol} trained the model own; "):
        run_jobs([job])


@pytest.mark.parametrize("error", [TypeError, KeyError, RuntimeError, AttributeError, ZeroDivisionError])
def test_a_mistake_of_ours_keeps_its_kind(small, monkeypatch, tmp_path, error):
    (job, _) = jobs_of([small.resolved("recall")], tmp_path, "auto")
    monkeypatch.setattr("reprise.training.protocol.Steps.advance", Mock(side_effect=error("of ours")))
    with pytest.raises(error, match="of ours"):
        run_jobs([job])


@pytest.mark.parametrize(("content", "holder"), [("", "unknown"), ("12 node-07.cluster", "12 on node-07.cluster")])
def test_what_others_have_written_is_read(tmp_path, content, holder):
    """One that has only just locked the file has written nothing yet."""
    lock = tmp_path / "0.lock"
    lock.write_text(content)
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Interrupted, match=f"process {holder};"), lock_replica(lock, "p/e"):
            pass


def test_torchs_switches_are_set_for_trainings_and_restored():
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    with pytest.raises(KeyError), use_torch_settings(2):
        assert torch.get_num_threads() == 2
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.utils.deterministic.fill_uninitialized_memory
        raise KeyError
    assert (torch.get_num_threads(), torch.get_deterministic_debug_mode()) == (threads, mode)
    assert torch.utils.deterministic.fill_uninitialized_memory


def test_a_training_beside_others_has_no_peak_of_memory_of_its_own():
    with ThreadPoolExecutor() as pool:
        facts = pool.submit(collect_run_facts, "none", torch.device("cpu"), 0.0, 0).result()
    assert "peak_memory_mib" not in facts
    assert facts.keys() | {"peak_memory_mib"} == collect_run_facts("none", torch.device("cpu"), 0.0, 0).keys()


def test_a_records_peak_of_memory_is_its_own():
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this system does not count a peak anew")

    def peak() -> float:
        return collect_run_facts("none", torch.device("cpu"), 0.0, 0)["peak_memory_mib"]

    reset_peak_memory()
    low = peak()
    del (large := [torch.ones(300 * 2**18)])[:]  # 300 MiB, and gone
    assert large == []
    assert peak() > low + 250
    reset_peak_memory()
    assert peak() < low + 100
