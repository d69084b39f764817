"""The command line: one command a step of the pipeline, each of which also works by hand.

Only the command that runs is imported, so that `train` needs torch, numpy, pyyaml and rich alone, and a light command
starts at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
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
    "estimate": "say how long what is missing will take on this machine",
    "cache": "check the figures that DVC keeps against their checksums",
    "schemas": "write the JSON Schemas of the configuration",
    "bench": "time the engines beside what else one could run",
}


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


def _main(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="reprise", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"reprise {__version__}")
    parser.add_argument(
        "command",
        choices=COMMANDS,
        metavar="command",
        help="; ".join(f"{k}: {v}" for k, v in COMMANDS.items()),
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="what the command takes: see `reprise <command> --help`")
    given = parser.parse_args(arguments)
    try:
        module = import_module(f"reprise.cli.{given.command}")
        options = argparse.ArgumentParser(prog=f"reprise {given.command}", description=module.__doc__)
        module.add_arguments(options)
        return module.run(options.parse_args(given.rest)) or 0
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
        line = told_of(error) or f"{where}: {what}; make room or mend the access, then run it again"
        print(f"reprise: error: {line}", file=sys.stderr)
        return EXIT_FAILED
