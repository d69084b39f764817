"""Train what is missing of a tier, the most valuable first, for so many minutes, and leave records and a log.

Experiments with the fewest finished replicas come first, then the order of the papers' files. On a CPU a job is a
replica; on a GPU it is all missing replicas of an experiment. Jobs train one after another; start the command once a
core, or once a GPU, to use several: what one process trains, the others pass over. What is not done is saved in
checkpoints/, and the same command goes on from there.

Nothing is needed beyond torch, numpy, pyyaml and rich: corpora are read from a folder, and where config/ cannot be
checked (that takes pydantic) the configurations that `reprise resolve` wrote are taken as they are.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.cli.chosen import chosen_experiments
from reprise.errors import EXIT_FAILED, EXIT_INTERRUPTED, UserError
from reprise.records.resolved import TIERS, Resolved
from reprise.training.devices import claim_gpu, learns, prepare_environment, visible_gpus

if TYPE_CHECKING:
    from reprise.training.loop import Job

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
    parser.add_argument("--checkpoints", type=Path, default=Path(), help="the folder that gets checkpoints/")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), help="default: the configured one")
    parser.add_argument("--resolved", action="store_true", help="take results/<tier>/config/ as it is, config/ unread")


def run(given: argparse.Namespace) -> int:
    prepare_environment()
    if given.minutes is not None and not given.minutes > 0:
        raise UserError(f"--minutes {given.minutes:g}: give a number above 0, or omit it")
    if given.device == "cuda" and not visible_gpus():
        raise UserError("--device cuda: no GPU is visible; write --device auto or cpu")
    experiments = chosen_experiments(given.tier, given.paper, given.experiment, given.resolved)
    if given.device != "cpu" and (visible := visible_gpus()) > 1:
        claim_gpu(visible)
    # torch takes seconds to import: only once the input is known to be good.
    from reprise.training.timebox import Log

    return _train(given, experiments, Log(given.output / "logs" / "run" / f"{given.tier}.log"))


def _train(given: argparse.Namespace, experiments: Sequence[Resolved], say: Callable[[str], None]) -> int:
    from reprise.training.timebox import Runner, TimeBox, damaged, missing

    box, roots = TimeBox(given.minutes), [Path(), given.output]
    broken = damaged(experiments, roots)
    for line in broken:
        say(f"left out: {line}")
    jobs = [_job(resolved, replica, given) for resolved, replica in missing(experiments, roots)]
    left_out = _without_corpus(jobs, say)
    groups = _groups([job for job in jobs if job not in left_out])
    runner = Runner(groups, box, say)
    say(f"tier {given.tier}: {sum(map(len, groups))} replicas to train in {len(groups)} jobs")
    runner.run()
    counts = {
        "failed": len(runner.failed),
        "unfinished": len(runner.unfinished),
        "in training elsewhere": len(runner.held),
        "left out": len(left_out) + len(broken),
    }
    say(", ".join(f"{count} {what}" for what, count in counts.items() if count) or "all done")
    if counts["failed"] or counts["left out"]:
        return EXIT_FAILED
    return EXIT_INTERRUPTED if counts["unfinished"] or counts["in training elsewhere"] else 0


def _groups(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs of one experiment that train in a stack are one group, at the place of the first; every other is its own."""
    from reprise.training.loop import trains_in_stack

    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.resolved.id if trains_in_stack(job) else job.title, []).append(job)
    return list(groups.values())


def _without_corpus(jobs: list[Job], say: Callable[[str], None]) -> list[Job]:
    """Jobs whose corpus is not there; says of each corpus how to get it."""
    left_out = [job for job in jobs if job.corpus is not None and not job.corpus.is_file()]
    for path, count in Counter(job.corpus for job in left_out).items():
        resolved = next(job.resolved for job in left_out if job.corpus == path)
        command = f"python -m reprise prepare {resolved.id} --tier {resolved.tier}"
        remedy = f"run `{command}`, or name the folder that has it with --corpora"
        say(f"{path}: no such corpus, left out: {count} replicas; {remedy}")
    return left_out


def _job(resolved: Resolved, replica: int, given: argparse.Namespace) -> Job:
    from reprise.training.loop import Job

    corpus = given.corpora / Path(resolved.corpus).name if resolved.corpus else None
    output = given.output / resolved.record_path(replica)
    device = given.device or resolved.device
    device = device if learns(resolved) else "cpu"
    return Job(resolved, replica, output, corpus, resolved.engine, device, root=given.checkpoints)
