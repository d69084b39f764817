"""Document 000's networks as a PyTorch user would train them: padded batches, autograd, `torch.optim.Adam`.

`Eager` looks up the symbols' columns for all steps at once and unbinds them. `EagerIndexing` takes them out with
`[:, t]`, the usual loop, whose backward pass makes a whole tensor of zeros at every step.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.gso import PADDING_TARGET, Task
from benchmarks.tasks import Implementation, convert_to_numpy, make_weight_tensors

TABLES = ("B", "D", "U")
"""Parameters of which a symbol has a column: a row of an `embedding` here."""


def compute_state(p: dict[str, Tensor], h: Tensor, *inputs: Tensor) -> Tensor:
    """Compute h_t (B, H) from h_{t-1} (B, H) and the symbols' rows (B, n), in the order of `TABLES`."""
    if "A" in p:
        Bx, *rest = inputs
        z = functional.linear(Bx * functional.linear(h, p["C"]), p["A"], p["f"])
        for Dx in rest:
            z = z + Dx
        return torch.tanh(z + functional.linear(h, p["E"]) if "E" in p else z)
    (Ux,) = inputs
    if "alpha" in p:
        Wh = functional.linear(h, p["W"])
        return torch.tanh(p["alpha"] * Ux * Wh + p["beta_1"] * Ux + p["beta_2"] * Wh + p["b"])
    return torch.tanh(functional.linear(h, p["W"], p["b"]) + Ux)


class Eager(Implementation):
    """The equations with autograd, step by step."""

    compute_state = staticmethod(compute_state)

    def __init__(self, task: Task) -> None:
        self.block, self.hidden = len(task), task.workload.hidden
        self.p = {
            name: (tensor.T.contiguous() if name in TABLES else tensor).requires_grad_()
            for name, tensor in make_weight_tensors(task).items()
        }
        self.optimiser = torch.optim.Adam(self.p.values(), lr=task.learning_rate, eps=task.epsilon)
        self.batches = [torch.as_tensor(np.array(task.pad(i))).long().unbind() for i in range(len(task))]

    def step(self, batch: int) -> float:
        x, y = self.batches[batch]
        logits = functional.linear(self.compute_states(x), self.p["V"], self.p["c"])
        loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PADDING_TARGET)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item() * int((y != PADDING_TARGET).sum())

    def compute_states(self, x: Tensor) -> Tensor:
        """Compute h_1 .. h_T (T, B, H) of symbols (T, B)."""
        h, states = self.p["c"].new_zeros(x.shape[1], self.hidden), []
        for inputs in self.gather_rows(x):
            h = self.compute_state(self.p, h, *inputs)
            states.append(h)
        return torch.stack(states)

    def gather_rows(self, x: Tensor) -> Iterable[Sequence[Tensor]]:
        """Return the symbols' rows of every step, (B, n) each."""
        return zip(*(functional.embedding(x, self.p[name]).unbind() for name in TABLES if name in self.p), strict=True)

    def parameters(self) -> dict[str, np.ndarray]:
        return {n: v.T if n in TABLES else v for n, v in convert_to_numpy(self.p).items()}


class EagerIndexing(Eager):
    """The same with a step's rows taken by an index, in place of `unbind`."""

    def __init__(self, task: Task) -> None:
        if not task.workload.indexing:
            raise NotImplementedError("takes minutes, timed on other workloads")
        super().__init__(task)
        self.block = 1

    def gather_rows(self, x: Tensor) -> Iterable[Sequence[Tensor]]:
        rows = [functional.embedding(x.T, self.p[name]) for name in TABLES if name in self.p]  # (B, T, n)
        return ([row[:, t] for row in rows] for t in range(len(x)))


class Compiled(Eager):
    """`torch.compile` of the step; of the whole loop it takes minutes for every new length."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.compute_state = torch.compile(compute_state, fullgraph=True, dynamic=False)


class Library(Eager):
    """`nn.RNN` on a packed sequence, for the first-order network."""

    def __init__(self, task: Task) -> None:
        if task.workload.model != "first-order":
            raise NotImplementedError("torch does not have this network")
        super().__init__(task)
        self.rnn = nn.RNN(task.workload.vocabulary, self.hidden)
        p = self.p
        state = {"weight_ih_l0": p["U"].T, "weight_hh_l0": p["W"], "bias_ih_l0": p["b"]}
        self.rnn.load_state_dict(state | {"bias_hh_l0": torch.zeros_like(p["b"])})
        self.rnn.bias_hh_l0.requires_grad_(False)  # the model has one bias vector
        trained = [self.rnn.weight_ih_l0, self.rnn.weight_hh_l0, self.rnn.bias_ih_l0, p["V"], p["c"]]
        self.optimiser = torch.optim.Adam(trained, lr=task.learning_rate, eps=task.epsilon)
        self.lengths = {x: torch.from_numpy(task.list_lengths(i, i + 1)) for i, (x, _) in enumerate(self.batches)}

    def compute_states(self, x: Tensor) -> Tensor:
        one_hot = functional.one_hot(x, self.rnn.input_size).float()
        lines = nn.utils.rnn.pack_padded_sequence(one_hot, self.lengths[x], enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.rnn(lines)[0])[0]

    def parameters(self) -> dict[str, np.ndarray]:
        rnn = {"U": self.rnn.weight_ih_l0, "W": self.rnn.weight_hh_l0, "b": self.rnn.bias_ih_l0}
        return super().parameters() | convert_to_numpy(rnn)
