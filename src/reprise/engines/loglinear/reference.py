"""The loss of the log-linear RNN, window by window, and its engine with autograd: what the fast one is held to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from torch import Tensor, nn

from reprise.engines.optimisers import RMSProp
from reprise.engines.readable import ReadableEngine, name_states, pair_states
from reprise.models.loglinear import LogLinearRNN, State


@dataclass(frozen=True)
class RMSPropSettings:
    """How an engine makes a step of RMSProp.

    Attributes:
        learning_rate: The size of a step.
        rho: How much of the mean square stays.
        epsilon: Beside the root.
        epsilon_inside: Inside the root.
        floor: A target whose probability lies below it, or above 1 - floor, gives no gradient, as in Keras 1. With 0
            each gives one.
    """

    learning_rate: float
    rho: float
    epsilon: float
    epsilon_inside: float = 0.0
    floor: float = 0.0

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> RMSPropSettings:
        """Make the settings of a training; "rmsprop-epsilon-inside" has its epsilon inside the root, as Keras 1.0.2."""
        is_beside = options["optimiser"] == "rmsprop"
        return cls(
            learning_rate=options["learning_rate"],
            rho=options["rho"],
            epsilon=options["epsilon"] if is_beside else 0.0,
            epsilon_inside=0.0 if is_beside else options["epsilon"],
            floor=options.get("probability_floor", 0.0),
        )


class LogLinearLoss:
    """Train by RMSProp.

    Words x are (T, B) int64. Targets y are (B,), the words after the windows, or (T, B), the word after every word.
    Without a state (None) a window starts from zeros. A state holds h and c of every layer (B, H). The window starts
    there and leaves the last state in it. Subclasses define `process_batch`, and how a state of zeros is made.
    """

    state: State | None = None
    floor: float = 0.0

    def train(self, x: Tensor, y: Tensor, settings: RMSPropSettings) -> float:
        """Make one step on the mean loss of the targets; return their summed loss in nats.

        The loss is without a floor and under the weights before the step.
        """
        self.floor = settings.floor
        rates = {"rate": settings.learning_rate, "rho": settings.rho, "epsilon": settings.epsilon}
        return self._process_windows("train", x, y, **rates, epsilon_inside=settings.epsilon_inside)

    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """Return the summed loss in nats, without a step."""
        return self._process_windows("read", x, y)

    def compute_log_probabilities(self, x: Tensor) -> Tensor:
        """Compute log p of the word after each window, (B, V), in nats."""
        return self.process_batch(
            "read", itemgetter("log_p"), **self.make_word_inputs(x), **name_states(self.state or ())
        )

    def reset(self, batch: int) -> None:
        """Set the state of B streams to zero."""
        self.state = self.make_initial_state(batch)

    def _process_windows(self, mode: str, x: Tensor, y: Tensor, **inputs: Any) -> float:
        return self.process_batch(
            mode, self._keep_state, **self.make_word_inputs(x), y=y, **name_states(self.state or ()), **inputs
        )

    def _keep_state(self, outputs: dict[str, Tensor]) -> float:
        if self.state is not None:
            self.state = pair_states(outputs, len(self.state))
        return float(outputs["nats"])

    def make_word_inputs(self, x: Tensor) -> dict[str, Tensor]:
        """Return words x (T, B) as the model reads them."""
        return {"x": x}

    def compute_log_p(self, y: Tensor, model: nn.Module, a: Tensor) -> Tensor:
        """Compute log p of the types y (n,) by adaptors a (n, F), in nats."""
        return model.compute_log_p(a).gather(1, y[:, None])[:, 0]

    def compute(self, model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Compute the mean loss of the targets, the summed one and the last state.

        Without targets the distribution after every window is computed.
        """
        carried = "h_0" in batch
        h, after = model.compute_states(batch["x"], pair_states(batch, model.layers) if carried else None)
        if "y" not in batch:
            a = model.compute_adaptors(h[-1])
            return a.sum(), {"log_p": model.compute_log_p(a)}
        y = batch["y"]
        predicting = h.flatten(0, 1) if y.dim() == 2 else h[-1]  # the states of every word, or of the last alone
        a = model.compute_adaptors(predicting)
        log_p = self.compute_log_p(y.flatten(), model, a)
        clamped = log_p.clamp(math.log(self.floor), math.log1p(-self.floor)) if self.floor else log_p
        return -clamped.sum() / y.numel(), {"nats": -log_p.sum()} | (name_states(after) if carried else {})


class ReferenceEngine(LogLinearLoss, ReadableEngine):
    """Compute and differentiate the readable model by autograd."""

    def __init__(self, model: LogLinearRNN) -> None:
        super().__init__(model)
        self.make_initial_state = self.model.initial_state
        self.optimiser = RMSProp(self.model.parameters())
        self.state_dict, self.load_state_dict = self.optimiser.state_dict, self.optimiser.load_state_dict

    def descend(self, loss: Tensor, rate: float, rho: float, epsilon: float, epsilon_inside: float) -> None:
        """Make one step of RMSProp."""
        optimiser = self.optimiser
        optimiser.learning_rate, optimiser.rho = rate, rho
        optimiser.epsilon, optimiser.epsilon_inside = epsilon, epsilon_inside
        self.model.zero_grad()
        loss.backward()
        optimiser.step()
