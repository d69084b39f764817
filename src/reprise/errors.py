"""Errors that the user can fix, and the exit codes."""

import signal
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

EXIT_FAILED = 1
"""Exit status where the system said no, a full disk for example: fix it and run again."""

EXIT_USAGE = 2
"""Exit status after bad input: nothing was changed."""

EXIT_INTERRUPTED = 75
"""Exit status (EX_TEMPFAIL) of a training that a signal stopped, or that found its replica busy: run it again."""

EXIT_SIGNAL = 128
"""Exit status of other commands after a signal, as shells have it, less the signal's number."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop a command; one that is ignored stays so, as SIGHUP under nohup."""


class UserError(Exception):
    """Bad input: one line that names the file, the key and the remedy. The command line prints it and exits 2."""

    status = EXIT_USAGE


class Failed(Exception):
    """The answer is no, or a part of the work failed; the message says which. The exit status is 1."""

    status = EXIT_FAILED


class Interrupted(Exception):
    """The work was put off, not lost: the same command goes on where it stopped. Exits 75."""

    status = EXIT_INTERRUPTED


# What torch and numpy say, in a RuntimeError or ValueError, of a tensor that memory or its addresses cannot hold.
_TOO_LARGE = (
    "can't allocate memory",
    "CUDA out of memory",
    "Storage size calculation overflowed",
    "numel: integer multiplication overflow",
    "array is too big",
    "Maximum allowed dimension exceeded",
)


@contextmanager
def report_memory(what: str, remedy: str) -> Iterator[None]:
    """Turn what memory cannot hold into a `UserError` with the `remedy`, around work whose size the user chose."""
    try:
        yield
    except (MemoryError, RuntimeError, ValueError) as error:
        if not is_memory_error(error):
            raise
        raise UserError(f"{what}: needs more memory than there is; {remedy}") from error


def is_memory_error(error: BaseException) -> bool:
    """Return whether memory could not hold what was asked for, by the error that torch, numpy or Python raised."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in _TOO_LARGE)


def make_printable(text: str) -> str:
    """Return a text as a terminal can show it: control characters and Unicode's own line ends are spelt out."""
    unprintable = ("C", "Zl", "Zp")
    return "".join(
        ascii(c)[1:-1] if c not in "\n\t" and unicodedata.category(c).startswith(unprintable) else c for c in text
    )


_SHORT = Repr()
_SHORT.maxlevel = _SHORT.maxdict = _SHORT.maxlist = 3
_SHORT.maxstring = _SHORT.maxother = 70
_MAX_NAMES = 12
"""Names that a line lists at most."""


def shorten(value: Any) -> str:
    """Return a value as a line can hold it: of a long one, the beginning and the end."""
    return _SHORT.repr(value)


def suggest_name(name: str, names: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the one that was probably meant, or the known names.

    "<experiment>" means "<paper>/<experiment>". Where there are too many of these, those of the paper that `name` says,
    else the papers.
    """
    names = sorted(names)
    if matches := [n for n in names if n.endswith(f"/{name}")] or get_close_matches(name, names, n=1):
        return f"did you mean '{matches[0]}'?"
    papers = {n.partition("/")[0] for n in names if "/" in n}
    if len(names) > _MAX_NAMES and papers.issuperset(n.partition("/")[0] for n in names):
        names = [n for n in names if n.startswith(f"{name.partition('/')[0]}/")] or sorted(papers)
    rest = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"known are {', '.join(names[:_MAX_NAMES]) or 'none'}{rest}"


@contextmanager
def locate_errors(where: str) -> Iterator[None]:
    """Begin the `UserError` of the body with `where` the mistake stands."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def require_known(
    name: str,
    names: Iterable[str],
    where: str,
    what: str,
    suggest: Callable[[str, Iterable[str]], str] = suggest_name,
) -> None:
    """Raise `UserError`, which begins with `where`, unless the `name` is one of the `names` of `what`."""
    if name not in names:
        raise UserError(f"{where}: no {what} {shorten(name)}; {suggest(name, names)}")
