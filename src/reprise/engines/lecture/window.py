"""The loss of the window-based model (document 003, equation 4), batch by batch, and its engine with autograd.

Plain SGD on the mean loss of a batch, the gradient clipped by its norm over all parameters (Algorithm 1).
"""

from torch import Tensor, nn
from torch.nn import functional

from reprise.engines.choice import EngineFamily
from reprise.engines.readable import ReadableEngine, read_nats


class WindowLoss:
    """Windows x (B, n) and next words y (B,) are int64; results are the summed loss in nats.

    Subclasses say how `process_batch` computes.
    """

    def train(self, x: Tensor, y: Tensor, *, learning_rate: float, clip_norm: float) -> float:
        """Make one step; return the loss before it."""
        return self.process_batch(
            "train", read_nats, **self.make_word_inputs(x), y=y, rate=learning_rate, clip_norm=clip_norm
        )

    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """Return the loss; make no step."""
        return self.process_batch("read", read_nats, **self.make_word_inputs(x), y=y)

    def make_word_inputs(self, x: Tensor) -> dict[str, Tensor]:
        """Return windows as the model reads them."""
        return {"x": x}

    def compute(self, model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Compute the mean loss, which a step descends, and the summed one."""
        nats = functional.cross_entropy(model(batch["x"]), batch["y"], reduction="sum")
        return nats / len(batch["y"]), {"nats": nats}


class ReferenceEngine(WindowLoss, ReadableEngine):
    """Compute and differentiate the readable model by autograd."""


choose_engine = EngineFamily(ReferenceEngine)
