"""Starts small trainings without paying for `import torch` each time.

Importing torch takes seconds, as long as a small experiment trains. With REPRISE_WARM set, the first `reprise train`
leaves a process behind that has imported torch and nothing of Reprise; later ones have it fork a child that works in
their folder, with their environment and their output. It ends when nobody has asked for a minute (for REPRISE_WARM_IDLE
seconds, if that is set). Whatever goes wrong on the way to the child, the command trains by itself: warm or cold, the
numbers are the same.

This file is run as a script too (the process left behind), so it imports the standard library alone.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

IDLE_SECONDS = float(os.environ.get("REPRISE_WARM_IDLE", "60"))
START_SECONDS = 60.0
# torch's determinism switch and its optimisers import torch._inductor on first use, which takes as long as torch.
PRELOAD = ("numpy", "torch", "torch._inductor.config", "rich.progress")


def run_warm(arguments: Sequence[str]) -> int | None:
    """Exit status of `reprise <arguments>` run by a warm process, or None where there is none to be had."""
    if "SLURM_JOB_ID" in os.environ:
        # A job takes its processes with it when it ends, and its limits are not those of the next.
        return None
    request = {"arguments": list(arguments), "folder": os.getcwd(), "environment": dict(os.environ)}
    line = json.dumps(request) + "\n"
    try:
        path = _socket_path()
        connection = _connect(path) or _start(path)
    except OSError:
        return None
    if connection is None:
        return None
    # The training is no child of this process, so a signal meant for it has to be passed on, and is held back until
    # its pid is known; not before, since a process that is started inherits what is held back.
    stopping = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    try:
        socket.send_fds(connection, [b"\n"], [0, 1, 2])
        connection.sendall(line.encode())
        answers = connection.makefile()
        child = int(_line(answers) or 0)
        if not child:
            return None
        for number in stopping:
            signal.signal(number, lambda n, _: _pass_on(child, n))
    except OSError:
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping)
    status = _line(answers)
    # No status: the child was killed before it could tell.
    return int(status) if status else 128 + signal.SIGKILL


def _line(answers: TextIO) -> str:
    """The next of the child's two answers, its pid and its status; empty where there is none any more."""
    try:
        return answers.readline().strip()
    except OSError:
        return ""


def _pass_on(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _socket_path() -> Path:
    folder = Path(tempfile.gettempdir()) / f"reprise-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
        raise PermissionError(f"{folder} is open to others")
    key = "\0".join((sys.executable, sys.prefix, os.environ.get("PYTHONPATH", ""), os.getcwd()))
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:12]}.sock"


def _connect(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    return connection


def _start(path: Path) -> socket.socket | None:
    """Starts the process, once however many ask at the same time, and waits until it answers."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (connection := _connect(path)) is not None:
            return connection
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        command = [sys.executable, __file__, str(path)]
        server = subprocess.Popen(command, **nothing, start_new_session=True, cwd="/")
        limit = time.monotonic() + START_SECONDS
        while time.monotonic() < limit and server.poll() is None:
            if (connection := _connect(path)) is not None:
                # It lives longer than this process and is nobody's to wait for.
                server.returncode = 0
                return connection
            time.sleep(0.02)
    return None


def serve(path: Path) -> None:
    """The process left behind: imports, then forks a child for every request."""
    sys.path.pop(0)  # this file's folder, which only stands there because the file was run as a script
    for name in PRELOAD:
        with contextlib.suppress(ImportError):
            __import__(name)
    listener = socket.socket(socket.AF_UNIX)
    path.unlink(missing_ok=True)
    listener.bind(str(path))
    listener.listen(64)
    listener.settimeout(IDLE_SECONDS)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            path.unlink(missing_ok=True)
            return
        if os.fork() == 0:
            listener.close()
            _work(connection)
        connection.close()


def _work(connection: socket.socket) -> None:
    """A child: takes over the request's folder, environment and output, works, and reports its exit status."""
    try:
        arguments = _taken_over(connection)
        connection.sendall(f"{os.getpid()}\n".encode())
    except BaseException:
        # Who asked is gone, or trains by itself: the first line is a pid or there is none.
        os._exit(1)
    status = 1
    try:
        from reprise.cli import main

        status = main(arguments)
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
            connection.sendall(f"{status}\n".encode())
        os._exit(status)


def _taken_over(connection: socket.socket) -> list[str]:
    """The request's arguments; its folder, environment and output are this process's from then on."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    line = connection.makefile().readline()
    if not line.endswith("\n"):
        raise EOFError  # somebody only tried whether the process answers, or was killed
    request = json.loads(line)
    for target, source in enumerate(files):
        os.dup2(source, target)
        os.close(source)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    sys.path[:0] = [os.path.abspath(p) for p in paths]
    return request["arguments"]


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
