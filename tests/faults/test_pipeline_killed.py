"""The whole pipeline killed, orphaned, started twice: in the end the same bytes as if nothing had happened."""

import contextlib
import csv
import gzip
import os
import platform
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest
from project import PYTHON, SECONDS, Project, contents, halt, new_project, read_record, result_bytes, script, wait_until
from replica import alive

from reprise.errors import EXIT_INTERRUPTED
from reprise.records.resolved import read_resolved

pytestmark = pytest.mark.faults

SEED = 4
LSTM = "digits/lstm-t5"


@dataclass(frozen=True)
class Started:
    """A `snakemake` in the background and the file that its messages go to."""

    project: Project
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def steps(self) -> int:
        """Jobs that it has finished."""
        return max(map(int, re.findall(r"^(\d+) of \d+ steps", self.output, re.MULTILINE)), default=0)

    def is_at(self, *jobs: str) -> bool:
        """Whether a job has begun and not finished whose message starts with one of these words."""
        output = self.output
        ended = set(re.findall(r"^Finished jobid: (\d+) ", output, re.MULTILINE))
        messages = re.findall(r"^Job (\d+): (.+)$", output, re.MULTILINE)
        return any(message.startswith(jobs) for number, message in messages if number not in ended)

    def wait_until(self, condition: Callable[[], object]) -> None:
        wait_until(condition, process=self.process, describe=lambda: self.output)

    def half_way(self) -> int:
        """Halts the training of the LSTM once it has a checkpoint; the process."""
        folder, checkpoints = self.project.root / "checkpoints" / LSTM, []
        self.wait_until(lambda: checkpoints.extend(folder.glob("*.ckpt")) or checkpoints)
        return halt(checkpoints[0])

    def ends_well(self) -> None:
        assert self.process.wait() == 0, self.output


@contextlib.contextmanager
def started(project: Project, target: str = "all") -> Iterator[Started]:
    """`snakemake --config tier=quick -- <target>`; when the body ends, nothing of the project runs on."""
    log = project.root.parent / "log.txt"
    command = (PYTHON, "-m", "snakemake", "--cores", "2", "--config", "tier=quick", "--", target)
    with project.background(log, *command) as process:
        yield Started(project, process, log)


def evidence(project: Project) -> dict[str, bytes]:
    """All results as bytes, but for what says how long something took.

    A power cut in the middle of a write leaves a temporary file, which nothing reads and Git and DVC ignore.
    """
    results = project.root / "results" / "quick"
    results_by_name = {
        name: data for name, data in contents(results).items() if not fnmatch(Path(name).name, ".*.part")
    }
    results_by_name |= {str(path.relative_to(results)): result_bytes(path) for path in project.records()}
    for name, read in (("metrics.csv", open), ("curves.csv.gz", gzip.open)):
        with read(results / name, "rt", encoding="utf-8", newline="") as file:
            rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
        assert rows
        results_by_name[name] = repr(rows).encode()
    return results_by_name


@pytest.fixture
def separate(tmp_path_factory, pipeline_variables):
    """Environment of a project with a temporary folder of its own, by which its processes are known."""
    return {**pipeline_variables, "TMPDIR": str(tmp_path_factory.mktemp("k")), "REPRISE_SAVE_SECONDS": "0"}


def lengthen(project: Project) -> str:
    """Makes the training of one replica last some seconds; the name of its record."""
    project.edit(
        "config/papers/digits.yaml",
        "    model: {name: lstm}\n",
        '    model: {name: lstm}\n    training: {steps: {value: 3000, from: "ours: long"}}\n',
    )
    resolved = project.reprise("resolve", "--tier", "quick")
    assert resolved.returncode == 0, resolved.stderr
    return read_resolved(project.root / f"results/quick/config/{LSTM}.json").get_record_path(0)


def power_cut(project: Project, ready: Callable[[Started], object], seconds: float) -> Started:
    """Everything is killed so many seconds after the pipeline was `ready`; it had some way to go then."""
    with started(project) as run:
        run.wait_until(lambda: ready(run))
        time.sleep(seconds)
        assert run.process.poll() is None, run.output
        project.kill_everything()
    assert not (project.root / "results/report.html").exists()
    return run


def test_killed_at_random_points(first_run, tmp_path, separate):
    """Power cuts in training, between any jobs, while results are collected or judged and while they are drawn.

    The folder's name has blanks, accents and a sign outside of Latin letters; engines are compiled in it.
    """
    undisturbed = Project(first_run[0].copy(tmp_path / "plain").root, separate)
    (short,) = undisturbed.records(f"{LSTM}/*.json")
    short.unlink()
    record = lengthen(undisturbed)
    with started(undisturbed) as run:
        run.ends_well()

    variables = {name: value for name, value in separate.items() if name != "REPRISE_BUILD"}
    project = new_project(tmp_path / "ein Klon, für später ☃", variables)
    assert lengthen(project) == record
    draw = random.Random(SEED)
    cut = power_cut(project, Started.half_way, draw.uniform(0.0, 1.5))
    assert cut.is_at(f"training {LSTM}"), cut.output
    # So many jobs further on, but not beyond those that are met next.
    goal, late = draw.randint(1, 3), ("collecting", "judging")
    power_cut(project, lambda run: run.steps >= goal or run.is_at(*late), draw.uniform(0.0, 0.3))
    for jobs in (late, (draw.choice(["drawing", "writing results/"]),)):
        cut = power_cut(project, lambda run, jobs=jobs: run.is_at(*jobs), draw.uniform(0.0, 0.3))
        assert cut.is_at(*jobs), cut.output
    with started(project) as run:
        run.ends_well()
    assert evidence(project) == evidence(undisturbed)
    assert read_record(project.root / record)["run"]["resumed"] >= 1
    compiled, shared = project.root / "build/kernels", Path(separate["REPRISE_BUILD"])
    assert bool(list(compiled.glob("*.so"))) == bool(list(shared.glob("*.so")))
    ours, theirs = (map(read_record, each.records("words/s-rnn-4/*.json")) for each in (project, undisturbed))
    assert [record["run"]["engine"] for record in ours] == [record["run"]["engine"] for record in theirs]


