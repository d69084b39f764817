"""Captures that fail: what is left of them must not stand in the way of other stacks. On a device that pretends."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch

from reprise.kernels import stacked_programs
from reprise.kernels.stacked_programs import Programs, out_of_memory
from reprise.training.stack_running import make_room

CPU = torch.device("cpu")


class Driver:
    """As much of torch.cuda as a capture needs; `log` is what happened, `underway` the pools that it allocates in.

    `ends` says whether captures that failed can be ended, `version` of torch what becomes of their pools where not.
    """

    def __init__(self, monkeypatch, ends=True, version=(2, 12)):
        self.log, self.underway, self.pools, self.ends, self.version = [], set(), [], ends, version
        monkeypatch.setattr(stacked_programs, "FORGETS", version < (2, 14))
        for name, stand_in in {
            "cuda.CUDAGraph": lambda: Graph(self),
            "cuda.graph_pool_handle": self._pool,
            "cuda.current_device": lambda: 0,
            "cuda.stream": lambda stream: nullcontext(),
            "cuda.empty_cache": self._empty_cache,
            "cuda.synchronize": lambda: self.log.append("waited"),
            "_C._cuda_endAllocateToPool": self._end,
            "_C._cuda_releasePool": lambda device, pool: self.log.append("released"),
        }.items():
            monkeypatch.setattr(f"torch.{name}", stand_in, raising=False)

    def _pool(self):
        self.pools.append(len(self.pools))
        return self.pools[-1]

    def _empty_cache(self):
        assert not self.underway
        self.log.append("emptied")

    def _end(self, device, pool):
        if pool not in self.underway:
            raise RuntimeError("not currently recording to this pool")
        self.underway.remove(pool)


class Graph:
    def __init__(self, driver):
        self.driver, self.ended = driver, False

    def capture_begin(self, pool, capture_error_mode):
        assert capture_error_mode == "thread_local"
        self.own = pool
        self.driver.underway.add(pool)

    def capture_end(self):
        self.driver.log.append("ended")
        self.ended = self.driver.ends
        if self.ended or self.driver.version >= (2, 13):
            self.driver.underway.remove(self.own)
        if not self.ended:
            raise RuntimeError("operation failed due to a previous error during capture")

    def pool(self):
        if not self.ended:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self.own

    def replay(self):
        self.driver.log.append("replayed")


class Stream:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def wait_stream(self, other):
        self.log.append(f"{self.name} waits for {other.name}")


def programs_of(driver):
    programs = Programs(CPU)
    programs.capture = True
    programs._stream, programs._side = (Stream(name, driver.log) for name in ("main", "side"))
    return programs


def failing(programs, log, *errors, beside=False):
    """A program that fails in its second call, in its third ... with these errors."""
    left = iter([None, *errors])

    def program():
        log.append("called")
        with programs.beside() if beside else nullcontext():
            error = next(left, None)
            if error:
                raise error

    return program


@pytest.mark.parametrize(("version", "by_us"), [((2, 12), True), ((2, 13), True), ((2, 14), False)])
def test_after_a_capture_that_cannot_be_ended_torch_may_empty_its_cache(version, by_us, monkeypatch):
    driver = Driver(monkeypatch, ends=False, version=version)
    programs = programs_of(driver)
    program = failing(programs, driver.log, RuntimeError("not permitted when stream is capturing"))
    for _ in range(3):
        programs.run("a", program)
    assert programs.trouble == "program a: not permitted when stream is capturing"
    assert driver.log == ["called", "called", "ended", *["released"] * by_us, "called", "called"]
    assert not driver.underway


def test_of_a_capture_that_could_not_begin_nothing_is_released(monkeypatch):
    driver = Driver(monkeypatch)
    programs = programs_of(driver)

    def refused(graph, pool, capture_error_mode):
        raise RuntimeError("captured on the default stream")

    monkeypatch.setattr(Graph, "capture_begin", refused)
    for _ in range(2):
        programs.run("a", driver.log.append, "called")
    assert programs.trouble == "program a: captured on the default stream"
    assert driver.log == ["called", "called"]


@pytest.mark.parametrize("version", [(2, 12), (2, 13), (2, 14)])
def test_a_capture_that_could_be_ended_is_not_released_twice(version, monkeypatch):
    driver = Driver(monkeypatch, version=version)
    programs = programs_of(driver)
    program = failing(programs, driver.log, RuntimeError("no"))
    for _ in range(2):
        programs.run("a", program)
    assert driver.log == ["called", "called", "ended", "called"]


@pytest.mark.parametrize("lost", [False, True])
def test_streams_come_together_before_a_failed_capture_ends(lost, monkeypatch):
    driver = Driver(monkeypatch)
    programs = programs_of(driver)
    program = failing(programs, driver.log, RuntimeError("no"), beside=True)
    programs.run("a", program)
    programs.join()
    driver.log.clear()
    if lost:
        monkeypatch.setattr(programs._stream, "wait_stream", lambda other: torch.zeros(1).view(2))
    programs.run("a", program)
    assert programs.trouble == "program a: no"
    together = [] if lost else ["main waits for side"]
    assert driver.log[: 3 + len(together)] == ["called", "side waits for main", *together, "ended"]


def test_a_capture_without_room_is_tried_again_with_what_lay_unused(monkeypatch):
    driver = Driver(monkeypatch)
    programs = programs_of(driver)
    program = failing(programs, driver.log, torch.OutOfMemoryError("CUDA out of memory"))
    for _ in range(3):
        programs.run("a", program)
    assert driver.log == ["called", "called", "ended", "emptied", "called", "ended", "replayed", "replayed"]
    assert (programs.captured, programs.trouble, driver.pools) == (1, "", [0, 1])


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("no")])
def test_after_a_capture_that_failed_no_graph_of_the_stack_is_replayed(error, monkeypatch):
    driver = Driver(monkeypatch)
    programs = programs_of(driver)
    for _ in range(3):
        programs.run("sound", driver.log.append, "sound")
    assert driver.log == ["sound", "sound", "ended", "replayed", "replayed"]
    program = failing(programs, driver.log, error)
    programs.run(("b", 3), program)
    driver.log.clear()
    programs.run(("b", 3), program)
    # Nothing may be under way when the graphs go.
    assert driver.log[:3] == ["called", "ended", "waited"]
    driver.log.clear()
    programs.run("sound", driver.log.append, "sound")
    lost = isinstance(error, torch.OutOfMemoryError)
    assert driver.log == (["sound", "ended", "replayed"] if lost else ["sound"])
    assert programs.captured == (2 if lost else 0)
    assert programs.trouble == ("" if lost else "program b 3: no")


@pytest.mark.parametrize(
    ("error", "no_room"),
    [
        (torch.OutOfMemoryError("Tried to allocate 2.00 GiB"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (ValueError("out of memory"), False),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"), True),
        (MemoryError(), True),
    ],
)
def test_want_of_memory_is_known_by_its_words(error, no_room):
    assert out_of_memory(error) == no_room


def test_a_stack_without_room_is_gone_before_the_next_one_is_made():
    class Held:
        pass

    def builds(found):
        held = Held()
        found.append(weakref.ref(held))
        try:
            raise RuntimeError("out of memory")
        except RuntimeError as error:
            raise ValueError("while that was handled") from error

    found = []
    gc.disable()
    try:
        builds(found)
    except ValueError as error:
        assert found[0]() is not None
        make_room(error, CPU)
        assert found[0]() is None
    finally:
        gc.enable()
