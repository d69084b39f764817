"""The single unit of the notes' Figure 7: its gradient, its two paths, and what its record holds."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from reprise.catalogue.models import MODELS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.models.single_unit import SingleUnit
from reprise.options import check_options
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocols.error_surface import ErrorSurface

MODEL = {"initial_state": 0.5, "steps": 50, "target": 0.7}
TRAINING = {"learning_rate": 0.5, "threshold": 1.0, "updates": 60, "points": 9, "w_start": 5.0, "b_start": -2.0}
TRAINING |= {"w_low": 4.0, "w_high": 6.0, "b_low": -3.0, "b_high": -1.0}
CONFIG = {
    "model": {"name": "single-unit", "options": MODEL},
    "training": {"protocol": "error-surface", "options": TRAINING},
}


def surface():
    training = ErrorSurface(CONFIG, 0, None, "auto", torch.device("cpu"))
    while not training.finished:
        training.advance()
    return training


def curves(outcome):
    return {(c["split"], c["metric"]): dict(zip(c["x"], c["y"], strict=True)) for c in outcome.curves}


@pytest.mark.parametrize(("w", "b"), [(0.3, 0.2), (5.0, -2.0), (4.9, -2.43), (7.0, -3.4)])
def test_error_and_gradient_are_those_of_autograd(w, b):
    at = torch.tensor([w, b], dtype=torch.float64, requires_grad=True)
    h = torch.tensor(0.5, dtype=torch.float64)
    for _ in range(50):
        h = torch.sigmoid(at[0] * h + at[1])
    ((h - 0.7) ** 2).backward()
    error, *gradient = SingleUnit(**MODEL).error_and_gradient(w, b)
    assert float(error) == pytest.approx(((h - 0.7) ** 2).item(), rel=1e-9)
    assert [float(g) for g in gradient] == pytest.approx(at.grad.tolist(), rel=1e-9)


def test_a_grid_is_its_points():
    unit, w, b = SingleUnit(**MODEL), np.array([1.0, 5.0]), np.array([-2.0, 0.0, 1.0])
    for whole, *single in zip(
        unit.error_and_gradient(w[:, None], b[None]),
        *(unit.error_and_gradient(x, y) for x in w for y in b),
        strict=True,
    ):
        assert whole.flatten().tolist() == pytest.approx([float(s) for s in single], rel=1e-12)


def test_the_wall_throws_the_plain_path_off_and_not_the_clipped_one():
    outcome = surface().outcome()
    found = {(m["split"], m["metric"]): m["value"] for m in outcome.metrics}
    assert found["plain", "longest_step"] > 1
    assert found["clipped", "longest_step"] == pytest.approx(0.5, rel=1e-12)  # rate times threshold
    assert found["clipped", "largest_gradient_norm"] > 1
    ends = {name: list(curves(outcome)[name, "bias"].values())[-1] for name in ("plain", "clipped")}
    assert ends["plain"] > 0
    assert -3 < ends["clipped"] < -1


def test_every_update_is_a_step_of_gradient_descent():
    found = curves(surface().outcome())
    unit = SingleUnit(**MODEL)
    for name, limit in (("plain", math.inf), ("clipped", 1.0)):
        w, b, norms = (found[name, column] for column in ("weight", "bias", "gradient_norm"))
        assert (w[0], b[0]) == (5.0, -2.0)
        for i in range(60):
            _, *g = unit.error_and_gradient(w[i], b[i])
            norm = math.hypot(*g)
            assert norms[i] == pytest.approx(norm)
            scale = 0.5 * min(1.0, limit / norm)
            assert (w[i + 1], b[i + 1]) == pytest.approx((w[i] - scale * g[0], b[i] - scale * g[1]))


def test_the_surface_is_on_the_grid():
    found = curves(surface().outcome())
    assert [k for k in found if k[0].startswith("w = ")] == [(f"w = {4 + i / 4:.6g}", "error") for i in range(9)]
    row = found["w = 4.5", "error"]
    assert list(row) == [-3 + i / 4 for i in range(9)]
    assert row[-2.5] == pytest.approx(float(SingleUnit(**MODEL).error_and_gradient(4.5, -2.5)[0]), abs=1e-9)


def test_it_goes_on_where_it_stopped_and_leaves_a_record(tmp_path):
    whole = surface()
    stopped = ErrorSurface(CONFIG, 0, None, "auto", torch.device("cpu"))
    stopped.advance()
    resumed = ErrorSurface(CONFIG, 0, None, "auto", torch.device("cpu"))
    resumed.restore(copy.deepcopy(stopped.state()))
    assert resumed.done == 1
    resumed.advance()
    assert resumed.outcome() == whole.outcome()
    resolved = Resolved("p", "e", "quick", "t", 1, {**CONFIG, "precision": "float64"}, {}, None)
    record = run_job(Job(resolved, 0, tmp_path / "r.json", root=tmp_path))
    assert record["curves"] == whole.outcome().curves


def test_the_registry_knows_these_options():
    assert check_options(MODEL, MODELS["single-unit"].options, "f", "m") == MODEL
    assert check_options(TRAINING, PROTOCOLS["error-surface"].options, "f", "p") == TRAINING
    assert not PROTOCOLS["error-surface"].chance