def test_killed_as_a_corpus_was_put_there(tmp_path, separate):
    """It is whole, but Snakemake never heard so: it is made once more, and what waits for it is trained."""
    script(tmp_path / "bin/python", f'"{PYTHON}" "$@" || exit 1\ncase "$*" in *" prepare "*) sleep {SECONDS};; esac')
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"
    project = new_project(tmp_path / "clone", {**separate, "PATH": path})
    before = project.plan()
    assert before.jobs["prepare"] == 1
    assert project.reprise("resolve", "--tier", "quick").returncode == 0
    corpus = read_resolved(project.root / "results/quick/config/words/s-rnn-4.json").corpus
    assert corpus
    with started(project) as run:
        run.wait_until((project.root / corpus).exists)
        project.kill_everything()
    assert any((project.root / ".snakemake/incomplete").iterdir())
    after = project.plan()
    assert [name for name in before.trained if name.startswith("words/")]
    recorded = {f"{path.parent.parent.name}/{path.parent.name} {path.name[0]}" for path in project.records()}
    assert set(before.trained) - set(after.trained) <= recorded
    assert after.jobs["prepare"] == 1
    assert after.jobs.keys() >= {"collect", "claims", "page"}


@pytest.fixture
def training(first_run, tmp_path, separate):
    """A project that is finished but for one replica, whose training takes some seconds, and its record's name."""
    project = Project(first_run[0].copy(tmp_path / "clone").root, separate)
    return project, lengthen(project)


def test_two_pipelines_at_once(training):
    """The second one does nothing and says why; the first one does not notice."""
    project, record = training
    with started(project, record) as first:
        pid = first.half_way()
        before = contents(project.root / "results")
        second = project.snakemake()
        assert second.status == EXIT_INTERRUPTED
        assert f"process {first.process.pid} on " in second.log
        assert contents(project.root / "results") == before
        os.kill(pid, signal.SIGCONT)
        first.ends_well()
    assert read_record(project.root / record)["run"]["resumed"] == 0


def test_an_orphan_of_a_killed_pipeline(training):
    """kill -9 of Snakemake alone: its training runs on, and the next run names it and leaves it alone."""
    project, record = training
    with started(project, record) as first:
        pid = first.half_way()
        first.process.kill()
        first.process.wait()
        assert pid in project.processes()
        second = project.snakemake()
        assert second.status == 1
        holder = f"{LSTM} replica 0 is being trained by process {pid} on {platform.node()}; wait for it"
        assert holder in second.log
        assert "Traceback" not in second.log
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid))
        assert not (project.root / record).exists()
    with started(project, record) as third:
        third.ends_well()
    assert read_record(project.root / record)["run"]["resumed"] == 1


@pytest.fixture
def hang_up():
    """SIGHUP ends what a test starts, also where nohup makes the tests ignore it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_up")
def test_a_closed_terminal(training):
    """SIGHUP to all: trainings save, Snakemake ends and leaves nothing in the way of the next run."""
    project, record = training
    with started(project, record) as first:
        pid = first.half_way()
        for process in project.processes():
            os.kill(process, signal.SIGHUP)
        os.kill(pid, signal.SIGCONT)
        assert first.process.wait() == 1, first.output
        assert project.processes() == []
    assert not (project.root / record).exists()
    with started(project, record) as second:
        second.ends_well()
    assert read_record(project.root / record)["run"]["resumed"] == 1


def test_a_training_that_is_killed_says_so_in_its_log(training):
    project, record = training
    with started(project, record) as first:
        os.kill(first.half_way(), signal.SIGKILL)
        assert first.process.wait() == 1, first.output
    log = project.root / "logs/train/quick" / LSTM / Path(record).with_suffix(".log").name
    assert "signal 9" in log.read_text(encoding="utf-8").splitlines()[-1]
    with started(project, record) as second:
        second.ends_well()
    assert read_record(project.root / record)["run"]["resumed"] == 1


def test_the_reader_of_its_output_goes_away(training):
    """It ends with an error, its training too, or goes on to the record; no process is left in either case.

    A training may be done before Snakemake fails to say so: an error, and a record that is whole and stays.
    """
    project, record = training
    command = (PYTHON, "-m", "snakemake", "--cores", "1", "--config", "tier=quick", "--", record)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, cwd=project.root, env=project.environment(), **pipes)
    try:
        while b"training" not in process.stdout.readline():
            pass
        process.stdout.close()
        status = process.wait(timeout=SECONDS)
        assert project.processes() == []
    finally:
        project.kill_everything()
    trained = (project.root / record).read_bytes() if (project.root / record).exists() else None
    assert status != 0 or trained
    with started(project, record) as second:
        second.ends_well()
    assert read_record(project.root / record)["status"] == "finished"
    assert trained in (None, (project.root / record).read_bytes())
