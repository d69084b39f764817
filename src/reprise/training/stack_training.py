"""What stacks have in common whatever they read: built and checked together, stopped one by one, made smaller.

A replica that has stopped stays in its stack with a learning rate of zero until half of the stack has stopped; then the
others go on in a smaller one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from reprise.kernels.stacked import Stack
from reprise.records.resolved import Resolved
from reprise.training.stack_member import Member

Say = Callable[[str], None]

_BEGINNING = "train"


class StackTraining:
    """Members of a stack of one `family`. `saved` are their checkpoints.

    Subclasses feed it, and begin with `_start_from`.
    """

    def __init__(
        self,
        family: Any,
        members: list[Member],
        models: list[nn.Module],
        saved: Sequence[Mapping[str, Any] | None],
        device: torch.device,
        checked: bool,
        say: Say,
    ) -> None:
        self.family, self.members, self.models, self.device, self.say = family, members, models, device, say
        self.checked = checked
        self.replicas = len(members)
        self.closed = 0  # epochs
        self.stack: Stack | None = None
        self.texts: Any = None  # what the stack reads
        self._start_from(self._take_up(saved))

    def _start_from(self, states: list[Any]) -> None:
        """Builds the stack, and goes on from what the checkpoints hold of training; None where a member just begins."""
        raise NotImplementedError

    @property
    def active(self) -> list[Member]:
        return [member for member in self.members if member.active]

    @property
    def finished(self) -> bool:
        return not self.active

    @property
    def ready(self) -> bool:
        """Whether `advance` would not have to wait long: the device has little to do left."""
        return self.stack.programs.pending < (1 if self._waits else 2)

    @property
    def done(self) -> float:
        """The part of the present epoch that is done."""
        raise NotImplementedError

    @property
    def progress(self) -> float:
        """How far this stack has come, in epochs or steps."""
        return self.closed + self.done

    def left(self, usual: Callable[[Resolved], float | None]) -> float:
        """How far it has still to go, in the same; `usual` says how many epochs an experiment takes."""
        return max(max(1.0, (usual(m.job.resolved) or 0.0) - m.schedule.epoch) for m in self.active) - self.done

    def line(self, seconds: float) -> str:
        """What the epoch brought that was just closed, after so many seconds."""
        valid = [member.schedule.history[-1]["valid"] for member in self.active]
        numbers = [member.schedule.epoch for member in self.active]
        epochs = f"{min(numbers)}" + (f" to {max(numbers)}" if max(numbers) > min(numbers) else "")
        rate = len(self.members) * sum(self.family.counts.values()) / seconds
        return (
            f"epoch {epochs} in {seconds:.1f} s, {rate:,.0f} tokens/s, {len(self.active)} in training; "
            f"valid {min(valid):.4f} to {max(valid):.4f} nats/token"
        )

    @property
    def _waits(self) -> bool:
        """Whether `advance` comes next to what waits for the device."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives the device's memory back."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.stack = self.texts = None
        if self.device.type == "cuda":
            gc.collect()
            torch.cuda.empty_cache()

    def _take_up(self, saved: Sequence[Mapping[str, Any] | None]) -> list[Any]:
        """Goes to the place of the checkpoints and loads the models; returns what training saved of each, or None."""
        states = [one["training"] if one else None for one in saved]
        self.split, self.next = place_of(saved[0])
        for model, state in zip(self.models, states, strict=True):
            if state is not None:
                model.load_state_dict(state["parameters"])
        return states

    def _build(self) -> None:
        self.stack = self.family.build(self.members, self.models, self.device)
        self._prepare()
        if self.checked:
            self._check()
            for i, model in enumerate(self.models):
                self.stack.load(i, model.state_dict())
        self._begin()

    def _prepare(self) -> None:
        """Before the check of a new stack."""

    def _check(self) -> None:
        """Holds the stack's first steps to the readable models; raises `StackDisagrees`. Changes parameters."""
        self.family.check(self.stack, self.members, self.models)

    def _begin(self) -> None:
        """Tells the stack what its members train with from now on."""
        raise NotImplementedError

    def _keep(self, left: Sequence[int]) -> None:
        """Of what there is once a member, that of these members, whose parameters are in their models."""
        raise NotImplementedError

    def _leave(self, member: Member) -> None:
        record = member.write(self.device, self.replicas)
        status = "finished" if member.diverged is None else f"diverged at {member.diverged}"
        self.say(f"{member.job.title}: {status} after {self._taken(member)}, {record['run']['wall_seconds']:.0f} s")

    def _taken(self, member: Member) -> str:
        """How long a member has trained, in words."""
        return f"{member.schedule.epoch} epochs"

    def _go_on(self) -> None:
        """Into the next epoch, in a smaller stack where half of this one has stopped."""
        left = [i for i, member in enumerate(self.members) if member.active]
        if not left or 2 * len(left) > len(self.members):
            self._begin()
            return
        for i in left:
            self.models[i].load_state_dict(self.stack.export(i))
        self.say(f"{len(self.members) - len(left)} of {len(self.members)} have stopped: a stack of {len(left)} goes on")
        self._keep(left)
        self.members, self.models = [self.members[i] for i in left], [self.models[i] for i in left]
        self.close()
        self._build()


def place_of(saved: Mapping[str, Any] | None) -> tuple[str, int]:
    """Part of the text and place in it where a checkpoint goes on; the beginning without one."""
    return (saved["training"]["split"], saved["training"]["next"]) if saved else (_BEGINNING, 0)
