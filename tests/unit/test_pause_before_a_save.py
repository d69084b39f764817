"""How long a training goes on before it saves again."""

from __future__ import annotations

import pytest

from reprise.training.loop import pause_before_a_save


@pytest.mark.parametrize(
    ("stated", "cost", "pause"),
    [(30.0, 0.01, 30.0), (30.0, 1.5, 30.0), (30.0, 3.0, 60.0), (1.0, 3.0, 60.0), (0.0, 0.01, 0.0), (0.0, 3.0, 0.0)],
)
def test_a_dear_save_is_a_rare_one_unless_every_one_is_asked_for(stated: float, cost: float, pause: float) -> None:
    assert pause_before_a_save(stated, cost) == pause
