"""torch's own LSTM in place of the gated language models with K = 1."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.gated import Task
from benchmarks.tasks import Implementation, convert_to_numpy, make_weight_tensors, make_word_tensors
from reprise.engines.clipping import compute_clipping_factor
from reprise.engines.gated.reference import compute_word_share


class Library(Implementation):
    """`nn.LSTM` with autograd, for K = 1; equation 8 of the GRU is not the one of `nn.GRU`."""

    def __init__(self, task: Task) -> None:
        if task.workload.cell != "lstm" or task.workload.matrices > 1:
            raise NotImplementedError("torch does not have this cell")
        self.task, (self.x, self.y), w = task, make_word_tensors(task), make_weight_tensors(task)
        self.lstm = nn.LSTM(task.workload.embedding, task.workload.hidden)
        self.p = {name: w[name].clone().requires_grad_() for name in ("E", "W_o", "b_o")}
        names = {"W": "weight_ih_l0", "U": "weight_hh_l0", "b": "bias_ih_l0"}
        stacked = {
            name: torch.cat([w[f"{part}_h{gate}"].squeeze(0) for gate in "ifco"]) for part, name in names.items()
        }
        self.lstm.load_state_dict(stacked | {"bias_hh_l0": torch.zeros_like(stacked["bias_ih_l0"])})
        # the models have one bias vector a gate
        self.lstm.bias_hh_l0.requires_grad_(False)
        self.trained = [*self.p.values(), *(p for p in self.lstm.parameters() if p.requires_grad)]
        shape = (1, task.x.shape[2], task.workload.hidden)
        self.state: tuple[Tensor, Tensor] = (torch.zeros(shape), torch.zeros(shape))

    def step(self, window: int) -> float:
        embedding_mask, output_mask = self.task.draw_masks(window, self.x.device)
        x, y = self.x[window], self.y[window]
        h, state = self.lstm(functional.embedding(x, self.p["E"]) * embedding_mask, self.state)
        self.state = (state[0].detach(), state[1].detach())
        logits = functional.linear(h * output_mask, self.p["W_o"], self.p["b_o"])
        loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        share = compute_word_share("sum-steps", *x.shape)
        gradients = torch.autograd.grad(loss * share, self.trained)
        step = self.task.learning_rate * compute_clipping_factor(gradients, self.task.clip_norm, by_rows=True)
        with torch.no_grad():
            for parameter, gradient in zip(self.trained, gradients, strict=True):
                parameter.sub_(gradient, alpha=step)
        return loss.item()

    def parameters(self) -> dict[str, np.ndarray]:
        parameters = dict(self.p)
        tensors = {"W": self.lstm.weight_ih_l0, "U": self.lstm.weight_hh_l0, "b": self.lstm.bias_ih_l0}
        for prefix, tensor in tensors.items():
            parameters |= {f"{prefix}_h{gate}": part for gate, part in zip("ifco", tensor.chunk(4), strict=True)}
        return {
            name: value.reshape(self.task.weights[name].shape) for name, value in convert_to_numpy(parameters).items()
        }
