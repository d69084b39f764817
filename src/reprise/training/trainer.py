"""A training from its checkpoint to its records: pieces of work, saves between them, and what each replica leaves.

A replica trains alone, or several train as members of one stack (`reprise.engines.stack`): members are one or more.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from reprise import environment
from reprise.catalogue.own import compute_source_digest, is_own
from reprise.engines.stack import Stack
from reprise.errors import Interrupted, UserError, is_memory_error
from reprise.files import entry_exists
from reprise.records.record import make_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.checkpoint import CheckpointFile, DamagedCheckpoint
from reprise.training.progress import TrainingProgress
from reprise.training.protocol import Diverged, Learner, Training
from reprise.training.provenance import collect_code_facts
from reprise.training.run_facts import collect_run_facts, reset_peak_memory
from reprise.training.stop_signals import catch_stop_signals
from reprise.training.weights import are_weights_of, describe_weights, save_weights

CHECKPOINTS = Path("checkpoints")
# A save of a large model may take seconds. Saves are rare enough to cost at most a twentieth of the time.
_WORK_PER_SAVE = 20.0


@dataclass(frozen=True)
class Job:
    """One replica to train: where its corpus is, where its record goes, how it is to be run."""

    resolved: Resolved
    replica: int
    output: Path
    corpus: Path | None = None
    engine: str = "auto"
    device: str = "auto"
    wait: bool = False
    root: Path = Path()
    watch: Callable[[], str] | None = None  # returns why to stop now, or ""
    read_signal: Callable[[], str] | None = None  # the reader of a `catch_stop_signals` around several jobs

    @property
    def title(self) -> str:
        return f"{self.resolved.id} replica {self.replica}"

    def get_path(self, name: str | int) -> Path:
        """Return a file of the experiment among the checkpoints, without its suffix."""
        return self.root / CHECKPOINTS / self.resolved.id / f"{name}-{self.resolved.config_hash}"


@dataclass
class ReplicaTraining:
    """One replica in training."""

    job: Job
    training: Training
    diverged: dict[str, Any] | None = None
    record: dict[str, Any] = field(default_factory=dict)
    code: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.code = collect_code_facts(getattr(self.training, "engine", None))
        if is_own(model := self.job.resolved.config["model"]["name"]):
            self.code["sources"] = compute_source_digest(model)

    @property
    def has_ended(self) -> bool:
        return self.diverged is not None or self.training.finished


class Trainer:
    """Train members to the end, write a record of each, and save them between two pieces of work.

    They are the members of a `stack`; without a stack there is one.
    """

    def __init__(
        self, members: list[ReplicaTraining], checkpoint: CheckpointFile, device: torch.device, stack: Stack | None
    ) -> None:
        self.members, self.checkpoint, self.device, self.stack = members, checkpoint, device, stack
        first, *more = members
        self.job = first.job
        self.title = first.job.title + (f" and {len(more)} more" if more else "")
        self.progress = TrainingProgress(self.title, first.training.unit, first.training.total)
        self.active = list(members)
        self.other_states: dict[int, Any] = {}  # what the checkpoint holds of replicas that train later
        self.earlier_seconds, self.resumed = 0.0, 0
        self.pause = environment.get_save_interval()

    def run(self) -> list[dict[str, Any]]:
        """Return the records, in the order of the members; `Interrupted` where a signal or the watch stopped it."""
        reset_peak_memory(self.device)
        signals = nullcontext(self.job.read_signal) if self.job.read_signal else catch_stop_signals()
        with self.progress.bar or nullcontext(), signals as read_signal:
            self._resume()
            self.began = time.perf_counter()
            self.save_at = self.began + self.pause
            self._finish_members()
            note = ""
            while self.active:
                note = self._advance() or note
                training = (self.active or self.members)[0].training
                self.progress.update(training.done, note)
                reason = read_signal() or (self.job.watch() if self.job.watch else "")
                if self.active and (reason or time.perf_counter() >= self.save_at):
                    self.save()
                if self.active and reason:
                    raise Interrupted(
                        f"{self.title}: stopped by {reason} at {training.unit} {training.done:g}, "
                        f"saved to {self.checkpoint.path}; the same command goes on from there"
                    )
            self.progress.print_line(self.members[0].training.done, note)
        return [member.record for member in self.members]

    def _advance(self) -> str:
        """Do a piece of work of all active members; return the first one's note."""
        trainings = [member.training for member in self.active]
        try:
            notes = self.stack.advance(trainings) if self.stack else [trainings[0].advance()]
        except Diverged as error:
            notes = [error]
        for member, note in zip(self.active, notes, strict=True):
            if isinstance(note, Diverged):
                member.diverged = note.details
                self.progress.print_text(f"{member.job.title}: diverged: {note}" if self.stack else f"diverged: {note}")
            elif isinstance(note, Exception):
                raise note
        self._finish_members()
        return next((note for note in notes if isinstance(note, str)), "")

    def _finish_members(self) -> None:
        """Write the records of members that have ended; remove the checkpoint once all have."""
        finished = [member for member in self.active if member.has_ended]
        if not finished:
            return
        for member in finished:
            self._write_record(member)
        self.active = [member for member in self.active if not member.has_ended]
        if self.stack:
            self.stack.remove_all_but([member.training for member in self.active])
        # Only now: until the records are on the disk, the checkpoint is all there is.
        if not self.active and self.other_states:
            self.save()
        elif not self.active:
            self.checkpoint.remove()

    def _write_record(self, member: ReplicaTraining) -> None:
        """Write the record of a member that has ended, and before it the weights, whose checksum the record names."""
        job, training = member.job, member.training
        facts = collect_run_facts(training.engine_name, self.device, self.measure_seconds(), self.resumed) | member.code
        if self.stack:
            facts["stack_replicas"] = len(self.members)
        if self.device.type == "cuda":
            facts["peak_gpu_memory_mib"] = round(torch.cuda.max_memory_allocated(self.device) / 2**20, 1)
        outcome = training.make_outcome()
        if not member.diverged and job.resolved.keeps_weights(job.replica):
            facts |= _save_reported_weights(job, training)
        member.record = make_record(
            job.resolved, job.replica, outcome, training.parameter_count, member.diverged, facts
        )
        write_record(job.output, member.record)

    def _resume(self) -> None:
        for member in self.members:
            _refuse_to_replace_weights(member.job, member.training)
        self.checkpoint.load(self.progress.print_text, self._restore)
        if training := next((member.training for member in self.active if member.training.done), None):
            self.progress.print_text(f"goes on from {training.unit} {training.done:g}")

    def _restore(self, saved: dict[str, Any]) -> None:
        """Restore all members from a checkpoint's state.

        Every attribute is set, so a failed attempt leaves nothing behind.
        """
        get_record_path = self.job.resolved.get_record_path
        try:
            states = dict(saved["training"]) if self.stack else {self.job.replica: saved["training"]}
            for member in self.members:
                if member.job.replica in states:
                    member.training.restore(states.pop(member.job.replica))
            trained = {r for r in states if entry_exists(self.job.output.with_name(Path(get_record_path(r)).name))}
            self.other_states = {r: state for r, state in states.items() if r not in trained}
            self.earlier_seconds, self.resumed = saved["seconds"], saved["resumed"] + 1
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            if is_memory_error(error):
                raise
            what = f"key {error} is missing" if isinstance(error, KeyError) else str(error).partition("\n")[0]
            raise DamagedCheckpoint(f"{what}: perhaps another version of Reprise made it") from error

    def measure_seconds(self) -> float:
        """Return the training time over all resumptions, in seconds."""
        return self.earlier_seconds + time.perf_counter() - self.began

    def save(self) -> None:
        """Save all active members in one file: a kill never leaves them at different steps."""
        start = time.perf_counter()
        states = {member.job.replica: member.training.get_state() for member in self.active}
        training = self.other_states | states if self.stack else states[self.job.replica]
        self.checkpoint.save({"training": training, "seconds": self.measure_seconds(), "resumed": self.resumed})
        now = time.perf_counter()
        self.save_at = now + max(self.pause, _WORK_PER_SAVE * (now - start))


def _refuse_to_replace_weights(job: Job, training: Training) -> None:
    """Raise `UserError` where weights would be written over a file beside a record of the user's choice.

    The replica's own weights are replaced: a training that was killed before it wrote its record left them.
    """
    path = job.resolved.find_weights(job.replica, job.output)
    is_written = isinstance(training, Learner) and job.resolved.keeps_weights(job.replica)
    is_taken = path.parent == job.output.parent and entry_exists(path)
    if is_written and is_taken and not are_weights_of(path, job.resolved, job.replica):
        raise UserError(f"{path}: is there already, and weights would replace it; name another file with --output")


def _save_reported_weights(job: Job, training: Training) -> dict[str, str]:
    """Save the parameters that the record is of; return their checksum as a record has it, {} where none are learnt."""
    parameters = training.get_reported_parameters()
    if not parameters:
        return {}
    path = job.resolved.find_weights(job.replica, job.output)
    metadata = describe_weights(job.resolved, job.replica, training.vocabulary_sha256, training.reported_position)
    return {"weights_sha256": save_weights(path, parameters, metadata)}
