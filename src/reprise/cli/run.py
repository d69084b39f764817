"""Train the missing replicas of a tier, within a time."""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.strict_yaml import load_yaml
from reprise.errors import EXIT_INTERRUPTED, Failed, UserError, suggest_name
from reprise.files import require_place
from reprise.records.resolved import ENGINES, TIERS, Resolved, read_resolved
from reprise.training.devices import claim_gpu, count_visible_gpus, has_network, prepare_environment

if TYPE_CHECKING:
    from reprise.training.timebox import Log
    from reprise.training.trainer import Job

_CONFIG = Path("config/config.yaml")


def run_command(options: argparse.Namespace) -> int:
    """Train the missing replicas of a tier, within --minutes if given, and leave run records and a log.

    Experiments with the fewest finished replicas come first, then the order of the papers' files. On a CPU a job is a
    replica; on a GPU it is all missing replicas of an experiment. Jobs train one after another. To use several cores or
    GPUs, start the command once for each; a process passes over what another one trains. On a GPU --at-once trains
    several jobs side by side, since one leaves most of it idle. It refuses modules of one's own, whose random numbers
    would mix.
    Unfinished trainings are saved in checkpoints/. The same command resumes them.

    The command needs only torch, numpy, pyyaml, rich and safetensors. It reads corpora from a folder. Without pydantic
    it cannot check config/; it then takes the configurations that `reprise resolve` wrote as they are.
    """
    prepare_environment()
    if options.device == "cuda" and not count_visible_gpus():
        raise UserError("--device cuda: no GPU is visible; write --device auto or cpu")
    experiments = choose_experiments(options.tier, options.paper, options.experiment, options.resolved)
    if options.engine not in (None, *ENGINES):
        raise UserError(f"--engine {options.engine}: no such engine; {suggest_name(options.engine, ENGINES)}")
    if options.device != "cpu" and (visible := count_visible_gpus()) > 1:
        claim_gpu(visible)
    # torch takes seconds to import: only once the input is known to be good.
    from reprise.training.timebox import Log

    return _train(options, experiments, Log(options.output / "logs" / "run" / f"{options.tier}.log"))


def _refuse_shared_random_numbers(experiments: Iterable[Resolved]) -> None:
    """Raise `UserError` for a module of one's own: it may draw torch's random numbers, which all threads share."""
    for resolved in (e for e in experiments if not e.is_check):
        if PROTOCOLS[resolved.config["training"]["protocol"]].any_module:
            raise UserError(
                f"--at-once: {resolved.id} trains a module of your own, which may draw torch's own random numbers; "
                "omit the option, or name other experiments with --experiment"
            )


def _train(options: argparse.Namespace, experiments: Sequence[Resolved], log: Log) -> int:
    from reprise.training.jobs import is_stacked
    from reprise.training.timebox import Runner, list_damaged, list_missing
    from reprise.training.torch_state import use_torch_settings

    end, roots = time.monotonic() + 60 * (options.minutes or math.inf), [Path(), options.output]
    damaged_records = list_damaged(experiments, roots)
    for line in damaged_records:
        log(f"left out: {line}")
    jobs = [_make_job(resolved, replica, options) for resolved, replica in list_missing(experiments, roots)]
    if options.at_once > 1:
        _refuse_shared_random_numbers(job.resolved for job in jobs)
    left_out = _find_jobs_without_corpus(jobs, log)
    left_out += _find_jobs_without_place([job for job in jobs if job not in left_out], log)
    # Jobs of one experiment that train in a stack are one group, at the place of the first. Each other job is its own.
    groups: dict[str, list[Job]] = {}
    for job in (job for job in jobs if job not in left_out):
        groups.setdefault(job.resolved.id if is_stacked(job) else job.title, []).append(job)
    runner = Runner(groups.values(), end, log, options.at_once)
    log(f"tier {options.tier}: {len(jobs) - len(left_out)} replicas to train in {len(groups)} jobs")
    with use_torch_settings():
        runner.run()
    counts = {
        "failed": len(runner.failed),
        "unfinished": len(runner.unfinished),
        "in training elsewhere": len(runner.locked_elsewhere),
        "left out": len(left_out) + len(damaged_records),
    }
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "all done"
    log(summary)
    if counts["failed"] or counts["left out"]:
        raise Failed(f"tier {options.tier}: {summary}; {log.path} says why")
    return EXIT_INTERRUPTED if counts["unfinished"] or counts["in training elsewhere"] else 0


def _make_job(resolved: Resolved, replica: int, options: argparse.Namespace) -> Job:
    from reprise.training.trainer import Job

    corpus = options.corpora / Path(resolved.corpus).name if resolved.corpus else None
    device = (options.device or resolved.device) if has_network(resolved) else "cpu"
    output = options.output / resolved.get_record_path(replica)
    if options.weights:
        resolved = replace(resolved, weights=options.weights)
    engine = options.engine or resolved.engine
    return Job(resolved, replica, output, corpus, engine, device, root=options.checkpoints)


