"""Downloads against a server on this machine that misbehaves in every way we know of."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reprise.catalogue.spec import DatasetSpec, FileSpec
from reprise.data.fetch import fetch
from reprise.errors import UserError

RIGHT = b"no it was n't black monday\n" * 5000
WRONG = RIGHT.replace(b"monday", b"sunday")
HTML = b"\n<!DOCTYPE html><html><body>Please log in</body></html>"
SHA256 = hashlib.sha256(RIGHT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves one answer a path; `asked` counts requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: Counter[str] = Counter()
        self.files = {"/right": RIGHT, "/wrong": WRONG, "/html": HTML}

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path = self.path
        self.server.asked[path] += 1
        failing = path == "/down" or (path == "/twice" and self.server.asked[path] <= 2)
        if failing or path == "/gone":
            self.send_error(500 if failing else 404)
            return
        body = self.server.files.get(path, RIGHT)
        self.send_response(200)
        if path != "/unsized":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        first = self.server.asked[path] == 1
        if path in ("/truncated", "/unsized") or (path == "/truncated-once" and first):
            body = body[:70_000]
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def said() -> list[str]:
    return []


def dataset(url: str | None, **values: object) -> DatasetSpec:
    entry = {"name": "a.txt", "url": url, "algorithm": "sha256", "digest": SHA256, **values}
    return DatasetSpec("toy", "", "", "", "ptb", (FileSpec(**entry),), "toys")


def get(spec: DatasetSpec, tmp_path: Path, said: list[str], mirror: Path | None = None) -> Path:
    (path,) = fetch(spec, tmp_path / "raw", mirror, said.append, pause=0.0)
    assert left(tmp_path) == [path.name]
    return path


def left(tmp_path: Path) -> list[str]:
    """Every file under raw/, hidden ones too."""
    return sorted(path.name for path in (tmp_path / "raw").rglob("*") if path.is_file())


def refused(
    spec: DatasetSpec,
    tmp_path: Path,
    said: list[str],
    mirror: Path | None = None,
    pause: float = 0.0,
) -> str:
    with pytest.raises(UserError) as caught:
        fetch(spec, tmp_path / "raw", mirror, said.append, pause=pause)
    assert "\n" not in str(caught.value)
    assert left(tmp_path) == []
    return str(caught.value)


def shelf(tmp_path: Path, content: bytes, name: str = "a.txt") -> Path:
    file = tmp_path / "mirror" / "toys" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return tmp_path / "mirror"


def test_right_file_is_downloaded_once(server: Server, tmp_path: Path, said: list[str]) -> None:
    spec = dataset(server.url("right"))
    path = get(spec, tmp_path, said)
    assert path == tmp_path / "raw" / "toy" / "a.txt"
    assert path.read_bytes() == RIGHT
    assert said == [f"toy/a.txt: downloaded from {server.url('right')} ({len(RIGHT):,} bytes)"]
    get(spec, tmp_path, said)
    assert said[1:] == ["toy/a.txt: already there, checksum verified"]
    assert server.asked == {"/right": 1}


def test_500_twice_then_200(server: Server, tmp_path: Path, said: list[str]) -> None:
    assert get(dataset(server.url("twice")), tmp_path, said).read_bytes() == RIGHT
    assert server.asked == {"/twice": 3}
    assert [("HTTP 500" in line) for line in said] == [True, True, False]


def test_500_for_ever(server: Server, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("reprise.data.fetch.time.sleep", pauses.append)
    assert "REPRISE_MIRROR" in refused(dataset(server.url("down")), tmp_path, said, pause=1.0)
    assert server.asked == {"/down": 4}
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("path", "size", "attempts", "words"),
    [
        ("gone", None, 1, "HTTP 404"),
        ("truncated", None, 4, "truncated"),
        ("truncated", len(RIGHT), 4, "truncated"),
        ("unsized", len(RIGHT), 4, "truncated"),
        ("html", len(RIGHT), 1, "an HTML page came"),
        ("wrong", None, 1, hashlib.sha256(WRONG).hexdigest()),
        ("right", 1000, 1, "more than the 1,000 bytes"),
    ],
)
def test_a_wrong_answer(server: Server, tmp_path: Path, said: list[str], path, size, attempts, words) -> None:
    assert words in refused(dataset(server.url(path), size=size), tmp_path, said)
    assert server.asked == {f"/{path}": attempts}


def test_truncated_once(server: Server, tmp_path: Path, said: list[str]) -> None:
    assert get(dataset(server.url("truncated-once")), tmp_path, said).read_bytes() == RIGHT


def test_no_network(server: Server, tmp_path: Path, said: list[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/right"
        message = refused(dataset(url), tmp_path, said)
    assert "no network" in message
    assert "set REPRISE_MIRROR to a folder that holds toys/a.txt" in message


def test_mirror_comes_first(server: Server, tmp_path: Path, said: list[str]) -> None:
    mirror = shelf(tmp_path, RIGHT)
    assert get(dataset(server.url("right")), tmp_path, said, mirror).read_bytes() == RIGHT
    assert said == [f"toy/a.txt: from the mirror, {mirror / 'toys' / 'a.txt'}"]
    assert not server.asked


def test_wrong_file_in_mirror(server: Server, tmp_path: Path, said: list[str]) -> None:
    mirror = shelf(tmp_path, WRONG)
    assert get(dataset(server.url("right")), tmp_path, said, mirror).read_bytes() == RIGHT
    assert "refused" in said[0]
    assert SHA256 in said[0]
    assert "downloaded" in said[1]
    assert (mirror / "toys" / "a.txt").read_bytes() == WRONG
    (tmp_path / "raw" / "toy" / "a.txt").unlink()
    for path in ("wrong", "down"):
        message = refused(dataset(server.url(path)), tmp_path, said, mirror)
        assert f", or replace {mirror / 'toys' / 'a.txt'} of the mirror, which has another checksum" in message
        assert "REPRISE_MIRROR" not in message


def test_mirror_without_the_file(server: Server, tmp_path: Path, said: list[str]) -> None:
    mirror = shelf(tmp_path, RIGHT, "b.txt")
    assert get(dataset(server.url("right")), tmp_path, said, mirror).read_bytes() == RIGHT
    said.clear()
    (tmp_path / "raw" / "toy" / "a.txt").unlink()
    assert get(dataset(server.url("right")), tmp_path, said, tmp_path / "none").is_file()
    assert "no such folder" in said[0]
    assert "downloaded" in said[1]


def test_no_url_and_no_mirror(tmp_path: Path, said: list[str]) -> None:
    assert "set REPRISE_MIRROR to a folder" in refused(dataset(None), tmp_path, said)
    assert get(dataset(None), tmp_path, said, shelf(tmp_path, RIGHT)).read_bytes() == RIGHT


def test_damaged_raw_file(server: Server, tmp_path: Path, said: list[str]) -> None:
    path = get(dataset(server.url("right")), tmp_path, said)
    path.write_bytes(WRONG)
    said.clear()
    assert get(dataset(server.url("right")), tmp_path, said).read_bytes() == RIGHT
    assert "wrong checksum" in said[0]
    assert "removed" in said[0]
    assert "downloaded" in said[1]
    path.write_bytes(WRONG)
    refused(dataset(server.url("down")), tmp_path, said)


def test_bar_on_a_terminal(
    server: Server,
    tmp_path: Path,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    get(dataset(server.url("right")), tmp_path, said).unlink()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert get(dataset(server.url("right")), tmp_path, said).read_bytes() == RIGHT
    assert "toy/a.txt" in capsys.readouterr().err
