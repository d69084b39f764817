"""Compile the C++ engines on first use, for the machine at hand, and call them.

A hash names the file of the compiled library: of the source, the compiler's version, the options and this CPU's flags.
The sizes of the caches are among the options. On a file system that several kinds of machine share, each finds its own.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import hashlib
import logging
import math
import mmap
import os
import platform
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise.engines.caches import read_caches
from reprise.environment import BUILD, MARCH, get_build_folder, get_instruction_set
from reprise.errors import UserError
from reprise.files import atomic_path, compute_sha256, write_atomically
from reprise.processor import read_cpuinfo

_LOG = logging.getLogger(__name__)
SOURCES = Path(__file__).parent
OPTIONS = ("-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")


class NoCompiler(RuntimeError):
    """There is no C++ compiler, it refused the source, or what it made cannot be loaded; the message is one line."""


class Pointer(ctypes.c_void_p):
    """An argument of a C function: a contiguous tensor or array, a structure, an address, or None."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        return ctypes.byref(value) if isinstance(value, ctypes.Structure) else ctypes.c_void_p(get_address(value))


HUGE_PAGE_FLOATS, PAGE_FLOATS = 1 << 19, 1 << 10
"""Floats in a huge page of 2 MiB and in a page of 4 KiB."""

C_TYPES: dict[str, Any] = {
    "i": ctypes.c_int32,
    "l": ctypes.c_int64,
    "u": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "p": Pointer,
    "-": None,
}
"""Types of C by a letter."""


def get_address(value: Tensor | np.ndarray | int | None) -> int | None:
    """Return where the numbers lie; ValueError unless they lie side by side in the memory of the CPU."""
    tensor = isinstance(value, Tensor)
    if tensor and value.device.type != "cpu":
        raise ValueError(f"numbers on {value.device} cannot be passed to C++")
    if tensor or isinstance(value, np.ndarray):
        if not (value.is_contiguous() if tensor else value.flags.c_contiguous):
            raise ValueError("numbers that do not lie side by side cannot be passed to C++")
        return value.data_ptr() if tensor else value.ctypes.data
    return value


def require_symbols(symbols: Tensor, count: int, noun: str) -> None:
    """Raise ValueError unless all are int64 in 0 .. count - 1: C++ would take others for places in memory."""
    if symbols.dtype != torch.int64 or not 0 <= symbols.min() <= symbols.max() < count:
        raise ValueError(f"{noun} must be int64 in 0 .. {count - 1}")


