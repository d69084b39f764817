"""A server that answers with something else, seen from the pipeline (the tests of `fetch` have all its answers)."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from project import Project

pytestmark = pytest.mark.faults

TEXT = b"no it was n't black monday\n" * 1000
PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"
FILE = "data/raw/small/text.txt"


def test_a_page_in_place_of_a_file(finished: Project) -> None:
    """The job is tried again, says what came, and leaves nothing; a later run gets the file."""
    bodies = [PAGE] * 3 + [TEXT]  # the rule has two retries

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = bodies.pop(0)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
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
        refused = finished.snakemake(to=[FILE], NO_PROXY="127.0.0.1")
        left = [path for path in (finished.root / "data/raw/small").rglob("*") if path.is_file()]
        again = finished.snakemake(to=[FILE], NO_PROXY="127.0.0.1")
        server.shutdown()
    assert (refused.status, left, bodies) == (1, [], [])
    assert "an HTML page came" in refused.log
    assert "Traceback" not in refused.log
    assert again.status == 0, again.log
    assert (finished.root / FILE).read_bytes() == TEXT
