"""Document 003's Figure 7: the error of a single unit over its weight and bias, and gradient descent on it.

Gradients are clipped by Algorithm 1, and not.
"""

import numpy as np

from reprise.records.record import Outcome, make_curve, make_metric
from reprise.training.protocol import Pieces

PATHS = ("plain", "clipped")
_COLUMNS = ("weight", "bias", "error", "gradient_norm")


class ErrorSurface(Pieces):
    """The surface on a grid, then both paths from the same point; nothing is drawn, so that one replica says all."""

    unit = "part"
    total = 2
    parameter_count = 2

    def prepare(self) -> None:
        self.unit_model = self.build_model()

    def advance(self) -> str:
        """Compute the surface first, the paths next."""
        if self.results:
            self.results.append({name: self._descend(clipped=name == "clipped") for name in PATHS})
            return "gradient descent"
        options = self.options
        w = np.linspace(options["w_low"], options["w_high"], options["points"])
        b = np.linspace(options["b_low"], options["b_high"], options["points"])
        error, _, _ = self.unit_model.compute_error_and_gradient(w[:, None], b[None])
        # Nine digits are more than a shade shows, and keep the record small.
        self.results.append({"w": w.tolist(), "b": b.round(9).tolist(), "error": error.round(9).tolist()})
        return "error surface"

    def _descend(self, clipped: bool) -> list[list[float]]:
        """Return rows of _COLUMNS, the state before every update and after the last."""
        w, b, rows = self.options["w_start"], self.options["b_start"], []
        rate, threshold = self.options["learning_rate"], self.options["threshold"]
        for _ in range(self.options["updates"] + 1):
            error, *gradient = (float(part) for part in self.unit_model.compute_error_and_gradient(w, b))
            g = np.array(gradient)
            norm = float(np.hypot(*g))
            rows.append([w, b, error, norm])
            if clipped and norm >= threshold:
                g *= threshold / norm  # Algorithm 1
            w, b = w - rate * float(g[0]), b - rate * float(g[1])
        return rows

    def make_outcome(self) -> Outcome:
        """Report the surface, a curve a weight (split "w = ..."), and each path, update by update."""
        outcome, (surface, paths) = Outcome(), self.results
        for w, errors in zip(surface["w"], surface["error"], strict=True):
            outcome.curves.append(make_curve(f"w = {w:.6g}", "error", "1", "bias", surface["b"], errors))
        for name, rows in paths.items():
            columns = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
            for column, values in columns.items():
                outcome.curves.append(make_curve(name, column, "1", "update", range(len(rows)), values))
            steps = np.hypot(np.diff(columns["weight"]), np.diff(columns["bias"]))
            quantities = {
                "final_error": columns["error"][-1],
                "largest_gradient_norm": max(columns["gradient_norm"]),
                "longest_step": float(steps.max()),
            }
            outcome.metrics += [
                make_metric(name, quantity, value, "1", len(steps)) for quantity, value in quantities.items()
            ]
        return outcome
