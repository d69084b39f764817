"""Document 004's training as a user of PyTorch would write it: RMSProp on the mean loss of a batch of windows.

The LSTM's products with the input are made for all steps at once and the steps read with `unbind`; Keras' hard sigmoid
keeps it from torch's own LSTM.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.loglinear import LAYERS, Task, build_model
from benchmarks.tasks import Implementation, convert_to_numpy, make_weight_tensors, make_word_tensors
from reprise.models.loglinear import run_lstm


class Eager(Implementation):
    """Autograd and `torch.optim.RMSprop` around a softmax RNN: rows of E are looked up, scores are a linear layer's."""

    log_linear = False

    def __init__(self, task: Task) -> None:
        if self.log_linear != bool(task.workload.top):
            raise NotImplementedError("not the kind of model")
        self.x, self.y = make_word_tensors(task)
        self.p = {name: value.requires_grad_() for name, value in make_weight_tensors(task).items()}
        rates = {"lr": task.learning_rate, "alpha": task.rho, "eps": task.epsilon}
        self.optimiser = torch.optim.RMSprop(self.p.values(), **rates)
        self.take_features(task)

    def take_features(self, task: Task) -> None:
        """Do nothing: a softmax RNN has no features."""

    def embed(self, x: Tensor) -> Tensor:
        """Compute psi(x) E (T, B, D) of words (T, B)."""
        return functional.embedding(x, self.p["E"])

    def compute_scores(self, a: Tensor) -> Tensor:
        """Return log b(x) + a . phi(x) of every type (B, V) for a (B, F)."""
        return a

    def step(self, batch: int) -> float:
        x, y = self.x[batch], self.y[batch]
        loss = self.loss(x, y)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item() * len(y)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        p, h = self.p, self.embed(x)
        zero = h.new_zeros(x.shape[1], p["U_1"].shape[0])
        for layer in range(1, LAYERS + 1):
            h, _ = run_lstm(h, zero, zero, *(p[f"{name}_{layer}"] for name in "WUb"))
        return functional.cross_entropy(self.compute_scores(functional.linear(h[-1], p["W_a"], p["b_a"])), y)

    def parameters(self) -> dict[str, np.ndarray]:
        return convert_to_numpy(self.p)


class Dense(Eager):
    """A log-linear RNN with the features of all types as a dense matrix."""

    log_linear = True

    def take_features(self, task: Task) -> None:
        with torch.device("cpu"):
            model = build_model(task)
        self.phi = torch.as_tensor(model.phi_rows.dense()).float()
        self.log_b = model.log_b.to(self.phi)

    def embed(self, x: Tensor) -> Tensor:
        return self.phi[x] @ self.p["E"]

    def compute_scores(self, a: Tensor) -> Tensor:
        return a @ self.phi.t() + self.log_b


class SparseMatrix(Dense):
    """The same with `torch.sparse`."""

    def take_features(self, task: Task) -> None:
        model = build_model(task)
        self.phi, self.log_b = model.phi, model.log_b.float()

    def embed(self, x: Tensor) -> Tensor:
        return torch.sparse.mm(self.phi.index_select(0, x.flatten()), self.p["E"]).view(*x.shape, -1)

    def compute_scores(self, a: Tensor) -> Tensor:
        return torch.sparse.mm(self.phi, a.t()).t() + self.log_b