def allocate_in_huge_pages(shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Make float32 zeros of these shapes side by side, in huge pages where the system has them.

    Tables of many megabytes otherwise miss the CPU's buffer of page addresses. The memory is this process's own: Linux
    gives shared memory, which `mmap` makes unless told otherwise, no huge pages by default.
    """
    counts = [math.prod(shape) for shape in shapes]
    sizes = [-(-count // PAGE_FLOATS) * PAGE_FLOATS for count in counts]
    memory = mmap.mmap(-1, 4 * (sum(sizes) + HUGE_PAGE_FLOATS), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # of a kernel that was built without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    space = torch.frombuffer(memory, dtype=torch.float32)
    begin = -(space.data_ptr() // space.itemsize) % HUGE_PAGE_FLOATS
    places = space[begin : begin + sum(sizes)].split(sizes)
    return [place[:count].view(*shape) for place, count, shape in zip(places, counts, shapes, strict=True)]


def make_structure(*fields: str) -> type[ctypes.Structure]:
    """Make a class of C structures, which take their values by name; a field is a letter of `C_TYPES` and names.

    It holds on to the tensors and arrays that it points at.
    """

    class Structure(ctypes.Structure):
        _fields_ = [
            (name, ctypes.c_void_p if kind == "p" else C_TYPES[kind])
            for kind, *names in map(str.split, fields)
            for name in names
        ]

        def __init__(self, **values: Any) -> None:
            super().__init__(**{name: get_address(value) for name, value in values.items()})
            self.values = values

    return Structure


@functools.cache
def load_functions(name: str, prefix: str = "reprise_", **signatures: str) -> SimpleNamespace:
    """Load the C functions of `build_library(name)`.

    Args:
        name: The family, or the source in the folder of engines.
        prefix: Begins the functions' names in C.
        signatures: By name, letters of `C_TYPES`: that of the result, and those of the arguments.

    Returns:
        The functions by their names without the prefix.

    Raises:
        NoCompiler: The library can be neither compiled nor loaded.
    """
    path = build_library(name)
    _LOG.debug("loading %s", path)
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:  # damaged, or in a folder from which nothing may be run
        raise NoCompiler(f"{error}; remove {path}, or name a folder with {BUILD}") from None
    namespace = SimpleNamespace()
    for short, (result, *arguments) in signatures.items():
        function = loaded[prefix + short]
        function.restype = ctypes.c_void_p if result == "p" else C_TYPES[result]
        function.argtypes = [C_TYPES[kind] for kind in arguments]
        setattr(namespace, short, function)
    return namespace


def find_source(name: str) -> Path:
    """Return the C++ source of a family's engine, in its folder; of what no family owns, in the folder of this file."""
    own = SOURCES / name / f"{name}.cpp"
    return own if own.is_file() else SOURCES / f"{name}.cpp"


@functools.cache
def build_library(name: str) -> Path:
    """Find the shared library made of `find_source(name)` and the headers, compiled if need be.

    It lies in $REPRISE_BUILD, or in build/kernels/ of the current folder, with its SHA-256 beside it. A library that
    differs from that, or that others could have written, is compiled anew.

    Raises:
        NoCompiler: There is no compiler, or it refuses the source.
        OSError: The folder cannot be written, or its disk is full.
    """
    compiler = _find_compiler()
    path = get_build_folder() / f"{name}-{_compute_fingerprint(compiler, name)}.so"
    if not _is_trusted(path):
        with _lock_build(path):
            if not _is_trusted(path):
                _LOG.debug("compiling %s", path)
                try:
                    _write_library(compiler, find_source(name), path)
                except OSError as error:
                    reason = f"{error.strerror} (or name another folder for compiled engines with {BUILD})"
                    raise OSError(error.errno, reason, error.filename) from None
    return path


def _write_library(compiler: list[str], source: Path, path: Path) -> None:
    """Compile a source to `path`, with its SHA-256 beside it, writable by nobody else."""
    _protect_folder(path.parent)
    with atomic_path(path) as temporary:
        _compile(compiler, source, temporary)
    write_atomically(_get_digest_path(path), compute_sha256(path))
    for file in (path, _get_digest_path(path)):
        file.chmod(file.stat().st_mode & ~_WRITABLE_BY_OTHERS)


_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def _get_digest_path(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _list_trusted_users() -> set[int]:
    """Return the users whose libraries are loaded: those who could change the sources as well."""
    return {0, os.geteuid(), SOURCES.stat().st_uid}


def _is_trusted(path: Path) -> bool:
    """Return whether a library is as it was compiled, and only a trusted user could have written it."""
    try:
        stats = [place.stat() for place in (path.parent, path, _get_digest_path(path))]
        digest = compute_sha256(path)
        is_whole = _get_digest_path(path).read_bytes() == digest.encode()
    except OSError:
        return False
    return is_whole and all(s.st_uid in _list_trusted_users() and not s.st_mode & _WRITABLE_BY_OTHERS for s in stats)


def _protect_folder(folder: Path) -> None:
    """Make the folder of libraries, and let none but its owner write to it. Raises NoCompiler where that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) & ~_WRITABLE_BY_OTHERS)
    status = folder.stat()
    if status.st_uid not in _list_trusted_users() or status.st_mode & _WRITABLE_BY_OTHERS:
        raise NoCompiler(f"{folder}: other users may write to it; name a folder of your own with {BUILD}")


@contextlib.contextmanager
def _lock_build(path: Path) -> Iterator[None]:
    """Let one job compile while the others, which a pipeline starts at the same time, wait for what it makes.

    Where files cannot be locked, or a lock is removed while a job waits for it, several compile, which does no harm.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = path.with_suffix(".lock")
            file = stack.enter_context(lock.open("a"))
            stack.callback(lock.unlink, missing_ok=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _find_compiler() -> list[str]:
    chosen = os.environ.get("CXX", "").split()
    candidates = [chosen] if chosen else [["c++"], ["g++"], ["clang++"]]
    for command in candidates:
        if shutil.which(command[0]):
            return command
    raise NoCompiler(f"no C++ compiler ({', '.join(c[0] for c in candidates)}) on the path")


def _list_options() -> list[str]:
    caches = read_caches()
    return [*OPTIONS, f"-DL1D_BYTES={caches.l1d}", f"-DL2_BYTES={caches.l2}"]


def _compile(compiler: list[str], source: Path, target: Path) -> None:
    # The compiler's own temporary files go where the library goes: /tmp may be full.
    environment = {**os.environ, "TMPDIR": str(target.parent)}
    chosen = get_instruction_set()
    # Some compilers know no "native": the baseline is right, if slow.
    for march in ([f"-march={chosen or 'native'}"], *([] if chosen else [[]])):
        command = [*compiler, *_list_options(), *march, f"-I{SOURCES}", str(source), "-o", str(target)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            if not march:
                _LOG.warning("reprise: %s refused -march=native: %s is compiled, slower", compiler[0], source.name)
            return
        if os.strerror(errno.ENOSPC) in result.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        if result.returncode < 0:  # killed, perhaps for want of memory; the slower library would stay
            break
    lines = [line.strip() for line in result.stderr.splitlines() if "error" in line]
    reason = lines[0] if lines else f"status {result.returncode}"
    if chosen and result.returncode > 0:
        raise UserError(f"{MARCH}: {compiler[0]} refused -march={chosen} ({reason}); name another, or unset it")
    raise NoCompiler(f"{compiler[0]} refused {source.name}: {reason}")


def _compute_fingerprint(compiler: list[str], name: str) -> str:
    command = [*compiler, "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    sources = (find_source(name), *sorted(SOURCES.rglob("*.h")))
    parts = [version, *compiler, *_list_options(), get_instruction_set(), platform.machine(), _describe_cpu()]
    parts += [path.read_text(encoding="utf-8") for path in sources]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _describe_cpu() -> str:
    """Return a text that differs between CPUs of different instruction sets."""
    facts = read_cpuinfo()
    keys = ("model name", "cpu family", "flags", "Features", "CPU part")
    return "\n".join(facts[key] for key in keys if key in facts) or platform.processor()
