"""The single unit of the notes' Figure 7: its gradient, its two paths, and what its record holds."""

import math

import pytest
import torch
from protocol_helpers import curves, finish, values

from reprise.models.single_unit import SingleUnit

MODEL = {"initial_state": 0.5, "steps": 50, "target": 0.7}
TRAINING = {"learning_rate": 0.5, "threshold": 1.0, "updates": 60, "points": 9, "w_start": 5.0, "b_start": -2.0}
TRAINING |= {"w_low": 4.0, "w_high": 6.0, "b_low": -3.0, "b_high": -1.0}


@pytest.fixture
def outcome(small):
    return finish(small("error-surface", **MODEL | TRAINING))


@pytest.mark.parametrize(("w", "b"), [(0.3, 0.2), (5.0, -2.0), (4.9, -2.43), (7.0, -3.4)])
def test_error_and_gradient_are_those_of_autograd(w, b):
    at = torch.tensor([w, b], dtype=torch.float64, requires_grad=True)
    h = torch.tensor(0.5, dtype=torch.float64)
    for _ in range(50):
        h = torch.sigmoid(at[0] * h + at[1])
    ((h - 0.7) ** 2).backward()
    error, *gradient = SingleUnit(**MODEL).compute_error_and_gradient(w, b)
    assert float(error) == pytest.approx(((h - 0.7) ** 2).item(), rel=1e-9)
    assert [float(g) for g in gradient] == pytest.approx(at.grad.tolist(), rel=1e-9)


def test_the_wall_throws_the_plain_path_off_and_not_the_clipped_one(outcome):
    metrics = values(outcome)
    assert metrics["plain", "longest_step"] > 1
    assert metrics["clipped", "longest_step"] == pytest.approx(0.5, rel=1e-12)  # rate times threshold
    assert metrics["clipped", "largest_gradient_norm"] > 1
    ends = {name: list(curves(outcome)[name, "bias"].values())[-1] for name in ("plain", "clipped")}
    assert ends["plain"] > 0
    assert -3 < ends["clipped"] < -1


def test_every_update_is_a_step_of_gradient_descent(outcome):
    points = curves(outcome)
    unit = SingleUnit(**MODEL)
    for name, limit in (("plain", math.inf), ("clipped", 1.0)):
        w, b, norms = (points[name, column] for column in ("weight", "bias", "gradient_norm"))
        assert (w[0], b[0]) == (5.0, -2.0)
        for i in range(60):
            _, *g = unit.compute_error_and_gradient(w[i], b[i])
            norm = math.hypot(*g)
            assert norms[i] == pytest.approx(norm)
            scale = 0.5 * min(1.0, limit / norm)
            assert (w[i + 1], b[i + 1]) == pytest.approx((w[i] - scale * g[0], b[i] - scale * g[1]))


def test_the_surface_is_on_the_grid(outcome):
    points = curves(outcome)
    assert [k for k in points if k[0].startswith("w = ")] == [(f"w = {4 + i / 4:.6g}", "error") for i in range(9)]
    row = points["w = 4.5", "error"]
    assert list(row) == [-3 + i / 4 for i in range(9)]
    assert row[-2.5] == pytest.approx(float(SingleUnit(**MODEL).compute_error_and_gradient(4.5, -2.5)[0]), abs=1e-9)
