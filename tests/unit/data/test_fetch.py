"""Downloads against a server on this machine that misbehaves in every way we know of, mirrors, and zip archives."""

import errno
import gzip
import hashlib
import socket
import threading
import time
import zipfile
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from reprise.config.datasets import NamedDataset, RawFile
from reprise.data.fetch import fetch_file, read_member
from reprise.data.raw import compute_digest
from reprise.errors import UserError

RIGHT = b"no it was n't black monday\n" * 5000
WRONG = RIGHT.replace(b"monday", b"sunday")
HTML = b"\n<!DOCTYPE html><html><body>Please log in</body></html>"
SHA256 = hashlib.sha256(RIGHT).hexdigest()
LIMIT = 1 << 20


@pytest.fixture
def requests(server):
    """The requests of each path that the server has had; some are answered well only after some."""
    requests = Counter()

    def answer(path: str) -> tuple[int, int | None, bytes]:
        requests[path] += 1
        if path == "/gone":
            return 404, 0, b""
        if path == "/down" or (path == "/twice" and requests[path] <= 2):
            return 500, 0, b""
        body = {"/wrong": WRONG, "/html": HTML}.get(path, RIGHT)
        broken = path in ("/truncated", "/unsized") or (path == "/truncated-once" and requests[path] == 1)
        return 200, None if path == "/unsized" else len(body), body[:70_000] if broken else body

    server.answer = answer
    return requests


class Fetching:
    """A dataset of one file `a.txt`, the lines that were said, and a mirror that may hold files."""

    def __init__(self, folder: Path) -> None:
        self.raw, self.mirror, self.messages = folder / "raw", folder / "mirror", []
        self.target = self.raw / "toy/a.txt"
        self.mirror.mkdir()

    def put(self, content: bytes, name: str = "a.txt") -> Path:
        path = self.mirror / "toys" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def get(self, url: str | None = None, mirror: Path | None = None, pause: float = 0.0, **values: object) -> bytes:
        file = RawFile(**{"name": "a.txt", "url": url, "algorithm": "sha256", "digest": SHA256, **values})
        of_dataset = dict.fromkeys(("title", "licence", "homepage", "prepare"), "toy")
        spec = NamedDataset(name="toy", mirror="toys", files=[file], **of_dataset)
        path = fetch_file(spec, file, self.raw, mirror or self.mirror, self.messages.append, pause)
        assert path == self.target
        return path.read_bytes()

    def get_refusal(self, url: str | None, **values: object) -> str:
        before = self.list_files()
        with pytest.raises(UserError) as caught:
            self.get(url, **values)
        assert "\n" not in str(caught.value)
        assert self.list_files() == before
        return str(caught.value)

    def list_files(self) -> list[str]:
        """Every file under raw/, hidden ones too."""
        return sorted(path.name for path in self.raw.rglob("*") if path.is_file())


@pytest.fixture
def fetching(tmp_path):
    return Fetching(tmp_path)


def test_right_file_is_downloaded_once(server, requests, fetching):
    right = f"{server.url}/right"
    assert fetching.get(right) == RIGHT
    assert fetching.messages == [f"toy/a.txt: downloaded from {right} ({len(RIGHT):,} bytes)"]
    fetching.get(right)
    assert [message.split(", ")[0] for message in fetching.messages[1:]] == ["toy/a.txt: already there"]
    assert requests == {"/right": 1}
    fetching.target.write_bytes(WRONG)
    assert fetching.get(right) == RIGHT
    assert "wrong checksum" in fetching.messages[2]
    fetching.target.write_bytes(WRONG)
    fetching.get_refusal(f"{server.url}/down")
    assert fetching.target.read_bytes() == WRONG  # whoever changed the file has it still


def test_what_was_gone_is_asked_for_again_after_longer_pauses(server, requests, fetching, monkeypatch):
    for path in ("twice", "truncated-once"):
        assert fetching.get(f"{server.url}/{path}") == RIGHT
        fetching.target.unlink()
    assert requests == {"/twice": 3, "/truncated-once": 2}
    pauses = []
    monkeypatch.setattr("reprise.data.fetch.time.sleep", pauses.append)
    assert "HTTP 500" in fetching.get_refusal(f"{server.url}/down", pause=1.0)
    assert (requests["/down"], pauses) == (4, [1.0, 2.0, 4.0])


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
def test_a_wrong_answer(server, requests, fetching, path, size, attempts, words):
    message = fetching.get_refusal(f"{server.url}/{path}", size=size)
    assert words in message
    assert "REPRISE_MIRROR" in message
    assert "toys/a.txt" in message
    assert requests == {f"/{path}": attempts}


@contextmanager
def raw_server(answer: bytes, drip: bytes = b""):
    """A server on this machine that sends these bytes, then a `drip` every 10 ms, or hangs (b"-"); yields its port."""
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(answer)
                    while drip and not ended.wait(0.01):
                        connection.sendall(drip.strip(b"-"))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            thread.join()


