"""Document 003's Figure 7, computed: the error of a single unit over its weight and bias, and gradient descent on it,
with Algorithm 1 and without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprise.catalogue.models import MODELS
from reprise.options import COUNT, POSITIVE, at_least
from reprise.records.record import Outcome

PATHS = ("plain", "clipped")
_COLUMNS = ("weight", "bias", "error", "gradient_norm")


class ErrorSurface:
    """The surface on a grid, then both paths from the same point; nothing is drawn, so that one replica says all."""

    TRAINS = ("single-unit",)
    OPTIONS = {
        "learning_rate": POSITIVE,
        "threshold": POSITIVE,
        "updates": COUNT,
        "points": at_least(2),
        **{f"{axis}_{place}": float for axis in "wb" for place in ("start", "low", "high")},
    }
    CHANCE = False

    unit = "part"
    total = 2
    engine = "numpy"
    parameters = 2

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del seed, corpus, engine, device
        self.options = config["training"]["options"]
        self.unit_model = MODELS[config["model"]["name"]].build(**config["model"]["options"])
        self.surface: dict[str, Any] = {}
        self.paths: dict[str, list[list[float]]] = {}

    @property
    def finished(self) -> bool:
        return bool(self.paths)

    @property
    def done(self) -> float:
        return bool(self.surface) + bool(self.paths)

    def advance(self) -> str:
        """The surface first, the paths next."""
        if not self.surface:
            w, b = (np.linspace(*(self.options[f"{x}_{end}"] for end in ("low", "high")), self.points) for x in "wb")
            error, _, _ = self.unit_model.error_and_gradient(w[:, None], b[None])
            # Nine digits are more than a shade shows, and keep the record small.
            self.surface = {"w": w.tolist(), "b": b.round(9).tolist(), "error": error.round(9).tolist()}
            return "error surface"
        self.paths = {name: self._descend(clipped=name == "clipped") for name in PATHS}
        return "gradient descent"

    @property
    def points(self) -> int:
        return self.options["points"]

    def _descend(self, clipped: bool) -> list[list[float]]:
        """Rows of _COLUMNS, the state before every update and after the last."""
        w, b, rows = self.options["w_start"], self.options["b_start"], []
        rate, threshold = self.options["learning_rate"], self.options["threshold"]
        for _ in range(self.options["updates"] + 1):
            error, *gradient = (float(part) for part in self.unit_model.error_and_gradient(w, b))
            g = np.array(gradient)
            norm = float(np.hypot(*g))
            rows.append([w, b, error, norm])
            if clipped and norm >= threshold:
                g *= threshold / norm  # Algorithm 1
            w, b = w - rate * float(g[0]), b - rate * float(g[1])
        return rows

    def state(self) -> dict[str, Any]:
        return {"surface": self.surface, "paths": self.paths}

    def restore(self, state: dict[str, Any]) -> None:
        self.surface, self.paths = state["surface"], state["paths"]

    def outcome(self) -> Outcome:
        """The surface, a curve a weight (split "w = ..."), and what each path passes, update by update."""
        outcome = Outcome()
        for w, errors in zip(self.surface["w"], self.surface["error"], strict=True):
            fixed = {"split": f"w = {w:.6g}", "metric": "error", "unit": "1", "axis": "bias"}
            outcome.curves.append(fixed | {"x": self.surface["b"], "y": errors})
        for name, rows in self.paths.items():
            columns = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
            updates = list(range(len(rows)))
            for column, values in columns.items():
                fixed = {"split": name, "metric": column, "unit": "1", "axis": "update"}
                outcome.curves.append(fixed | {"x": updates, "y": values})
            steps = np.hypot(np.diff(columns["weight"]), np.diff(columns["bias"]))
            found = {
                "final_error": columns["error"][-1],
                "largest_gradient_norm": max(columns["gradient_norm"]),
                "longest_step": float(steps.max()),
            }
            outcome.metrics += [
                {"split": name, "metric": metric, "value": value, "unit": "1", "n": len(steps)}
                for metric, value in found.items()
            ]
        return outcome
