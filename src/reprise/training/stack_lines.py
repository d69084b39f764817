"""Protocol line-epochs as stacks: how a stack of document 000's networks is built, fed and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import nn

from reprise.data.corpus import Corpus
from reprise.engines.gso.packing import by_length
from reprise.kernels.stacked_batches import LineBatches
from reprise.kernels.stacked_lines import Room, StackedLines
from reprise.training.loop import Job
from reprise.training.protocols.gso_course import LineCourse, first_model
from reprise.training.stack_check import numbers_of
from reprise.training.stack_check_lines import BATCHES, check_lines
from reprise.training.stack_line_epochs import StackLineEpochs
from reprise.training.stack_member import Member

_NONE = np.zeros(0, np.int64)


class LineFamily:
    """Replicas are folds: every member has lines of its own, and `counts` are means over the members."""

    epochs = StackLineEpochs

    def __init__(self, corpus: Path, config: Mapping[str, Any]) -> None:
        self.corpus, self.path = Corpus.load(corpus), corpus
        self.batch = config["training"]["options"]["batch_size"]
        self.dtype, self.tolerance = numbers_of(config)
        self.lines = self.corpus.splits["lines"]
        self.predictions = (np.diff(self.lines.offsets) - 1).clip(min=0)  # of each line
        self.counts: dict[str, int] = {}

    def schedule(self, job: Job) -> LineCourse:
        """The course of a replica, before its first epoch; UserError where the corpus does not have its fold."""
        return LineCourse(job.resolved.config["training"]["options"], job.replica, self.corpus, self.path)

    def model(self, config: dict[str, Any], seed: int) -> nn.Module:
        """The readable model with a replica's first weights."""
        return first_model(config, len(self.corpus.vocabulary), seed).to(self.dtype)

    def build(self, members: Sequence[Member], models: Sequence[nn.Module], device: torch.device) -> StackedLines:
        parts = [member.schedule.parts for member in members]
        sizes = [{name: int(self.predictions[lines].sum()) for name, lines in part.items()} for part in parts]
        self.counts = {split: round(fmean(size[split] for size in sizes)) for split in ("train", "valid")}
        most = max(len(lines) for part in parts for lines in part.values())
        # The check of a stack reads its first training lines as others are read; no lines of theirs are longer.
        checked = max(int(np.sort(self.predictions[p["train"]])[-BATCHES * self.batch :].sum()) for p in parts)
        room = Room(
            batch=self.batch,
            batches=-(-most // self.batch),
            longest=max(int(self.predictions[part["train"]].max()) for part in parts),
            part=max(checked, *(size[split] for size in sizes for split in ("valid", "test"))),
        )
        clips = [member.schedule.options["clip_norm"] for member in members]
        return StackedLines(models, self.lines.tokens, clips, room, device)

    def text(self, members: Sequence[Member], split: str, reading: Sequence[bool]) -> LineBatches:
        """What those members that are `reading` read next: training lines in the order of each one's epoch."""
        orders = []
        for member, reads in zip(members, reading, strict=True):
            course = member.schedule
            lines = course.order() if split == "train" else by_length(self.lines, course.parts[split])
            orders.append(lines if reads else _NONE)
        return LineBatches(self.lines, orders, self.batch, [m.schedule.options["loss_reduction"] for m in members])

    def check(self, stack: StackedLines, members: Sequence[Member], models: Sequence[nn.Module]) -> None:
        check_lines(stack, members, models, self.lines, self.tolerance)