GZ = gzip.compress(RIGHT, mtime=0)
MOVED = b"HTTP/1.1 301 Moved\r\nLocation: %s\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\n%s\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "size"),
    [
        (MOVED % b"https://[fe80::/a.txt", None),
        (MOVED % b"//..example/a.txt", None),
        (MOVED % b"http://\xc3\x28/a.txt", None),
        (MOVED % b"http://host:99999999/a.txt", None),
        (MOVED % b"gopher://127.0.0.1/a.txt", None),
        (ANSWER % (b"Content-Length: " + b"7" * 6000), None),
        (ANSWER % b"Content-Length: 99999999999999999999" + RIGHT, 100_000),
        (ANSWER % b"Content-Length: 1, 2" + RIGHT, None),
        (ANSWER % b"Transfer-Encoding: chunked" + b"-a\r\nhello", None),
        (ANSWER % b"Transfer-Encoding: chunked" + b"no number\r\nhello", None),
        (ANSWER % b"X: y\r\n".join(200 * [b""]) + RIGHT, None),
        (b"hello\r\n\r\n", None),
        (b"\xff" * 70_000, None),
        (b"", None),
    ],
)
def test_an_answer_that_is_not_http_is_one_line(fetching, monkeypatch, answer, size):
    monkeypatch.setenv("NO_PROXY", "*")
    with raw_server(answer) as port:
        message = fetching.get_refusal(f"http://127.0.0.1:{port}/a.txt", size=size)
    assert message.startswith("toy/a.txt: ")
    assert f"127.0.0.1:{port}/a.txt" in message or "bytes expected" in message
    assert len(message) < 500
    assert message.isascii()


@pytest.mark.parametrize("url", ["http://a..b/x", "http://[::1/x", f"http://{'x' * 80}.net/x", "http://h:99999/x"])
def test_an_address_that_is_not_valid_is_one_line(fetching, url):
    assert url in fetching.get_refusal(url)


