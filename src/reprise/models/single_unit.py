"""The network of document 003's Figure 7: one unit, without input, over T steps.

    h_t = sigma(w h_{t-1} + b)      E(w, b) = (h_T - target)^2

Equation 5 with the bias that the figure has an axis for. The figure is that of Pascanu et al., "On the difficulty of
training recurrent neural networks" (ICML 2013), Figure 6.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SingleUnit:
    """Hold h_0 (`initial_state`), T (`steps`) and the target."""

    initial_state: float
    steps: int
    target: float

    def compute_error_and_gradient(self, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute E, dE/dw and dE/db at every (w, b), of their common shape, by the products of (14)."""
        w, b = np.broadcast_arrays(np.asarray(w, float), np.asarray(b, float))
        h, dh_dw, dh_db = np.full(w.shape, self.initial_state), np.zeros(w.shape), np.zeros(w.shape)
        for _ in range(self.steps):
            now = 1 / (1 + np.exp(-(w * h + b)))
            slope = now * (1 - now)
            dh_dw, dh_db = slope * (h + w * dh_dw), slope * (1 + w * dh_db)
            h = now
        slope = 2 * (h - self.target)
        return (h - self.target) ** 2, slope * dh_dw, slope * dh_db
