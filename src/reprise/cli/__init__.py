"""The command line: one command a step of the pipeline, each of which also works by hand.

Only the command that runs is imported, so that `train` needs torch, numpy, pyyaml and rich alone, and a light command
starts at once.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from reprise import __version__
from reprise.cli.commands import ARGUMENTS, COMMANDS, EXAMPLES
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_STOPPED, EXIT_USAGE, Failed, Interrupted, UserError
from reprise.refusals import told_of

SHELLS = ("bash", "zsh", "tcsh")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status.

    0; 1 where the answer is no, or the system's was; 2 after bad input; 75 where the work was put off; 130 where it was
    stopped.
    """
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        # What a training saves at a signal is its own matter.
        print("reprise: stopped; every file is whole, and the same command can be run again", file=sys.stderr)
        return EXIT_STOPPED


def _function(command: str) -> Callable[[argparse.Namespace], Any]:
    return getattr(import_module(f"reprise.cli.{COMMANDS[command][0]}"), f"{command}_command")


def command_parser(command: str, parser: argparse.ArgumentParser | None = None) -> argparse.ArgumentParser:
    """The parser of one command; its help ends with an example. Imports that command's module alone."""
    parser = parser or argparse.ArgumentParser(prog=f"reprise {command}")
    parser.description = inspect.getdoc(_function(command))
    parser.epilog = f"example: reprise {command} {EXAMPLES[command]}".rstrip()
    parser.add_argument("--quiet", action="store_true", help="print no result and no progress, only errors")
    for names, how in ARGUMENTS[command]:
        parser.add_argument(*names, **how)
    return parser


@contextlib.contextmanager
def _silence(quiet: bool) -> Iterator[None]:
    """With --quiet nothing is printed in here. Errors leave as exceptions, and are told outside."""
    with contextlib.ExitStack() as stack:
        if quiet:
            nothing = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(nothing))
            stack.enter_context(contextlib.redirect_stderr(nothing))
        yield


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:<10} {what}" for name, (_, what) in COMMANDS.items())
    parser = argparse.ArgumentParser(
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
    for name, (_, what) in COMMANDS.items():
        command_parser(name, commands.add_parser(name, help=what))
    print(shtab.complete(parser, shell))


def _main(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None and not given.print_completion:
        parser.error("name a command; `reprise --help` lists them")
    try:
        if given.print_completion:
            _print_completion(given.print_completion)
            return 0
        options = command_parser(given.command).parse_args(given.rest)
        with _silence(options.quiet):
            return _function(given.command)(options) or 0
    except UserError as error:
        print(f"reprise: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return EXIT_USAGE
    except (Failed, Interrupted) as error:
        print(f"reprise: {error}", file=sys.stderr)
        return EXIT_FAILED if isinstance(error, Failed) else EXIT_INTERRUPTED
    except ModuleNotFoundError as error:
        package = (error.name or "reprise").partition(".")[0]
        if package == "reprise":
            raise  # a module of ours that is missing is no matter of what is installed
        remedy = "run `make env`, then `. .venv/bin/activate`"
        print(f"reprise: error: {given.command} needs the package {package}; {remedy}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        return EXIT_FAILED
    except OSError as error:
        # A full disk, a folder that is closed: nothing that a traceback explains better.
        where, what = (error.filename, error.strerror) if error.filename else (given.command, error)
        line = told_of(error) or f"{where}: {what}; make room or fix the access, then run it again"
        print(f"reprise: error: {line}", file=sys.stderr)
        return EXIT_FAILED
