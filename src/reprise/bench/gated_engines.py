"""The gated language models' implementations: our engine, the eager loop, torch's own LSTM.

Plain SGD on windows, dropout 0.5 of embeddings and softmax input, the gradient's norm clipped: as in training.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise import counters
from reprise.bench.gated_task import Task
from reprise.bench.tensors import numpy_of, weights_of, words_of
from reprise.engines.gated.choose import choose_gated_engine
from reprise.engines.gated_step import clipped, share_of_one_word
from reprise.models.gated import GRU, LSTM, GatedLanguageModel, Masks

torch.set_num_threads(1)

_EMBEDDINGS, _SOFTMAX_INPUT = 1, 2


def build_model(task: Task) -> GatedLanguageModel:
    """The readable model with the task's weights."""
    workload = task.workload
    model = {"gru": GRU, "lstm": LSTM}[workload.cell](
        workload.vocabulary, workload.embedding, workload.hidden, workload.matrices
    )
    model.load_state_dict(weights_of(task))
    return model


class Engine:
    """An engine of ours, in the way the training protocol calls it: it draws the masks of each window."""

    block = 1

    def __init__(self, task: Task, name: str) -> None:
        self.task = task
        self.x, self.y = words_of(task)
        self.kernel = choose_gated_engine(name, build_model(task))
        self.kernel.reset(task.x.shape[2])

    def train(self, first: int, last: int) -> float:
        """SGD on windows first .. last-1; their summed loss in nats."""
        return sum(self._step(window) for window in range(first, last))

    def _step(self, window: int) -> float:
        task = self.task
        return self.kernel.train(
            self.x[window],
            self.y[window],
            masks(task, window),
            learning_rate=task.learning_rate,
            reduction="sum-steps",
            clip_norm=task.clip_norm,
        )

    def parameters(self) -> dict[str, np.ndarray]:
        """In the readable model's shapes."""
        return numpy_of(self.kernel.export())


def masks(task: Task, window: int) -> Masks:
    """Dropout of a window's embeddings and softmax input, (T, B, E) and (T, B, H), with their scale."""
    T, B = task.x.shape[1:]
    found = []
    for stream, width in ((_EMBEDDINGS, task.workload.embedding), (_SOFTMAX_INPUT, task.workload.hidden)):
        key = counters.key(task.key, stream)
        mask = counters.dropout_mask(key, window * T * B, T * B, width, task.dropout)
        found.append(torch.from_numpy(mask).view(T, B, width))
    return found[0], found[1]


class Library:
    """`nn.LSTM` with autograd, for K = 1. (No GRU: equation 8 is not the one of `nn.GRU`.)"""

    block = 1

    def __init__(self, task: Task) -> None:
        if task.workload.cell != "lstm" or task.workload.matrices > 1:
            raise NotImplementedError("torch does not have this cell")
        self.task = task
        self.x, self.y = words_of(task)
        w = weights_of(task)
        self.lstm = nn.LSTM(task.workload.embedding, task.workload.hidden)
        self.p = {name: w[name].clone().requires_grad_() for name in ("E", "W_o", "b_o")}
        with torch.no_grad():
            H = self.lstm.hidden_size
            self.lstm.weight_ih_l0.copy_(torch.cat([w[f"W_h{gate}"] for gate in "ifco"]))
            self.lstm.weight_hh_l0.copy_(torch.cat([w[f"U_h{gate}"].view(-1, H) for gate in "ifco"]))
            self.lstm.bias_ih_l0.copy_(torch.cat([w[f"b_h{gate}"].view(-1) for gate in "ifco"]))
            self.lstm.bias_hh_l0.zero_()
        # the models have one bias vector a gate
        self.lstm.bias_hh_l0.requires_grad_(False)
        self.trained = [*self.p.values(), *(p for p in self.lstm.parameters() if p.requires_grad)]
        shape = (1, task.x.shape[2], task.workload.hidden)
        self.state: tuple[Tensor, Tensor] = (torch.zeros(shape), torch.zeros(shape))

    def train(self, first: int, last: int) -> float:
        """SGD on windows first .. last-1; their summed loss in nats."""
        return sum(self._step(window) for window in range(first, last))

    def masks(self, window: int) -> Masks:
        """Those of the module's `masks`."""
        return masks(self.task, window)

    def _step(self, window: int) -> float:
        of_embeddings, of_softmax_input = self.masks(window)
        x, y = self.x[window], self.y[window]
        h, state = self.lstm(functional.embedding(x, self.p["E"]) * of_embeddings, self.state)
        self.state = (state[0].detach(), state[1].detach())
        logits = functional.linear(h * of_softmax_input, self.p["W_o"], self.p["b_o"])
        loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        share = share_of_one_word("sum-steps", *x.shape)
        gradients = torch.autograd.grad(loss * share, self.trained)
        step = clipped(self.task.learning_rate, self.task.clip_norm, gradients)
        with torch.no_grad():
            for parameter, gradient in zip(self.trained, gradients, strict=True):
                parameter.sub_(gradient, alpha=step)
        return loss.item()

    def parameters(self) -> dict[str, np.ndarray]:
        """In the readable model's shapes."""
        found = numpy_of(self.p)
        tensors = {"W": self.lstm.weight_ih_l0, "U": self.lstm.weight_hh_l0, "b": self.lstm.bias_ih_l0}
        for prefix, tensor in tensors.items():
            for gate, part in zip("ifco", tensor.detach().chunk(4), strict=True):
                name = f"{prefix}_h{gate}"
                found[name] = part.numpy().reshape(self.task.weights[name].shape)
        return found


def grouped(task: Task) -> Engine:
    return Engine(task, "grouped")


def eager(task: Task) -> Engine:
    """The readable model with autograd: one gather of the words' matrices a window, `unbind`, no fused cell."""
    return Engine(task, "reference")
