"""How programs are called, captured and replayed, on a device that only pretends; the masks of a stack."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from reprise import counters
from reprise.kernels import stacked_streams
from reprise.kernels.stacked_masks import StackedMasks, ladder_of
from reprise.kernels.stacked_programs import Programs

CPU = torch.device("cpu")


class Graph:
    """Does what was captured whenever it is replayed."""

    def __init__(self, log, work):
        self.log, self.work = log, work

    def replay(self):
        self.log.append("replayed")
        self.work()


def pretending(monkeypatch, log, failure=None):
    """Programs that capture."""
    programs = Programs(CPU)
    programs.capture = True

    def captured(program, arguments):
        log.append("captured")
        if failure:
            raise failure
        return Graph(log, lambda: program(*arguments))

    monkeypatch.setattr(programs, "_captured", captured)
    return programs


def test_on_a_cpu_programs_are_called():
    programs, found = Programs(CPU), []
    with programs.stream():
        for number in range(3):
            programs.run("a", found.append, number)
        with programs.beside():
            found.append("beside")
        programs.join()
        programs.mark()
    assert found == [0, 1, 2, "beside"]
    assert (programs.pending, programs.captured, programs.trouble) == (0, 0, "")


def test_a_program_is_called_first_captured_next_and_replayed_from_then_on(monkeypatch):
    log, found = [], []
    programs = pretending(monkeypatch, log)
    for _ in range(4):
        programs.run("a", found.append, 7)
    programs.run("b", found.append, 8)
    assert found == [7, 7, 7, 7, 8]
    assert log == ["captured", "replayed", "replayed", "replayed"]
    assert programs.captured == 1


def test_where_a_capture_fails_programs_are_called_and_it_is_said(monkeypatch):
    log, found = [], []
    programs = pretending(monkeypatch, log, RuntimeError("operation not permitted\nwhen stream is capturing"))
    for _ in range(4):
        programs.run("a", found.append, 7)
    assert found == [7, 7, 7, 7]
    assert log == ["captured"]
    assert programs.trouble == "program a: operation not permitted"


def test_out_of_memory_in_a_capture_is_told(monkeypatch):
    programs = pretending(monkeypatch, [], RuntimeError("CUDA error: out of memory"))
    programs.run("a", len, ())
    with pytest.raises(RuntimeError, match="out of memory"):
        programs.run("a", len, ())


@pytest.fixture
def streams(monkeypatch):
    """Those of a device on which none has been lent yet: torch hands out 32 of each priority in turn."""
    handed_out = {0: 0, -1: 0}

    def another(device, priority=0):
        handed_out[priority] += 1
        return SimpleNamespace(cuda_stream=100 * -priority + handed_out[priority] % 32)

    monkeypatch.setattr(torch.cuda, "Stream", another)
    monkeypatch.setattr(stacked_streams, "_free", {})
    monkeypatch.setattr(stacked_streams, "_known", {})
    return handed_out


def streams_of(programs):
    return {programs._stream.cuda_stream, programs._side.cuda_stream}


def test_living_stacks_never_share_a_stream(streams):
    gpu = torch.device("cuda", 0)
    living = [Programs(gpu) for _ in range(20)]
    assert len(set.union(*map(streams_of, living))) == 40
    gone = streams_of(living.pop(3))
    # Those of a stack that is no more are lent again, before any that is new.
    before = dict(streams)
    assert streams_of(Programs(gpu)) == gone
    assert streams == before
    living += [Programs(gpu) for _ in range(13)]
    with pytest.raises(RuntimeError, match="no stream is left"):
        Programs(gpu)


@pytest.mark.parametrize("replicas_at", [0, 1])
def test_masks_are_those_of_each_replica_alone(replicas_at):
    keys, rates = (1, 2**64 - 1, 2**63), (0.5, 0.25, 0.0)
    law = StackedMasks(rates, CPU, torch.float32)
    law.set_keys(keys)
    n, W, first = 5, 7, 123_456_789
    shape = [n, W]
    shape.insert(replicas_at, 3)
    out = torch.empty(shape)
    for place in (first, torch.tensor([first])):
        law.fill(out.zero_(), ladder_of(n, W, CPU), place, replicas_at)
        for r, (key, rate) in enumerate(zip(keys, rates, strict=True)):
            own = counters.dropout_mask(key, first, n, W, rate)
            assert np.array_equal(out.select(replicas_at, r).numpy(), own)