def _find_jobs_without_corpus(jobs: list[Job], log: Callable[[str], None]) -> list[Job]:
    """List the jobs whose corpus is missing; log how to get each corpus."""
    left_out = [job for job in jobs if job.corpus is not None and not job.corpus.is_file()]
    for path, count in Counter(job.corpus for job in left_out).items():
        resolved = next(job.resolved for job in left_out if job.corpus == path)
        command = f"python -m reprise prepare {resolved.id} --tier {resolved.tier}"
        remedy = f"run `{command}`, or name the folder that has it with --corpora"
        log(f"{path}: no such corpus, left out: {count} replicas; {remedy}")
    return left_out


def _find_jobs_without_place(jobs: list[Job], log: Callable[[str], None]) -> list[Job]:
    """List the jobs whose record could not be written; log why, before hours go into an experiment."""
    folders = set()
    for folder, job in {job.output.parent: job for job in jobs}.items():
        try:
            require_place(job.output, str(job.output))
        except UserError as error:
            log(f"left out: {error}")
            folders.add(folder)
    return [job for job in jobs if job.output.parent in folders]


def choose_experiments(
    tier: str, papers: Collection[str] = (), chosen: Collection[str] = (), written: bool = False
) -> list[Resolved]:
    """List the experiments and variants of a tier in the order of the papers' files.

    Without pydantic or config/ they are those that `reprise resolve` or the pipeline wrote to results/<tier>/config/.

    Args:
        tier: The tier.
        papers: Where given, only experiments of these.
        chosen: Where given, only these experiments.
        written: Whether to take what was written in any case.

    Raises:
        UserError: A name is unknown, a chosen experiment is of another paper, or no paper has experiments in the tier.
    """
    checked = None if written else _resolve_config(tier)
    experiments = read_resolved_files(tier) if checked is None else checked
    selections = (
        ("paper", papers, {e.paper for e in experiments}),
        ("experiment", chosen, {e.id for e in experiments}),
    )
    for kind, names, known_names in selections:
        for name in (name for name in names if name not in known_names):
            if not checked:
                raise UserError(f"no {kind} '{name}' in the tier {tier}; {suggest_name(name, known_names)}")
            from reprise.cli.common import make_tier_error

            raise make_tier_error(tier, kind, name, known_names)
    for name in chosen:
        if papers and name.partition("/")[0] not in papers:
            raise UserError(f"--experiment {name}: is not of --paper {' '.join(papers)}; omit one of the two")
    return [e for e in experiments if (not papers or e.paper in papers) and (not chosen or e.id in chosen)]


def _resolve_config(tier: str) -> list[Resolved] | None:
    """Check config/ and list a tier's experiments; None where that cannot be done."""
    if not _CONFIG.is_file():
        return None
    try:
        from reprise.cli.common import load_tier
    except ModuleNotFoundError:
        return None
    project, experiments = load_tier(tier)
    if not experiments:
        others = " or ".join(f"--tier {t}" for t in TIERS if t != tier and load_tier(t)[1])
        problem = f"no paper of {', '.join(project.papers)} has experiments in the tier {tier}"
        raise UserError(f"{_CONFIG}: {problem}; {f'write {others}' if others else 'give their experiments tiers'}")
    return experiments


def read_resolved_files(tier: str) -> list[Resolved]:
    """Read what `reprise resolve` wrote, in the order of config/ if that exists.

    Raises:
        UserError: There are no such files.
    """
    folder = Path("results") / tier / "config"
    files = sorted(folder.rglob("*.json"))
    if not files:
        resolve = f"`python -m reprise resolve --tier {tier}`"
        if _CONFIG.is_file():
            raise UserError(f"{folder}: no configurations; run {resolve} where pydantic is")
        remedy = f"run from the root of the clone, or put there what {resolve} wrote in one"
        raise UserError(f"{folder}: no configurations, and no {_CONFIG} either; {remedy}")
    # config/ is read without being checked. What it no longer names was left behind by an older one.
    papers = _read_names(_CONFIG, "papers") if _CONFIG.is_file() else []
    positions: dict[str, tuple[int, int]] = {}
    for number, paper in enumerate(name for name in papers if (folder / name).is_dir()):
        names = _read_names(Path("config", "papers", f"{paper}.yaml"), "experiments")
        positions |= {f"{paper}/{name}": (number, i) for i, name in enumerate(names)}
    listed_files = [
        path for path in files if not positions or f"{path.parent.name}/{path.stem.partition('@')[0]}" in positions
    ]

    def get_position(e: Resolved) -> tuple[Any, ...]:
        """Return the place of an experiment; variants come after all experiments of a paper."""
        paper, experiment = positions.get(f"{e.paper}/{e.base}", (0, 0))
        return paper, e.assumption is not None, experiment, e.id

    return sorted(map(read_resolved, listed_files), key=get_position)


def _read_names(path: Path, key: str) -> list[str]:
    """Read the names that a key of a YAML file lists, or has as its keys, where nothing can check the file."""
    content = load_yaml(path)
    names = content.get(key) if isinstance(content, dict) else None
    if not isinstance(names, (list, dict)) or not all(isinstance(name, str) for name in names):
        raise UserError(f"{path}: key {key}: should list names; correct it")
    return list(names)
