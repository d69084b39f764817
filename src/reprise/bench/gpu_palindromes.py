"""The LSTM on palindromes (document 002, part 1) for `bench gpu`: stacks, and beside them eager and torch's own LSTM.

Replicas of a stack read palindromes of their own. Adam's epsilon is so large that the first updates are nearly
proportional to the gradients, so that the check of the updates is one of the gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.bench.task import checked
from reprise.bench.task_files import Described
from reprise.bench.tensors import numpy_of
from reprise.data.synthetic.palindromes import DIGITS, palindromes
from reprise.engines.palindromes.native import AutogradEngine
from reprise.kernels.stacked_palindromes import StackedPalindromes
from reprise.models.initialisation import initialise_by_fan_in
from reprise.models.lstm import LSTM

BATCH, CHECKED = 64, 3
"""Palindromes of a step (document 002), and steps on which every implementation is checked."""

STEPS = 12
SWEEP = 15
"""Replicas of one length in the paper's tier: ten of Figure 2, five trained on."""

_RATE, _EPSILON, _CLIP_NORM, _SEED = 0.3, 1.0, 10.0, 1


@dataclass(frozen=True)
class Workload(Described):
    """Palindromes of `length` digits, and the LSTM's units."""

    name: str
    length: int
    hidden: int = 128

    @property
    def flops_a_token(self) -> int:
        """Of the dense products, forward, backward and gradients: 6 for each weight that a digit uses."""
        return 6 * 4 * self.hidden**2


@dataclass(frozen=True)
class Task:
    """Palindromes (n, T, BATCH) and the readable model's state_dict; pieces are steps."""

    workload: Workload
    digits: np.ndarray
    weights: Mapping[str, np.ndarray]
    block = CHECKED

    def __len__(self) -> int:
        return len(self.digits)

    def tokens(self, first: int, last: int) -> int:
        """Digits that steps first .. last-1 read."""
        return (last - first) * (self.workload.length - 1) * BATCH


def make_task(workload: Workload, folder: Path) -> tuple[Task, dict[str, Any]]:
    """A task, and facts about it; nothing is written."""
    del folder
    model = LSTM(DIGITS, workload.hidden, DIGITS)
    initialise_by_fan_in(model, torch.Generator().manual_seed(_SEED))
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    task = Task(workload, _digits(workload, _SEED), weights)
    count = sum(value.size for value in weights.values())
    return task, {"text": "random palindromes", "steps": STEPS, "batch": BATCH, "parameters": count}


def expected(task: Task) -> dict[str, Any]:
    """Loss and norms of the updates of the readable model with autograd in double precision."""
    return checked(task, Eager(task, torch.device("cpu"), torch.float64))


