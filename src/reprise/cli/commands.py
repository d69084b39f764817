"""The table of commands: what each does, where it is, an example of it and its arguments."""

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from reprise.files import make_file_type, make_output_type
from reprise.records.resolved import TIERS, Keep

Argument = tuple[tuple[str, ...], dict[str, Any]]


def make_argument(*names: str, **keywords: Any) -> Argument:
    """Return what `argparse.ArgumentParser.add_argument` takes."""
    return names, keywords


def make_number_type(kind: type[int] | type[float], low: float, high: float = math.inf) -> Callable[[str], float]:
    """Make argparse's type of a number from `low` to `high`; of a float both are left out."""

    def parse_number(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None
        if not (low <= value <= high if kind is int else low < value < high):
            bounds = (
                f"of {low} to {high}"
                if high < math.inf
                else f"of {low} or more"
                if kind is int
                else f"above {low}, not infinite"
            )
            raise argparse.ArgumentTypeError(f"{text}: give a number {bounds}")
        return value

    return parse_number


# No experiment has so many replicas, and no machine so many cores.
_REPLICA, _THREADS = make_number_type(int, 0, 9_999), make_number_type(int, 1, 1024)

# In `reprise.cli` the module that has the function "<command>_command", whose docstring is the help; what it does.
COMMANDS = {
    "new": ("new", "write a project folder for a paper of your own"),
    "snakefile": ("new", "print the path of the workflow, for a Snakefile of your own"),
    "fetch": ("steps", "download the raw files of datasets, checksums checked"),
    "prepare": ("steps", "make a corpus from raw files"),
    "resolve": ("steps", "check the configuration and write what training reads"),
    "train": ("train", "train one replica of one experiment and leave its run record"),
    "run": ("run", "train missing replicas, those of experiments with the fewest trained ones first"),
    "collect": ("steps", "gather the run records into metrics, curves and samples"),
    "verify": ("verify", "judge the papers' claims from the run records"),
    "readings": ("verify", "rank choices of open settings by how near our numbers come to the paper's"),
    "render": ("steps", "draw figures, tables and the page from the run records"),
    "list": ("list", "list papers, experiments and claims: what is trained, what was found"),
    "show": ("show", "show one experiment, claim, figure or table: settings, records, numbers, commands"),
    "diff": ("diff", "compare two run records: configuration, environment, numbers"),
    "estimate": ("estimate", "estimate the time of missing replicas on this machine"),
    "evaluate": ("evaluate", "measure a trained model again, beside its run record"),
    "sample": ("sample", "let a trained model write a text"),
    "cache": ("cache", "check the figures that DVC keeps against their checksums"),
    "schemas": ("steps", "write the JSON Schemas of the configuration"),
}

EXAMPLES = {
    "new": "mypaper",
    "snakefile": "",
    "fetch": "ptb",
    "prepare": "rrntn/s-rnn-100 --tier quick",
    "resolve": "--tier quick",
    "train": "palindromes/rnn-t10 --tier paper --replica 0 --output again.json",
    "run": "--tier paper --paper rrntn --minutes 25",
    "collect": "--tier paper",
    "verify": "--tier paper --check",
    "readings": "rrntn --tier paper",
    "render": "rrntn-table-1 rrntn-figure-1 --tier paper",
    "list": "rrntn --tier paper",
    "show": "rrntn/s-rnn-100 --tier paper",
    "diff": "again.json results/paper/runs/palindromes/rnn-t10/0-ed6cf8e578c1.json",
    "estimate": "rrntn --tier paper --cores 8",
    "evaluate": "rrntn/s-rnn-100 --tier paper",
    "sample": "books/grimm --tier paper --prompt 'Hansel and Gr' --length 200",
    "cache": ".dvc/cache",
    "schemas": "",
}

TIER = make_argument("--tier", choices=TIERS, help="default: the tier of config/config.yaml")
WEIGHTS = make_argument(
    "--weights", choices=get_args(Keep), help="which replicas keep their weights; default: as configured"
)
ENGINE = make_argument("--engine", help="auto, reference or another engine of the model; default: the configured one")
DEVICE = make_argument("--device", choices=("auto", "cpu", "cuda"), help="default: the configured one")
CORPUS = make_argument(
    "--corpus", type=make_file_type("--corpus", "corpus.npz"), help="default: where the pipeline puts it"
)
WEIGHTS_ARGUMENTS = (
    make_argument("--replica", type=_REPLICA, default=0, help="default: 0"),
    make_argument(
        "--weights",
        type=make_file_type("--weights", "model.safetensors"),
        metavar="FILE",
        help="default: where training leaves them",
    ),
    CORPUS,
)
"""What commands take that read kept weights."""

ARGUMENTS: dict[str, list[Argument]] = {
    "snakefile": [],
    "new": [make_argument("folder", type=Path, help="the folder, whose name the paper and its package take")],
    "fetch": [
        make_argument("name", nargs="*", help="<dataset>, <paper> or <paper>/<experiment>; default: all of the tier"),
        make_argument("--file", action="append", help="only this raw file (may be given again)"),
        TIER,
    ],
    "prepare": [
        make_argument("name", nargs="*", help="<paper> or <paper>/<experiment>; default: all of the tier"),
        make_argument(
            "--output", type=make_output_type("--output", "corpus.npz"), help="default: where the pipeline puts it"
        ),
        TIER,
    ],
    "resolve": [TIER],
    "train": [
        make_argument("experiment", help="<paper>/<experiment>, as in config/papers/<paper>.yaml"),
        make_argument("--replica", type=_REPLICA, required=True, help="which replica, from 0"),
        TIER,
        make_argument("--config", type=Path, help="a resolved configuration; default: worked out from config/"),
        make_argument("--hash", metavar="CONFIG_HASH", help="train this configuration or nothing; for the pipeline"),
        CORPUS,
        make_argument(
            "--output",
            type=make_file_type("--output", "record.json", suffix=".json"),
            help="the run record; default: where the pipeline puts it",
        ),
        ENGINE,
        DEVICE,
        WEIGHTS,
        make_argument("--threads", type=_THREADS, default=1, help="CPU threads (default 1: a job a core is faster)"),
        make_argument("--trained", type=Path, metavar="FOLDER", help="move the record that `run --output FOLDER` left"),
        make_argument("--wait", action="store_true", help="wait for another process that trains this replica"),
    ],
    "run": [
        make_argument("--tier", choices=TIERS, required=True),
        make_argument("--minutes", type=make_number_type(float, 0), help="default: until all is done"),
        make_argument(
            "--at-once",
            type=make_number_type(int, 1),
            default=1,
            help="jobs that train at the same time, for a GPU (default: 1)",
        ),
        make_argument("--paper", nargs="+", default=[], help="only experiments of these papers"),
        make_argument("--experiment", nargs="+", default=[], help="only these experiments"),
        make_argument("--corpora", type=Path, default=Path("data/corpora"), help="the folder of prepared corpora"),
        make_argument("--output", type=Path, default=Path(), help="the folder that gets results/ and logs/"),
        make_argument("--checkpoints", type=Path, default=Path(), help="the folder that gets checkpoints/"),
        ENGINE,
        DEVICE,
        WEIGHTS,
        make_argument(
            "--resolved", action="store_true", help="take results/<tier>/config/ as it is and do not read config/"
        ),
    ],
    "collect": [TIER],
    "verify": [
        make_argument("--check", action="store_true", help="compare with the files that are there, write nothing"),
        TIER,
    ],
    "readings": [
        make_argument("paper", help="for example rrntn"),
        TIER,
    ],
    "render": [
        make_argument("name", nargs="*", help="figures and tables, for example palindromes-figure-1"),
        make_argument("--report", action="store_true", help="results/report.html, from the displays that are there"),
        make_argument("--readme", action="store_true", help="write README's results and its forest plot"),
        TIER,
    ],
    "list": [
        make_argument("paper", nargs="*", help="list the experiments and claims of these papers; default: all papers"),
        make_argument("--json", action="store_true", help="print everything as JSON"),
        TIER,
    ],
    "show": [
        make_argument(
            "name",
            help="<paper>/<experiment>, <paper>/<claim> (see `reprise list <paper>`), or <paper>-<figure or table>",
        ),
        make_argument(
            "--words", action="store_true", help="for document 001: nearest words by embedding and by matrix"
        ),
        make_argument(
            "--weights",
            type=make_file_type("--weights", "model.safetensors"),
            metavar="FILE",
            help="with --words; default: where training leaves replica 0's",
        ),
        TIER,
    ],
    "diff": [
        make_argument(
            "first",
            type=make_file_type("first", "record.json"),
            help="a run record, such as `reprise train --output again.json` leaves",
        ),
        make_argument("second", type=make_file_type("second", "record.json"), help="the record to compare it with"),
    ],
    "estimate": [
        make_argument("name", nargs="*", help="<paper> or <paper>/<experiment>; default: all of the tier"),
        make_argument(
            "--cores", type=make_number_type(int, 1), default=os.cpu_count() or 1, help="default: those of this machine"
        ),
        TIER,
    ],
    "evaluate": [
        make_argument("experiment", help="<paper>/<experiment>, as in config/papers/<paper>.yaml"),
        TIER,
        *WEIGHTS_ARGUMENTS,
        make_argument("--text", type=Path, metavar="FILE", help="measure this text in place of the test text"),
        make_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where the model reads (default: cpu)"),
        make_argument("--threads", type=_THREADS, default=1, help="CPU threads (default 1)"),
        make_argument("--by-count", metavar="SPLIT", help="the loss of this split's words by their counts in training"),
        make_argument(
            "--record",
            type=make_file_type("--record", "record.json"),
            metavar="FILE",
            help="the record of these weights; default: the one left with them",
        ),
        make_argument("--save", action="store_true", help="leave an evaluation record, results/<tier>/evaluations/…"),
    ],
    "sample": [
        make_argument("experiment", help="<paper>/<experiment>, as in config/papers/<paper>.yaml"),
        TIER,
        *WEIGHTS_ARGUMENTS,
        make_argument("--prompt", help="what the text begins with"),
        make_argument("--source", metavar="TEXT", help="the sentence to translate"),
        make_argument(
            "--beam",
            type=make_number_type(int, 1),
            metavar="N",
            help="for a translation: keep N texts open (default: 1, greedy)",
        ),
        make_argument(
            "--temperature",
            type=make_number_type(float, 0),
            help="below 1 draws likely words more often (default 1)",
        ),
        make_argument("--top-k", type=make_number_type(int, 1), metavar="K", help="draw among the K likeliest alone"),
        make_argument("--seed", type=int, help="another seed draws another text (default 0)"),
        make_argument(
            "--length",
            type=make_number_type(int, 1, 100_000),
            default=100,
            help="words or characters to write (default 100)",
        ),
    ],
    "cache": [
        make_argument(
            "folder",
            nargs="?",
            type=Path,
            default=Path(".dvc/cache"),
            help="the cache, or the folder of a remote; default: %(default)s",
        ),
    ],
    "schemas": [
        make_argument("--folder", type=Path, default=Path("workflow/schemas"), help="default: %(default)s"),
    ],
}
