"""The table of commands: what each does, where it is, an example of it and its arguments."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reprise.bench import BENCHES
from reprise.records.resolved import TIERS
from reprise.refusals import named_file, output_file

Argument = tuple[tuple[str, ...], dict[str, Any]]


def argument(*names: str, **how: Any) -> Argument:
    """What `argparse.ArgumentParser.add_argument` takes."""
    return names, how


class Command(NamedTuple):
    """A command: `where` is "module:function" in `reprise.cli`; the docstring of the function is its help."""

    what: str
    where: str
    example: str
    arguments: tuple[Argument, ...]


def command(what: str, where: str, example: str, *arguments: Argument) -> Command:
    """A row of the table; the example is given without its `reprise`."""
    return Command(what, where, f"reprise {example}", arguments)


TIER = argument("--tier", choices=TIERS, help="default: the tier of config/config.yaml")
DEVICE = argument("--device", choices=("auto", "cpu", "cuda"), help="default: the configured one")

COMMANDS = {
    "fetch": command(
        "download the raw files of datasets, checksums checked",
        "steps:fetch",
        "fetch ptb",
        argument("dataset", nargs="+", help="names under `datasets` in config/config.yaml"),
        argument("--file", action="append", help="only this raw file (may be given again)"),
    ),
    "prepare": command(
        "make a corpus from raw files",
        "steps:prepare",
        "prepare rrntn/s-rnn-100 --tier quick",
        argument("experiment", help="<paper>/<experiment> whose corpus is wanted"),
        argument("--output", type=output_file("--output", "corpus.npz"), help="default: where the pipeline puts it"),
        TIER,
    ),
    "resolve": command(
        "check the configuration and write what training reads",
        "steps:resolve",
        "resolve --tier quick",
        TIER,
    ),
    "train": command(
        "train one replica of one experiment and leave its run record",
        "train:train",
        "train palindromes/rnn-t10 --tier paper --replica 0 --output again.json",
        argument("experiment", help="<paper>/<experiment>, as in config/papers/<paper>.yaml"),
        argument("--replica", type=int, required=True, help="which replica, from 0"),
        TIER,
        argument("--config", type=Path, help="a resolved configuration; default: worked out from config/"),
        argument("--hash", metavar="CONFIG_HASH", help="train this configuration or nothing; for the pipeline"),
        argument("--corpus", type=Path, help="default: where the pipeline puts it"),
        argument(
            "--output",
            type=partial(named_file, "--output", example="record.json"),
            help="the run record; default: where the pipeline puts it",
        ),
        argument("--engine", help="auto, reference or another engine of the model; default: the configured one"),
        DEVICE,
        argument("--threads", type=int, default=1, help="CPU threads (default 1: a job a core is faster)"),
        argument("--found", type=Path, metavar="FOLDER", help="move the record that `run --output FOLDER` left"),
        argument("--wait", action="store_true", help="wait for another process that trains this replica"),
    ),
    "run": command(
        "train what is missing, the most valuable first, for so many minutes",
        "run:run",
        "run --tier paper --paper rrntn --minutes 25",
        argument("--tier", choices=TIERS, required=True),
        argument("--minutes", type=float, help="default: until all is done"),
        argument("--paper", nargs="+", default=[], help="only experiments of these papers"),
        argument("--experiment", nargs="+", default=[], help="only these; with --paper, of its papers"),
        argument("--corpora", type=Path, default=Path("data/corpora"), help="the folder of prepared corpora"),
        argument("--output", type=Path, default=Path(), help="the folder that gets results/ and logs/"),
        argument("--checkpoints", type=Path, default=Path(), help="the folder that gets checkpoints/"),
        DEVICE,
        argument("--resolved", action="store_true", help="take results/<tier>/config/ as it is, config/ unread"),
    ),
    "collect": command(
        "gather the run records into metrics, curves and samples",
        "steps:collect",
        "collect --tier paper",
        TIER,
    ),
    "verify": command(
        "judge the papers' claims from the run records",
        "verify:verify",
        "verify --tier paper --check",
        argument("--check", action="store_true", help="compare with the files that are there, write nothing"),
        TIER,
    ),
    "readings": command(
        "say which reading of a paper is nearest to its numbers",
        "verify:readings",
        "readings rrntn --tier paper",
        argument("paper", help="for example rrntn"),
        TIER,
    ),
    "render": command(
        "draw figures, tables and the report from what was collected",
        "steps:render",
        "render rrntn-table-1 rrntn-figure-1 --tier paper",
        argument("name", nargs="*", help="figures and tables, for example palindromes-figure-1"),
        argument("--report", action="store_true", help="results/report.html, from the displays that are there"),
        argument("--readme", action="store_true", help="write README's results and its forest plot"),
        TIER,
    ),
    "list": command(
        "list papers, experiments and claims: what is trained, what was found",
        "list:list_",
        "list rrntn --tier paper",
        argument("paper", nargs="*", help="list the experiments and claims of these papers; default: all papers"),
        argument("--json", action="store_true", help="everything, of these papers or of all, as JSON"),
        TIER,
    ),
    "show": command(
        "show one experiment or claim: equation, settings, records, numbers, command",
        "show:show",
        "show rrntn/s-rnn-100 --tier paper",
        argument("name", help="<paper>/<experiment> or <paper>/<claim>, as `reprise list <paper>` has them"),
        TIER,
    ),
    "diff": command(
        "compare two run records: configuration, environment, numbers",
        "diff:diff",
        "diff again.json results/paper/runs/palindromes/rnn-t10/0-d2f4cbc3ddb4.json",
        argument("first", type=Path, help="a run record, such as `reprise train --output again.json` leaves"),
        argument("second", type=Path, help="the record to compare it with"),
    ),
    "estimate": command(
        "say how long what is missing will take on this machine",
        "estimate:estimate",
        "estimate rrntn --tier paper --cores 8",
        argument("name", nargs="*", help="<paper> or <paper>/<experiment>; default: all of the tier"),
        argument("--cores", type=int, default=os.cpu_count() or 1, help="default: those of this machine"),
        argument("--no-calibration", action="store_true", help="use what is known and measure nothing"),
        TIER,
    ),
    "cache": command(
        "check the figures that DVC keeps against their checksums",
        "cache:cache",
        "cache .dvc/cache",
        argument(
            "folder",
            nargs="?",
            type=Path,
            default=Path(".dvc/cache"),
            help="the cache, or the folder of a remote; default: %(default)s",
        ),
    ),
    "schemas": command(
        "write the JSON Schemas of the configuration",
        "steps:schemas",
        "schemas",
        argument("--folder", type=Path, default=Path("workflow/schemas"), help="default: %(default)s"),
    ),
    "bench": command(
        "time the engines beside what else one could run",
        "bench:bench",
        "bench rntn --only h100-k --budget 150",
        argument("name", metavar="NAME", nargs="?", help=f"one of {', '.join(BENCHES)}"),
        argument("--json", type=output_file("--json", "bench.json"), metavar="FILE", help="write the result there"),
        argument("--only", metavar="SUBSTRING", default="", help="of <workload>/<implementation>, such as k100/"),
        argument(
            "--budget",
            type=float,
            metavar="SECONDS",
            default=900.0,
            help="for all repetitions together (default 900); checks and compilation come on top",
        ),
        argument("--table", action="store_true", help="without NAME: the results in results/bench/, in Markdown"),
    ),
}
