"""The command line: one command a step of the pipeline, each of which also works by hand.

Only the command that runs is imported, so that `train` needs torch, numpy, pyyaml and rich alone, and a light command
starts at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from reprise import __version__
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_STOPPED, EXIT_USAGE, Interrupted, UserError
from reprise.refusals import told_of

COMMANDS = {
    "fetch": "download the raw files of datasets, checksums checked",
    "prepare": "make a corpus from raw files",
    "resolve": "check the configuration and write what training reads",
    "train": "train one replica of one experiment and leave its run record",
    "run": "train what is missing, the most valuable first, for so many minutes",
    "collect": "gather the run records into metrics, curves and samples",
    "verify": "judge the papers' claims from the run records",
    "readings": "say which reading of a paper is nearest to its numbers",
    "render": "draw figures, tables and the report from what was collected",
    "list": "list papers, experiments and claims: what is trained, what was found",
    "show": "show one experiment or claim: equation, settings, records, numbers, command",
    "diff": "compare two run records: configuration, environment, numbers",
    "estimate": "say how long what is missing will take on this machine",
    "cache": "check the figures that DVC keeps against their checksums",
    "schemas": "write the JSON Schemas of the configuration",
    "bench": "time the engines beside what else one could run",
}


SHELLS = ("bash", "zsh", "tcsh")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status.

    0; 1 where the system said no; 2 after bad input; 75 where the work was put off; 130 where it was stopped.
    """
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        return stopped()


def stopped() -> int:
    """Says that Ctrl-C was heard; the exit status. What a training saves at a signal is its own matter."""
    print("reprise: stopped; every file is whole, and the same command can be run again", file=sys.stderr)
    return EXIT_STOPPED


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:<10} {what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="reprise",
        usage="reprise [--version] [--print-completion SHELL] <command> [<options>]",
        description=f"{__doc__.splitlines()[0]}\n\ncommands:\n{lines}",
        epilog="`reprise <command> --help` says what a command takes, with an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"reprise {__version__}")
    parser.add_argument("--print-completion", choices=SHELLS, help="print a completion script for this shell")
    return parser


def command_parser(command: str, parser: argparse.ArgumentParser | None = None) -> argparse.ArgumentParser:
    """The parser of one command; its help ends with an example. Imports that command's module alone."""
    module = import_module(f"reprise.cli.{command}")
    parser = parser or argparse.ArgumentParser(prog=f"reprise {command}")
    parser.description = module.__doc__
    parser.epilog = f"example: {module.EXAMPLE}"
    parser.add_argument("--quiet", action="store_true", help="print no result and no progress, only errors")
    module.add_arguments(parser)
    return parser


@contextlib.contextmanager
def _silence(quiet: bool) -> Iterator[None]:
    """With --quiet what goes to stdout is dropped. Progress is not drawn where stderr is no terminal, nor then."""
    if not quiet:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing):
        yield


def _print_completion(shell: str) -> int:
    import shtab

    parser = argparse.ArgumentParser(prog="reprise")
    commands = parser.add_subparsers()
    for name, what in COMMANDS.items():
        command_parser(name, commands.add_parser(name, help=what))
    print(shtab.complete(parser, shell))
    return 0


def _main(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    parser.add_argument("command", choices=COMMANDS, nargs="?", metavar="command", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.command is None and not given.print_completion:
        parser.error("name a command; `reprise --help` lists them")
    try:
        if given.print_completion:
            return _print_completion(given.print_completion)
        options = command_parser(given.command).parse_args(given.rest)
        with _silence(options.quiet):
            return import_module(f"reprise.cli.{given.command}").run(options) or 0
    except UserError as error:
        print(f"reprise: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return EXIT_USAGE
    except Interrupted as error:
        print(f"reprise: {error}", file=sys.stderr)
        return EXIT_INTERRUPTED
    except ModuleNotFoundError as error:
        package = (error.name or "reprise").partition(".")[0]
        if package == "reprise":
            raise  # a module of ours that is missing is no matter of what is installed
        remedy = "run `make env`, then `. .venv/bin/activate`"
        print(f"reprise: error: {given.command} needs the package {package}; {remedy}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        return 1
    except OSError as error:
        # A full disk, a folder that is closed: nothing that a traceback explains better.
        where, what = (error.filename, error.strerror) if error.filename else (given.command, error)
        line = told_of(error) or f"{where}: {what}; make room or fix the access, then run it again"
        print(f"reprise: error: {line}", file=sys.stderr)
        return EXIT_FAILED
