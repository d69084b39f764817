"""Fixtures that several test files share."""

import fcntl
import logging
import os
import pickle
import shutil
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# One thread a process, as in the pipeline: threads that wait for a busy core make small models many times slower.
os.environ["OMP_NUM_THREADS"] = "1"
# Processes that tests start find the package as the tests do, installed or not.
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")

import pytest
import torch
from project import COMPILED, Project, new_project

torch.set_num_threads(1)
# A shell that runs the tests in its background has SIGINT ignored, and all that they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, size, body = self.server.answer(self.path)
        self.send_response(status)
        if size is not None:
            self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def fresh_log():
    """Undo what a command of an earlier test made of the package's log: `--quiet` hides warnings."""
    package = logging.getLogger("reprise")
    package.handlers = []
    package.setLevel(logging.NOTSET)


@pytest.fixture
def server(monkeypatch):
    """A server on this machine at `url`. The function `answer` of a path: a status, the size that is told, the body."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def mirror():
    """The folder of real raw files that REPRISE_MIRROR names; without it the test is skipped."""
    folder = Path(os.environ.get("REPRISE_MIRROR") or "/nowhere")
    if not folder.is_dir():
        pytest.skip(f"REPRISE_MIRROR names no folder of raw files: {folder}")
    return folder


@pytest.fixture(scope="session")
def pipeline_variables(tmp_path_factory):
    """Environment of pipelines that tests run: engines are compiled once."""
    return {"TMPDIR": str(tmp_path_factory.mktemp("t")), "REPRISE_BUILD": str(COMPILED)}


@pytest.fixture(scope="session")
def first_run(tmp_path_factory, pipeline_variables):
    """A project whose pipeline has run once, and that run. Not to be changed: `finished` is a copy.

    The first of the test processes that asks for it runs it, for all of them.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "first"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "run").exists():
            shutil.rmtree(folder / "clone", ignore_errors=True)
            run = new_project(folder / "clone", pipeline_variables).snakemake()
            assert run.status == 0, run.log
            (folder / "run").write_bytes(pickle.dumps(run))
    return Project(folder / "clone", pipeline_variables), pickle.loads((folder / "run").read_bytes())


@pytest.fixture
def finished(first_run, tmp_path):
    """A copy of the finished project, modification times and Snakemake's notes included."""
    return first_run[0].copy(tmp_path / "finished")


@pytest.fixture
def clone(tmp_path, pipeline_variables):
    """A project in which nothing has run."""
    return new_project(tmp_path / "clone", pipeline_variables)
