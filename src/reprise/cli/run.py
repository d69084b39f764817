"""Train what is missing of a tier, the most valuable first, for so many minutes, and leave records and a log.

The experiments with the fewest finished replicas come first, then the order of the papers' files. On a GPU replicas of
equal shape train as one stack, several stacks at a time; elsewhere one replica after another, on the CPU's engines.
What would not fit into the time, by its speed in the first seconds, waits for what does. Everything that is not done is
saved in checkpoints/, and the same command goes on from there. On a machine that gives back few files --archive puts
records and logs into one, which `collect --from` takes in where the configuration is the same.

Nothing is needed beyond torch, numpy, pyyaml and rich: corpora are read from a folder, and where config/ cannot be
checked (that takes pydantic) the configurations that `reprise resolve` wrote are taken as they are.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.cli.chosen import chosen_experiments
from reprise.config.tiers import TIERS
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_STOPPED, UserError
from reprise.records.resolved import Resolved
from reprise.refusals import output_file
from reprise.training.devices import claim_gpu, gpu_ids, visible_gpus
from reprise.training.run_archive import RunArchive
from reprise.training.stack_environment import prepare_environment
from reprise.training.stack_plan import Missing, cut, grouped, in_parts, missing, present, trains_in_stack, usual_epochs

if TYPE_CHECKING:
    from reprise.training.loop import Job

_MOST_STREAMS = 32
"""Stacks that can live on a GPU at a time: torch has no more pairs of streams (`kernels/stacked_streams.py`)."""

EXAMPLE = "reprise run --tier paper --paper rrntn --minutes 25"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=TIERS, required=True)
    parser.add_argument("--minutes", type=float, help="default: until all is done")
    parser.add_argument("--paper", nargs="+", default=[], help="only experiments of these papers")
    parser.add_argument(
        "--experiment", nargs="+", default=[], help="only these, <paper>/<experiment>; with --paper, of its papers"
    )
    parser.add_argument("--corpora", type=Path, default=Path("data/corpora"), help="the folder of prepared corpora")
    parser.add_argument("--output", type=Path, default=Path(), help="the folder that gets results/ and logs/")
    parser.add_argument(
        "--archive",
        type=output_file("--archive", "records.tgz"),
        metavar="FILE.tgz",
        help="all records and logs of --output in one file as well, anew with each record; for `collect --from`",
    )
    parser.add_argument("--checkpoints", type=Path, default=Path(), help="the folder that gets checkpoints/")
    parser.add_argument(
        "--lease-minutes",
        type=float,
        metavar="M",
        help="minutes of this and later calls together (default: --minutes): what fits into these is not put off for "
        "others, and the later calls go on with it",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="cuda: stacks alone; cpu: one by one; auto: stacks on a GPU if one is visible, then the rest on the CPU",
    )
    parser.add_argument("--streams", type=int, default=6, help="stacks that share a GPU at a time (default 6)")
    parser.add_argument(
        "--largest",
        type=int,
        default=12,
        metavar="R",
        help="replicas in a stack at most (default 12): what one stack waits for, others fill",
    )
    parser.add_argument("--resolved", action="store_true", help="take results/<tier>/config/ as it is, config/ unread")
    parser.add_argument("--one-gpu", action="store_true", help="use one GPU alone, which no other process here uses")
    parser.add_argument("--part", metavar="I/N", help="the I-th of N processes that share the work, I from 0")


def run(given: argparse.Namespace) -> int:
    prepare_environment()
    if given.minutes is not None and not given.minutes > 0:
        raise UserError(f"--minutes {given.minutes:g}: give a number above 0, or leave it away")
    if given.lease_minutes is not None and not given.lease_minutes >= (given.minutes or float("inf")):
        raise UserError(f"--lease-minutes {given.lease_minutes:g}: give at least --minutes, which it comes with")
    for name in ("streams", "largest"):
        if getattr(given, name) < 1:
            raise UserError(f"--{name} {getattr(given, name)}: give a number of 1 or more")
    if given.streams > _MOST_STREAMS:
        raise UserError(f"--streams {given.streams}: a GPU has room for {_MOST_STREAMS}; give a number up to that")
    part, parts = _part(given.part)
    gpus = _gpus(given.device)
    if given.device == "cuda" and not gpus:
        raise UserError("--device cuda: no GPU is visible; write --device auto or cpu")
    experiments = chosen_experiments(given.tier, given.paper, given.experiment, given.resolved)
    if gpus > 1 and given.one_gpu:
        claim_gpu(gpus)
        gpus = 1
    elif gpus > 1 and given.part is None:
        return _archived(given, experiments, partial(print, file=sys.stderr), lambda say: _one_process_a_gpu(gpus))
    if gpus and not _of_use(given.device):
        gpus = 0
    # torch takes seconds to import: only once the input is known to be good.
    from reprise.training.timebox import Log

    log = Log(given.output / "logs" / "run" / f"{given.tier}{f'-{part}' * (parts > 1)}.log")
    return _archived(given, experiments, log, lambda say: _train(given, experiments, gpus, part, parts, say))


def _archived(
    given: argparse.Namespace,
    experiments: Sequence[Resolved],
    log: Callable[[str], None],
    work: Callable[[Callable[[str], None]], int],
) -> int:
    """The exit status of `work`, which is given what says a line.

    Where an archive is wanted, that is when it is looked for new records as well; one that could not be written in the
    end is a failure, whatever else was done.
    """
    if given.archive is None:
        return work(log)
    archive = RunArchive(given.archive, given.output, given.tier, experiments, log)

    def say(line: str) -> None:
        log(line)
        archive.refresh()

    written = False
    try:
        status = work(say)
    finally:
        written = archive.write()
    return status if written else EXIT_FAILED


def _train(
    given: argparse.Namespace,
    experiments: Sequence[Resolved],
    gpus: int,
    part: int,
    parts: int,
    say: Callable[[str], None],
) -> int:
    from reprise.training.loop import stop_signal
    from reprise.training.stack import StackRunner
    from reprise.training.timebox import SoloRunner, TimeBox

    box, lease = TimeBox(given.minutes), TimeBox(given.lease_minutes or given.minutes)
    roots = [Path(), given.output]
    there = present(experiments, roots)
    for line in there.damaged:
        say(f"left out: {line}")
    jobs = [_job(one, given) for one in missing(experiments, roots)]
    left_out = _without_corpus(jobs, say)
    jobs = [job for job in jobs if job not in left_out]
    usual = usual_epochs(there.epochs)
    on_stack = [job for job in jobs if trains_in_stack(job.resolved, gpus)]
    groups = in_parts(grouped(on_stack, lambda job: job.resolved), part, parts)
    streams = given.streams if gpus else 1
    stacks = StackRunner(cut(groups, given.largest), gpus, box.left, usual, say, streams, lease=lease.left)
    rest = [job for job in jobs if not trains_in_stack(job.resolved, gpus)] if given.device != "cuda" else []
    alone = SoloRunner(in_parts([[job] for job in rest], part, parts), box.left, usual, say, lease=lease.left)
    say(f"tier {given.tier}: {len(on_stack)} replicas to train in stacks, {len(rest)} one by one")
    with stop_signal() as stopped:
        stacks.run(stopped)
        reason = stopped()
    if not reason:
        alone.run()
    failed, unfinished = stacks.failed + alone.failed, stacks.unfinished + alone.unfinished
    without = len(left_out) + len(there.damaged)
    say(f"{len(failed)} failed, {len(unfinished)} unfinished" + f", {without} left out" * bool(without))
    return EXIT_FAILED if failed or without else EXIT_INTERRUPTED if unfinished or reason else 0


def _without_corpus(jobs: list[Job], say: Callable[[str], None]) -> list[Job]:
    """Jobs whose corpus is not there; says of each corpus how to get it."""
    left_out = [job for job in jobs if job.corpus is not None and not job.corpus.is_file()]
    for path, count in Counter(job.corpus for job in left_out).items():
        resolved = next(job.resolved for job in left_out if job.corpus == path)
        command = f"python -m reprise prepare {resolved.id} --tier {resolved.tier}"
        remedy = f"run `{command}`, or name the folder that has it with --corpora"
        say(f"{path}: no such corpus, left out: {count} replicas; {remedy}")
    return left_out


def _gpus(device: str) -> int:
    gpus = visible_gpus() if device != "cpu" else 0
    if device == "cuda" and not gpus:
        import torch

        gpus = torch.cuda.device_count()  # where neither /proc nor nvidia-smi tells
    return gpus


def _of_use(device: str) -> bool:
    """Whether torch can use the GPU that is visible; where it cannot, `auto` is the CPU."""
    import torch

    if torch.cuda.is_available():
        return True
    if device == "cuda":
        raise UserError("--device cuda: torch cannot use the GPU that is visible; write --device auto or cpu")
    return False


def _job(one: Missing, given: argparse.Namespace) -> Job:
    from reprise.training.loop import Job

    resolved = one.resolved
    corpus = given.corpora / Path(resolved.corpus).name if resolved.corpus else None
    output = given.output / resolved.record_path(one.replica)
    # What a stack cannot train keeps to the CPU, where its engines are the fastest there are.
    engine = "auto" if resolved.engine == "stacked" else resolved.engine
    return Job(resolved, one.replica, output, corpus, engine, "cpu", root=given.checkpoints)


def _part(text: str | None) -> tuple[int, int]:
    if text is None:
        return 0, 1
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal() and int(first) < int(second)):
        raise UserError(f"--part {text}: write I/N with I from 0 to N - 1")
    return int(first), int(second)


def _one_process_a_gpu(gpus: int) -> int:
    """The same command once a GPU, each with that one alone; the exit status of the worst."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "reprise", *sys.argv[1:], "--part", f"{i}/{gpus}"],
            env=os.environ | {"CUDA_VISIBLE_DEVICES": name},
        )
        for i, name in enumerate(gpu_ids(gpus))
    ]

    def forward(number: int, _: object) -> None:
        for process in processes:
            process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        statuses = {process.wait() for process in processes}
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return EXIT_FAILED if statuses - {0, EXIT_INTERRUPTED, EXIT_STOPPED} else max(statuses)
