"""The loss of the gated language models, batch by batch, and their engine with autograd: what the fast one is held to.

Salle and Villavicencio (ACL 2018), section 4: plain SGD on windows of B streams and T steps. The state is carried from
window to window, and the gradient's norm over all parameters is clipped.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from reprise.engines.readable import ReadableEngine
from reprise.models.gated import GatedLanguageModel, Masks, State


class GatedLoss:
    """Define the loss of a window, for an engine or a stack member. Words x and targets y are (T, B) int64.

    `train` and `evaluate` start from `state`, (B, H) each, and leave the last one in it. Subclasses say how
    `process_batch` computes, and how a state of zeros is made. `device` is where it computes.
    """

    state: State = ()
    forward: Callable[..., tuple[Tensor, State]] = staticmethod(nn.Module.__call__)
    """Compute logits and state from a model, words, the state before them, and masks."""

    def reset(self, batch: int) -> None:
        """Set the state of B streams to zero."""
        self.state = self.make_initial_state(batch)

    def train(
        self, x: Tensor, y: Tensor, masks: Masks | None, *, learning_rate: float, reduction: str, clip_norm: float
    ) -> float:
        """Make one SGD step; return the summed loss in nats, under the weights before it.

        The step is on the loss summed over the steps ("sum-steps") or averaged over them ("mean-steps"), and averaged
        over the streams. `masks` as in the model's `forward`.
        """
        self.options = {"reduction": reduction}
        mask_inputs = {} if masks is None else {"mask_E": masks[0], "mask_H": masks[1]}
        return self._process_windows("train", x, y, rate=learning_rate, clip_norm=clip_norm, **mask_inputs)

    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """Return the summed loss in nats, without dropout and without a step."""
        return self._process_windows("read", x, y)

    def _process_windows(self, mode: str, x: Tensor, y: Tensor, **inputs: Any) -> float:
        state = {f"state_{i}": s for i, s in enumerate(self.state)}
        return self.process_batch(mode, self._keep_state, **self.make_word_inputs(x), y=y, **state, **inputs)

    def _keep_state(self, outputs: dict[str, Tensor]) -> float:
        self.state = tuple(outputs[f"state_{i}"] for i in range(len(self.state)))
        return float(outputs["nats"])

    def make_word_inputs(self, x: Tensor) -> dict[str, Tensor]:
        """Return words x (T, B) as the model reads them."""
        return {"x": x}

    def compute(self, model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Compute the loss that a step descends; and the summed loss in nats and the last state."""
        y, state = batch["y"], tuple(batch[name] for name in sorted(batch) if name.startswith("state_"))
        masks = (batch["mask_E"], batch["mask_H"]) if "mask_E" in batch else None
        logits, after = self.forward(model, batch["x"], state, masks)
        nats = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        outputs = {"nats": nats} | {f"state_{i}": s for i, s in enumerate(after)}
        reduction = self.options.get("reduction", "sum-steps")
        return nats * compute_word_share(reduction, *y.shape), outputs


class ReferenceEngine(GatedLoss, ReadableEngine):
    """Compute and differentiate the readable model by autograd."""

    options: dict[str, str] = {}

    def __init__(self, model: GatedLanguageModel) -> None:
        super().__init__(model)
        self.device, self.make_initial_state = next(self.model.parameters()).device, self.model.initial_state


def compute_word_share(reduction: str, T: int, B: int) -> float:
    """Compute how much a word's loss counts in a window of T steps and B streams; see `GatedLoss.train`."""
    return 1 / B if reduction == "sum-steps" else 1 / (T * B)