class OneStack:
    """Pieces are steps; the first replica reads the task's palindromes, and has its weights."""

    block, warm = 1, 4

    def __init__(self, task: Task, device: torch.device, models: list[LSTM], capture: bool) -> None:
        R, T = len(models), task.workload.length
        digits = [task.digits, *(_digits(task.workload, _SEED + r) for r in range(1, R))]
        self.left = np.stack([own[:, : (T + 1) // 2] for own in digits], 1).astype(np.uint8)
        self.stack = StackedPalindromes(models, [_CLIP_NORM] * R, T, BATCH, STEPS, STEPS, device, capture)
        self.stack.begin([_RATE] * R, _EPSILON)

    def piece_end(self, first: int) -> int:
        return first + 1

    def train(self, first: int, last: int) -> None:
        self.stack.feed(self.left[first:last])
        self.stack.train(last - first, 0)


def models_of(task: Task, replicas: int) -> list[LSTM]:
    """The task's model and others of its size; 0 replicas are the sweep."""
    models = []
    for seed in range(_SEED, _SEED + (replicas or SWEEP)):
        models.append(LSTM(DIGITS, task.workload.hidden, DIGITS))
        initialise_by_fan_in(models[-1], torch.Generator().manual_seed(seed))
    return models


class Eager:
    """The readable model with autograd and torch's Adam."""

    replicas = block = warm = 1

    def __init__(self, task: Task, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        self.digits = torch.from_numpy(task.digits).to(device)
        (model,) = models_of(task, 1)
        self.model = model.to(device=device, dtype=dtype)
        self.kernel = AutogradEngine(self.model)
        self.trained = list(self.model.parameters())
        self._set_up()

    def _set_up(self) -> None:
        self.optimiser = torch.optim.Adam(self.trained, lr=_RATE, eps=_EPSILON)

    def train(self, first: int, last: int) -> float:
        """Steps first .. last-1; their summed loss in nats."""
        total = 0.0
        for step in range(first, last):
            total += self._loss_and_gradients(self.digits[step, :-1], self.digits[step, -1])
            torch.nn.utils.clip_grad_norm_(self.trained, _CLIP_NORM)
            self.optimiser.step()
        return total

    def _loss_and_gradients(self, x: Tensor, y: Tensor) -> float:
        return self.kernel.loss_and_gradients(x, y)[0]

    def train_called(self, piece: int) -> None:
        self.train(piece, piece + 1)

    def parameters(self) -> dict[str, np.ndarray]:
        return numpy_of(self.model.state_dict())


class Library(Eager):
    """`nn.LSTM` with autograd: cuDNN on a GPU."""

    def _set_up(self) -> None:
        model, n = self.model, self.model.W_h.shape[1]
        # Ours are stacked g, i, f, o; torch's i, f, g, o.
        self.order = torch.cat([torch.arange(n) + n * gate for gate in (1, 2, 0, 3)]).to(model.b.device)
        self.lstm = nn.LSTM(DIGITS, n).to(model.b.device)
        self.pairs = {"W_x": "weight_ih_l0", "W_h": "weight_hh_l0", "b": "bias_ih_l0"}
        with torch.no_grad():
            for ours, theirs in self.pairs.items():
                self.lstm.get_parameter(theirs).copy_(model.get_parameter(ours)[self.order])
            self.lstm.bias_hh_l0.zero_()
        self.lstm.bias_hh_l0.requires_grad_(False)  # the model has one bias vector a gate
        recurrent = [self.lstm.get_parameter(name) for name in self.pairs.values()]
        self.trained = [*recurrent, model.W_out, model.b_out]
        super()._set_up()

    def _loss_and_gradients(self, x: Tensor, y: Tensor) -> float:
        self.optimiser.zero_grad()
        states, _ = self.lstm(functional.one_hot(x, DIGITS).to(self.model.b.dtype))
        loss = functional.cross_entropy(states[-1] @ self.model.W_out.t() + self.model.b_out, y)
        loss.backward()
        return loss.item()

    def parameters(self) -> dict[str, np.ndarray]:
        found = super().parameters()
        for ours, theirs in self.pairs.items():
            found[ours][self.order.cpu().numpy()] = self.lstm.get_parameter(theirs).detach().cpu().numpy()
        return found


def bytes_a_token(task: Task) -> float:
    """Bytes of the device's memory that a digit of one replica costs, its share of a step's.

    Every step of time reads the matrix between states, there and back; gates and the derivatives by them are written
    and read a dozen times in all. Adam writes a gradient, and reads and writes it, both moments and the parameters.
    """
    n = task.workload.hidden
    parameters = sum(value.size for value in task.weights.values())
    return 4 * (2 * 4 * n**2 / BATCH + 12 * 4 * n + 8 * parameters / task.tokens(0, 1))


def _digits(workload: Workload, seed: int) -> np.ndarray:
    generator = torch.Generator().manual_seed(seed)
    drawn = (palindromes(workload.length, BATCH, generator) for _ in range(STEPS))
    return torch.stack([torch.cat([x, y[None]]) for x, y in drawn]).numpy()
