"""The command line: one command a step of the pipeline, each of which also works by hand.

Only the command that runs is imported. So `train` needs torch, numpy, pyyaml and rich alone, and a light command starts
at once.
"""

import argparse
import contextlib
import inspect
import io
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any, NoReturn

from reprise import __version__, environment
from reprise.cli.commands import ARGUMENTS, COMMANDS, EXAMPLES
from reprise.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_SIGNAL,
    EXIT_USAGE,
    STOP_SIGNALS,
    Failed,
    Interrupted,
    UserError,
    make_printable,
)
from reprise.files import describe_os_error
from reprise.terminal import start_logging

SHELLS = ("bash", "zsh", "tcsh")
_RESUMABLE = ("train", "run")
"""Commands that exit 75 at a signal, whether there was something to save or not."""
_IN_CLONE = Path(__file__).parents[3].joinpath("pyproject.toml").is_file()


class Parser(argparse.ArgumentParser):
    """A parser that raises `UserError` in place of printing its usage."""

    def error(self, message: str) -> NoReturn:
        """Refuse what the command does not take."""
        raise UserError(f"{message}; `{self.prog} --help` says what it takes")


def _load_function(command: str) -> Callable[[argparse.Namespace], Any]:
    return getattr(import_module(f"reprise.cli.{COMMANDS[command][0]}"), f"{command}_command")


def make_command_parser(command: str, parser: argparse.ArgumentParser | None = None) -> argparse.ArgumentParser:
    """Make the parser of one command, importing that command's module alone; its help ends with an example."""
    parser = parser or Parser(prog=f"reprise {command}")
    parser.description = inspect.getdoc(_load_function(command))
    parser.epilog = f"example: reprise {command} {EXAMPLES[command]}".rstrip()
    verbosity = parser.add_mutually_exclusive_group()
    verbosity.add_argument("--quiet", action="store_true", help="print no result and no progress, only errors")
    verbosity.add_argument(
        "--verbose", action="store_true", help="print also what is of use in the search for an error"
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error; also REPRISE_DEBUG=1")
    for names, keywords in ARGUMENTS[command]:
        parser.add_argument(*names, **keywords)
    return parser


def _make_parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:<10} {summary}" for name, (_, summary) in COMMANDS.items())
    parser = Parser(
        prog="reprise",
        usage="reprise [--version] [--print-completion SHELL] <command> [<options>]",
        description=f"{__doc__.splitlines()[0]}\n\ncommands:\n{lines}",
        epilog="`reprise <command> --help` says what a command takes, with an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"reprise {__version__}")
    parser.add_argument("--print-completion", choices=SHELLS, help="print a completion script for this shell")
    parser.add_argument("command", choices=COMMANDS, nargs="?", metavar="command", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _print_completion(shell: str) -> None:
    import shtab

    parser = argparse.ArgumentParser(prog="reprise")
    commands = parser.add_subparsers()
    for name, (_, summary) in COMMANDS.items():
        make_command_parser(name, commands.add_parser(name, help=summary))
    print(shtab.complete(parser, shell))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    It is 0 after success, 1 where the answer is no or the system refused, and 2 after bad input. It is 75 where a
    training was put off. Where a signal stopped another command, it is 128 plus the signal's number.
    """
    command = ""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as under some daemons
            setattr(sys, name, io.StringIO())
        # Not each terminal knows each letter, and no result is lost for one of them.
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        parser = _make_parser()
        parsed = parser.parse_args(arguments)
        command = parsed.command
        if parsed.print_completion:
            _print_completion(parsed.print_completion)
            return 0
        if command is None:
            parser.error("no command")
        return _run_command(command, parsed.rest)
    except KeyboardInterrupt as error:
        # What a training saves at a signal is its own matter; here it has nothing to save.
        number = signal.Signals(error.args[0] if error.args else signal.SIGINT)
        line = f"stopped by {number.name}; every file is whole, and the same command can be run again"
        return _print_line(line, EXIT_INTERRUPTED if command in _RESUMABLE else EXIT_SIGNAL + number)
    except UserError as error:
        return _print_line(f"error: {' '.join(str(error).splitlines())}", EXIT_USAGE)
    except (Failed, Interrupted) as error:
        return _print_line(str(error), error.status)
    except ModuleNotFoundError as error:
        package = (error.name or "reprise").partition(".")[0]
        if package == "reprise":
            raise  # a module of ours that is missing is no matter of what is installed
        return _print_line(
            f"error: {command} needs the package {package}; {_describe_installation(package)}", EXIT_USAGE
        )
    except BrokenPipeError:
        return EXIT_FAILED
    except OSError as error:
        # A full disk, a folder that is closed: nothing that a traceback explains better.
        return _print_line(f"error: {describe_os_error(error, command)}", EXIT_FAILED)


def _run_command(command: str, arguments: Sequence[str]) -> int:
    with contextlib.ExitStack() as stack:
        stack.enter_context(_stop_at_signals())
        options = make_command_parser(command).parse_args(arguments)
        if options.debug or environment.is_debugging():
            stack.enter_context(_show_tracebacks())
        if options.quiet:
            null_file = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(null_file))
        start_logging(logging.ERROR if options.quiet else logging.DEBUG if options.verbose else logging.INFO)
        return _load_function(command)(options) or 0


def _describe_installation(package: str) -> str:
    """Say how a missing package is installed: with the extra of reprise that it belongs to, if any."""
    try:
        requirements = requires("reprise") or ()
    except PackageNotFoundError:  # reprise is not installed, as in the environments of `snakemake --use-conda`
        return "run `make env`, or install the packages that the files in envs/ list"
    extra = ""
    for requirement in requirements:
        name, _, marker = requirement.partition(";")
        if re.split(r"[^\w-]", name)[0].replace("-", "_").lower() == package.lower() and "extra" in marker:
            extra = marker.split("==")[1].strip(" \"'")
            break
    if _IN_CLONE:  # by its folder: on the public index another project has the name
        return f'in the clone run `make env`, or `pip install ".{f"[{extra}]" if extra else ""}"`'
    return f"run `pip install {package}`{f', which is of the extra {extra}' if extra else ''}"


@contextlib.contextmanager
def _stop_at_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does, so that it removes its temporary files and says a line.

    Only where the system's own reaction is set: under nohup SIGHUP stays ignored.

    Raises:
        KeyboardInterrupt: A signal came; its number is the argument.
    """
    received: list[int] = []

    def stop(number: int, _: object) -> NoReturn:
        received.append(number)
        raise KeyboardInterrupt(number)

    # Python lets the main thread alone set handlers.
    is_main = threading.current_thread() is threading.main_thread()
    old = {number: signal.getsignal(number) for number in STOP_SIGNALS if is_main}
    handlers = {n: handler for n, handler in old.items() if handler in (signal.SIG_DFL, signal.default_int_handler)}
    for number in handlers:
        signal.signal(number, stop)
    try:
        yield
    except Exception as error:
        # Python and compiled modules turn an interruption into errors of their own, during an import for example.
        if received:
            raise KeyboardInterrupt(*received) from error
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _show_tracebacks() -> Iterator[None]:
    """Print the traceback of an error that ends a command in one line, and of the errors that led to it."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause:
            cause.__suppress_context__, cause = False, cause.__context__
        traceback.print_exception(error)
        raise


def _print_line(line: str, status: int) -> int:
    print(f"reprise: {make_printable(line)}", file=sys.stderr)
    return status
