"""`reprise run` where several GPUs are in sight: a process each. None is needed: the processes are stand-ins."""

from __future__ import annotations

import pytest
from run_command_helpers import run, small, write

from reprise.cli import run as run_command


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class Started(list):
    status = 75


@pytest.fixture
def started(monkeypatch):
    """Part and GPU of each process that would be started."""
    found = Started()

    class Process:
        def __init__(self, command, env):
            found.append((command[command.index("--part") + 1], env["CUDA_VISIBLE_DEVICES"]))

        def wait(self):
            return found.status

        def send_signal(self, number):
            raise AssertionError

    monkeypatch.setattr(run_command.subprocess, "Popen", Process)
    return found


def test_several_gpus_get_a_process_each(started, monkeypatch):
    write([small("a")])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,3")
    assert run() == 75
    assert started == [("0/2", "GPU-a"), ("1/2", "3")]


def test_several_gpus_that_torch_alone_sees_do_so_too(started, monkeypatch):
    write([small("a")])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(run_command, "visible_gpus", lambda: 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert run("--device", "cuda") == 75
    assert started == [("0/2", "0"), ("1/2", "1")]


@pytest.mark.parametrize(("status", "ends"), [(130, 130), (2, 1), (0, 0)])
def test_the_exit_status_tells_processes_that_were_stopped_from_those_that_failed(status, ends, started, monkeypatch):
    write([small("a")])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    started.status = status
    assert run() == ends
