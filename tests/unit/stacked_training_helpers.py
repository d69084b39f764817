"""What the tests of the training of stacks share, whatever is stacked: records of solo runs, stops, failures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from stacked_helpers import jobs_of, never, runner_of

from reprise import cli
from reprise.records.record import read_record
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.stack_member import saved_state

KEYS = ("config", "config_hash", "parameters", "status", "replica", "seed", "fold", "samples", "diverged", "paper")


def records(jobs: list[Job]) -> list[dict[str, Any]]:
    return [read_record(job.output, job.resolved) for job in jobs]


def values(record: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Metrics by split and name."""
    return {(m["split"], m["metric"]): m["value"] for m in record["metrics"]}


def solo_of(job: Job, folder: Path, engine: str) -> dict[str, Any]:
    """The record of the same replica, trained by itself."""
    record = run_job(replace(job, root=folder / "solo", output=folder / "solo.json", engine=engine))
    (folder / "solo.json").unlink()
    return record


def held(
    own: dict[str, Any],
    exact: dict[str, Any],
    rel: float = 1e-5,
    least: float | None = None,
    keys: tuple[str, ...] = KEYS,
) -> None:
    """A record is another, with numbers that differ by `rel` of themselves or by `least`, and texts that do not."""
    for metric, other in zip(own["metrics"], exact["metrics"], strict=True):
        assert metric == other | {"value": pytest.approx(other["value"], rel=rel, abs=least)}
    for curve, other in zip(own["curves"], exact["curves"], strict=True):
        assert curve == other | {"y": pytest.approx(other["y"], rel=rel, abs=least)}
    assert own.keys() == exact.keys()
    for key in keys:
        assert own[key] == exact[key]


def stopped_after(turns: int) -> Callable[[], str]:
    """A signal that comes when the runner has asked so often."""
    asked = iter(range(100))
    return lambda: "SIGTERM" if next(asked) >= turns else ""


def in_pieces(
    jobs: list[Job], turns: Callable[[int], int], most: int, said: list[str] | None = None
) -> tuple[int, list[dict[str, Any]]]:
    """Trains, stopped for the i-th time after turns(i) turns: how often it was started, and the states it was left in.

    Fails where `most` starts are not enough.
    """
    starts, states = 0, []
    while not all(job.output.exists() for job in jobs):
        assert starts < most
        runner_of([jobs], said).run(stopped_after(turns(starts)))
        found = [saved_state(job, print)[1] for job in jobs if not job.output.exists()]
        states += [state for state in found if state]
        starts += 1
    return starts, states


def checked_stack(jobs: list[Job]) -> list[str]:
    """Trains a stack that is checked first, and all of it; what was said."""
    said: list[str] = []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert (runner.failed, runner.unfinished) == ([], []), said
    return said


def leaves_the_records_of_solo_runs(
    jobs: list[Job],
    solo: Callable[[Job, Path], dict[str, Any]],
    folder: Path,
    sizes: tuple[int, ...],
    least: float | None = None,
) -> list[str]:
    """Trains six replicas in stacks of `sizes`, of which three stop early and the last diverges; what was said.

    `folder` is where they are trained; the solo runs leave nothing in it.
    """
    said = checked_stack(jobs)
    for own, job in zip(records(jobs), jobs, strict=True):
        held(own, solo(job, folder.parent), least=least)
        assert own["run"]["engine"] == "stacked"
        assert own["run"]["stack_replicas"] in sizes
    assert [record["status"] for record in records(jobs)] == ["finished"] * 5 + ["diverged"]
    assert any("4 of 6 have stopped: a stack of 2 goes on" in line for line in said)
    assert not list(folder.rglob("*.stacked*"))
    return said


def trains_in_float64(
    one: Resolved,
    solo: Callable[[Job, Path], dict[str, Any]],
    folder: Path,
    rel: float = 1e-11,
    least: float | None = None,
) -> None:
    """A stack of an experiment's replicas, in float64, leaves the records of solo runs to many digits."""
    jobs = jobs_of([replace(one, config=one.config | {"precision": "float64"})], folder)
    checked_stack(jobs)
    for own, job in zip(records(jobs), jobs, strict=True):
        held(own, solo(job, folder), rel, least)


def same_numbers(jobs: list[Job], whole: list[Job], to_the_bit: bool, starts: int) -> None:
    """Jobs that were started so often have the numbers of those that were not stopped."""
    for own, exact in zip(records(jobs), records(whole), strict=True):
        if to_the_bit:
            for key in ("metrics", "curves", "samples"):
                assert own[key] == exact[key]
            assert own["run"]["resumed"] == starts - 1
        assert values(own) == pytest.approx(values(exact), rel=1e-5)
        assert own["status"] == exact["status"]


def halved_for_want_of_memory(stack: type, jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Trains five replicas where a `stack` has room for two; what was said."""
    real = stack.__init__

    def small(self, models, *rest, **options):
        if len(models) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        real(self, models, *rest, **options)

    monkeypatch.setattr(stack, "__init__", small)
    said: list[str] = []
    runner_of([jobs], said).run(never)
    assert all(record["status"] == "finished" for record in records(jobs))
    assert any("two stacks of 3 and 2 instead" in line for line in said)
    return said


def too_far(step: Callable[..., None], share: float = 1e-3) -> Callable[..., None]:
    """An optimiser's `step`, longer by that share."""

    def longer(self, *arguments):
        before = self.values.clone()
        step(self, *arguments)
        self.values.add_(self.values - before, alpha=share)

    return longer


def unclipped(step: Callable[..., None]) -> Callable[..., None]:
    """An optimiser's `step` that shortens no gradient."""

    def without(self, *arguments):
        self.clips.fill_(math.inf)
        step(self, *arguments)

    return without


def refused(jobs: list[Job]) -> None:
    """The check of a stack that computes something else finds it, and nothing is trained."""
    said: list[str] = []
    runner = runner_of([jobs], said, checked=True)
    runner.run(never)
    assert runner.failed == jobs
    assert "StackDisagrees" in said[-1]
    assert not any(job.output.exists() for job in jobs)


def run_and_train(
    one: Resolved, engines: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path | None = None
) -> list[tuple[dict[str, Any], ...]]:
    """A replica after another: the record that `run` leaves of it, and those of `train` with each of `engines`."""
    monkeypatch.chdir(folder)
    Path(one.config_path()).parent.mkdir(parents=True)
    Path(one.config_path()).write_text(one.to_json(), encoding="utf-8")
    if corpus:
        Path("corpora").mkdir()
        Path("corpora/c.npz").write_bytes(corpus.read_bytes())
    arguments = ["run", "--tier", "quick", "--output", "out", "--device", "cpu"]
    assert cli.main(arguments + (["--corpora", "corpora"] if corpus else [])) == 0
    found = []
    for replica in range(one.replicas):
        own = [read_record(Path("out", one.record_path(replica)), one)]
        for engine in engines:
            arguments = ["train", "p/a", "--replica", str(replica), "--config", one.config_path(), "--device", "cpu"]
            arguments += ["--engine", engine, "--output", f"{engine}.json"]
            assert cli.main(arguments + (["--corpus", "corpora/c.npz"] if corpus else [])) == 0
            own.append(read_record(Path(f"{engine}.json"), one))
            Path(f"{engine}.json").unlink()
        assert own[0]["run"]["stack_replicas"] == one.replicas
        found.append(tuple(own))
    return found