def test_bytes_are_checked_as_they_were_sent(fetching, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with raw_server(ANSWER % b"Content-Encoding: gzip" + GZ) as port:
        assert fetching.get(f"http://127.0.0.1:{port}/a", digest=hashlib.sha256(GZ).hexdigest(), size=len(GZ)) == GZ


@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nX: ", ANSWER % b"Content-Length: 100000"])
@pytest.mark.parametrize("drip", [b"a", b"-"])
def test_a_server_that_drips_or_hangs_is_left(fetching, monkeypatch, answer, drip):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr("reprise.data.fetch._GRACE", 0.3)
    monkeypatch.setattr("reprise.data.fetch._ATTEMPTS", 2)
    with raw_server(answer, drip) as port:
        begin = time.monotonic()
        assert "too slow" in fetching.get_refusal(f"http://127.0.0.1:{port}/a.txt")
        assert time.monotonic() - begin < 10


@pytest.mark.parametrize("path", ["right", "gone", "down", "wrong"])
def test_no_password_is_printed(server, requests, fetching, path):
    url = f"{server.url}/{path}".replace("//", "//me:secret@")
    text = str(fetching.get(url)) if path == "right" else fetching.get_refusal(url)
    assert "secret" not in text + "".join(fetching.messages)
    fetching.target.unlink(missing_ok=True)
    assert "secret" not in fetching.get_refusal("http://me:secret@[::1/a")


def test_no_network(fetching):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        assert "no network" in fetching.get_refusal(f"http://127.0.0.1:{unused.getsockname()[1]}/right")


def test_the_mirror_comes_first_unless_its_file_is_wrong(server, requests, fetching):
    mirrored = fetching.put(RIGHT)
    assert fetching.get(f"{server.url}/right") == RIGHT
    assert fetching.messages == [f"toy/a.txt: from the mirror, {mirrored}"]
    assert not requests
    fetching.target.unlink()
    fetching.put(WRONG)
    assert fetching.get(f"{server.url}/right") == RIGHT
    assert f"refused {mirrored} of the mirror" in fetching.messages[1]
    fetching.target.unlink()
    for path in ("wrong", "down"):
        message = fetching.get_refusal(f"{server.url}/{path}")
        assert f"replace {mirrored}" in message
        assert "REPRISE_MIRROR" not in message


def test_a_mirror_without_the_file(server, requests, fetching, tmp_path):
    for mirror in (fetching.mirror, tmp_path / "none"):
        assert fetching.get(f"{server.url}/right", mirror) == RIGHT
        fetching.target.unlink()


@pytest.mark.parametrize("algorithm", ["sha256", "sha1", "git-blob"])
def test_a_file_that_the_mirror_alone_has_is_checked(fetching, tmp_path, algorithm):
    assert "REPRISE_MIRROR" in fetching.get_refusal(None)
    (tmp_path / "x").write_bytes(RIGHT)
    checksum = {"algorithm": algorithm, "digest": compute_digest(tmp_path / "x", algorithm)}
    mirrored = fetching.put(WRONG)
    message = fetching.get_refusal(None, **checksum)
    assert "key datasets.toy.files" in message
    assert f"replace {mirrored}" in message
    mirrored.unlink()
    fetching.target.parent.mkdir(parents=True)
    fetching.target.write_bytes(WRONG)  # a text of one's own, put there by hand
    assert "key datasets.toy.files" in fetching.get_refusal(None, **checksum)
    assert fetching.target.read_bytes() == WRONG
    fetching.put(RIGHT)
    assert fetching.get(None, **checksum) == RIGHT


def test_checksums_are_those_of_git_and_openssl(tmp_path):
    (tmp_path / "a").write_bytes(b"hello\n")
    assert compute_digest(tmp_path / "a", "sha1") == "f572d396fae9206628714fb2ce00f72e94f2258f"
    assert compute_digest(tmp_path / "a", "git-blob") == "ce013625030ba8dba906f756967f9e9ca394464a"


@pytest.fixture
def zipped(fetching):
    """Of values of the file's entry: those of one that is a member of a zip in the mirror."""
    path = fetching.put(b"", "z.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep/er", RIGHT)
    digest, member = hashlib.sha256(path.read_bytes()).hexdigest(), ("sha1", hashlib.sha1(RIGHT).hexdigest())
    return {"url": "http://127.0.0.1:9/dc/z.zip", "digest": digest, "member": "deep/er", "member_digest": member}


def test_member_of_an_archive(fetching, zipped):
    assert fetching.get(**zipped) == RIGHT
    assert ["from the mirror" in fetching.messages[0], "taken out of z.zip" in fetching.messages[1]] == [True, True]
    fetching.target.write_bytes(WRONG)
    (fetching.mirror / "toys/z.zip").unlink()  # now out of the archive that is kept in raw/
    assert fetching.get(**zipped) == RIGHT
    assert fetching.list_files() == ["a.txt", "z.zip"]
    fetching.get(**zipped)
    assert fetching.messages[-1].startswith("toy/a.txt: already there")
    fetching.target.write_bytes(WRONG)
    assert fetching.get(**zipped | {"member_digest": None}) == RIGHT
    fetching.target.unlink()
    fetching.put(RIGHT)  # the member itself in the mirror
    assert fetching.get(**zipped) == RIGHT
    assert "a.txt: from the mirror" in fetching.messages[-1]
    start = ("sha256", hashlib.sha256(RIGHT[:1234]).hexdigest())
    assert fetching.get(**zipped | {"prefix": 1234, "member_digest": start}) == RIGHT[:1234]


@pytest.mark.parametrize("change", [{"member_digest": ("sha1", "0" * 40)}, {"member": "text9"}])
def test_a_wrong_member_is_refused(fetching, zipped, change):
    with pytest.raises(UserError, match="checksum|holds no file"):
        fetching.get(**zipped | change)
    assert fetching.list_files() == ["z.zip"]


@pytest.mark.parametrize("member", [False, True])
def test_a_full_disk_is_named_and_not_what_is_read(fetching, zipped, monkeypatch, member):
    if member:
        fetching.get(**zipped)
        fetching.target.unlink()
    else:
        fetching.put(RIGHT)
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("pathlib.Path.write_bytes", Mock(side_effect=full))
    with pytest.raises(OSError, match="No space left") as caught:
        fetching.get(**zipped if member else {})
    assert Path(caught.value.filename) == fetching.target
    assert not fetching.target.exists()


@pytest.mark.parametrize(
    ("name", "prefix", "keep", "message"),
    [
        ("b", None, 1.0, "holds no file"),
        ("bomb", None, 1.0, "more than"),
        ("a.txt", 401, 1.0, "ends after 400 of 401 bytes"),
        *(("a.txt", None, keep, "cannot be unpacked") for keep in (0.0, 0.05, 0.5, 0.9)),
        ("a.txt", None, None, "cannot be unpacked"),
    ],
)
def test_what_cannot_be_taken_out_of_an_archive_is_one_line(tmp_path, name, prefix, keep, message):
    """Of an archive that is cut off after a share of its bytes, or (None) has one wrong byte."""
    archive = tmp_path / "z.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for member, content in {"a.txt": b"one\n" * 100, "../c.txt": b"three", "bomb": b"\0" * (2 * LIMIT)}.items():
            opened.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
    assert read_member(archive, "../c.txt", LIMIT) == b"three"
    data = archive.read_bytes()
    flipped = data[:45] + bytes([data[45] ^ 255]) + data[46:]
    archive.write_bytes(flipped if keep is None else data[: int(keep * len(data))])
    with pytest.raises(UserError, match=rf"z\.zip: .*{message}"):
        read_member(archive, name, LIMIT, prefix)
