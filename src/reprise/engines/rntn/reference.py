"""The readable model itself with autograd and plain SGD: what the fast engine is held to."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from reprise.counters import dropout_mask_torch
from reprise.engines.readable import ReadableEngine
from reprise.engines.rntn.subsequences import Subsequences


class RowsInUse(TorchFunctionMode):
    """While it is entered, `parameter[index]` gives rows of their own, which autograd differentiates by.

    The gradient of an index is a whole table of zeros with a few rows in it: with K = V matrices, 400 megabytes a step.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.tables = {id(parameter): parameter for parameter in model.parameters()}
        self.taken: list[tuple[Tensor, Tensor, Tensor]] = []  # table, index, rows

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is Tensor.__getitem__ and id(args[0]) in self.tables and isinstance(args[1], Tensor):
            rows = args[0].detach()[args[1]].requires_grad_()
            self.taken.append((self.tables[id(args[0])], args[1], rows))
            return rows
        return func(*args, **(kwargs or {}))

    def descend(self, loss: Tensor, learning_rate: float) -> None:
        """One SGD step on the scalar `loss`, to the bits of a step with whole tables."""
        parameters = list(self.tables.values())
        wanted = [*parameters, *(rows for _, _, rows in self.taken)]
        gradients = torch.autograd.grad(loss, wanted, allow_unused=True)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=False):
                if gradient is not None:
                    parameter.sub_(gradient, alpha=learning_rate)
            for (table, index, _), gradient in zip(self.taken, gradients[len(parameters) :], strict=True):
                used, place = index.unique(return_inverse=True)
                total = gradient.new_zeros(len(used), *gradient.shape[1:])
                total.index_put_((place,), gradient, accumulate=True)
                table[used] = table[used].sub_(total, alpha=learning_rate)


class ReferenceEngine(ReadableEngine):
    """Any batch-1 language model. `train` and `evaluate` start from `hidden` (H,) and leave the last state in it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.hidden: Tensor = self.model.initial_state()

    def train(self, data: Subsequences, *, learning_rate: float, reduction: str, dropout: float, key: int) -> float:
        """One SGD step a subsequence, on the "sum" or "mean" of its losses.

        Returns the sum of all losses in nats, each word's under the weights before its step.
        """
        total = 0.0
        for i in range(len(data)):
            with RowsInUse(self.model) as rows:
                loss = self._loss(data, i, dropout, key)  # sum over the words
            total += loss.item()
            if reduction == "mean":
                loss = loss / int(data.offsets[i + 1] - data.offsets[i])
            rows.descend(loss, learning_rate)
        return total

    @torch.no_grad()
    def evaluate(self, data: Subsequences) -> float:
        """The summed loss in nats, without dropout and without steps."""
        return sum(self._loss(data, i, 0.0, 0).item() for i in range(len(data)))

    def _loss(self, data: Subsequences, i: int, dropout: float, key: int) -> Tensor:
        begin, end = int(data.offsets[i]), int(data.offsets[i + 1])
        h = self.model.initial_state() if data.reset[i] else self.hidden.to(self.model.W_h)
        x = torch.from_numpy(data.inputs[begin:end]).to(h.device, torch.int64)
        y = torch.from_numpy(data.targets[begin:end]).to(h.device, torch.int64)
        mask = None
        if dropout:
            mask = dropout_mask_torch(key, data.first_token + begin, end - begin, len(h), dropout, h.device, h.dtype)
        logits, h = self.model(x, h, mask)
        self.hidden = h.detach()
        return functional.cross_entropy(logits, y, reduction="sum")
