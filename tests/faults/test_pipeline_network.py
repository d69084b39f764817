"""A server that answers with something else, seen from the pipeline (tests/unit/test_fetch.py has all its answers)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from project import PYTHON, Project, Run

pytestmark = pytest.mark.faults

TEXT = b"no it was n't black monday\n" * 1000
PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"
FILE = "data/raw/small/text.txt"


class Server(HTTPServer):
    """Answers every request with `body`, and counts them."""

    body, asked = PAGE, 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def fetch(project: Project) -> Run:
    command = (PYTHON, "-m", "snakemake", "--cores", "1", "--config", "tier=quick", "--", FILE)
    done = project.run(*command, NO_PROXY="127.0.0.1")
    return Run(done.returncode, done.stdout, done.stderr)


def test_a_page_in_place_of_a_file(finished: Project, server: Server) -> None:
    """The job is tried again, says what came, and leaves nothing; a later run gets the file."""
    entry = f"""  small:
    title: A text
    licence: ours
    homepage: ""
    prepare: ptb
    files:
      - name: text.txt
        url: http://127.0.0.1:{server.server_port}/text.txt
        algorithm: sha256
        digest: {hashlib.sha256(TEXT).hexdigest()}
"""
    finished.edit("config/config.yaml", "  synthetic:\n", f"{entry}  synthetic:\n")
    run = fetch(finished)
    assert run.status == 1
    assert "an HTML page came" in run.log
    assert "Traceback" not in run.log
    assert server.asked == 3  # the rule has two retries
    assert [path for path in (finished.root / "data/raw/small").rglob("*") if path.is_file()] == []
    server.body = TEXT
    run = fetch(finished)
    assert run.status == 0, run.log
    assert (finished.root / FILE).read_bytes() == TEXT
