"""The engines of the window-based model (document 003, equation 4): the readable model with autograd, and one without.

Plain SGD on the mean loss of a batch, the gradient clipped by its norm over all parameters (Algorithm 1).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.engines.choice import Choice
from reprise.engines.clipping import clipping_factor
from reprise.engines.gemm import linear_for
from reprise.engines.readable import ReadableEngine, nats_of
from reprise.models.window import WindowModel


class WordWindows:
    """Windows x (B, n) and next words y (B,) are int64; results are the summed loss in nats.

    Whoever inherits this says how `perform` computes.
    """

    def train(self, x: Tensor, y: Tensor, *, learning_rate: float, clip_norm: float) -> float:
        """One step; the loss is that before it."""
        return self.perform("train", nats_of, **self.lists(x), y=y, rate=learning_rate, clip_norm=clip_norm)

    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """No step."""
        return self.perform("read", nats_of, **self.lists(x), y=y)

    def lists(self, x: Tensor) -> dict[str, Tensor]:
        """Windows as the model reads them."""
        return {"x": x}

    def compute(self, model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean loss, which a step descends, and the summed one."""
        nats = functional.cross_entropy(model(batch["x"]), batch["y"], reduction="sum")
        return nats / len(batch["y"]), {"nats": nats}


class ReferenceEngine(WordWindows, ReadableEngine):
    """The model itself."""


class HandEngine(ReferenceEngine):
    """Gradients by hand. [W2 W3] is one matrix here, which (h, x) meets in one product, and of the words' vectors only
    the rows that a batch reads are touched.
    """

    name = "hand"

    def __init__(self, model: WindowModel) -> None:
        super().__init__(model)
        self.E, self.W1, self.b1, self.b3 = (
            p.data for p in (self.model.E, self.model.W1, self.model.b1, self.model.b3)
        )
        self.linear = linear_for(self.E)
        self.W = self._joined()

    def _joined(self) -> Tensor:
        model = self.model
        return (torch.cat([model.W2, model.W3], 1) if model.direct else model.W2).detach().clone()

    @torch.no_grad()
    def train(self, x: Tensor, y: Tensor, *, learning_rate: float, clip_norm: float) -> float:
        B, H = len(y), self.model.hidden
        inputs, z, log_p = self._forward(x)  # (B, n d), (B, H or H + n d), (B, V)
        loss = -log_p.gather(1, y[:, None]).double().sum().item()
        dlogits = log_p.exp_()  # p - 1 at the target, over B
        dlogits[torch.arange(B), y] -= 1
        dlogits /= B
        dz = self.linear(dlogits, self.W.T, None)
        da = dz[:, :H] * (1 - z[:, :H] ** 2)
        dx = self.linear(da, self.W1.T, None)
        if self.model.direct:
            dx += dz[:, H:]
        words, at = torch.unique(x, return_inverse=True)
        dE = dx.new_zeros(len(words), self.model.embedding).index_add_(0, at.flatten(), dx.view(x.numel(), -1))
        dW, dW1 = (self.linear(left.T, right.T, None) for left, right in ((dlogits, z), (da, inputs)))
        gradients = dW, dW1, dE, da.sum(0), dlogits.sum(0)
        step = learning_rate * clipping_factor(gradients, clip_norm, by_rows=True)
        for parameter, gradient in zip((self.W, self.W1, None, self.b1, self.b3), gradients, strict=True):
            if parameter is not None:
                parameter.sub_(gradient, alpha=step)
        self.E.index_add_(0, words, dE, alpha=-step)
        return loss

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        return -self._forward(x)[2].gather(1, y[:, None]).double().sum().item()

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        inputs = self.E[x].flatten(1)
        h = self.linear(inputs, self.W1, self.b1).tanh_()
        z = torch.cat([h, inputs], 1) if self.model.direct else h
        return inputs, z, torch.log_softmax(self.linear(z, self.W, self.b3), 1)

    def export(self) -> dict[str, Tensor]:
        H = self.model.hidden
        joined = {"W2": self.W[:, :H], **({"W3": self.W[:, H:]} if self.model.direct else {})}
        return {**super().export(), **{name: value.clone() for name, value in joined.items()}}

    def load(self, state: dict[str, Tensor]) -> None:
        super().load(state)
        self.W = self._joined()


choose = Choice(ReferenceEngine, HandEngine, knows=(WindowModel,))
