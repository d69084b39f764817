"""Claims that one model is worse than others, where a replica of it may blow up: by ranks, exactly."""

from __future__ import annotations

import math
from statistics import median

from reprise.config.claims import Claim, Comparison
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.statistics import ranks_above
from reprise.evidence.verdicts import OPEN, Covered, Decision, Part, Table, direction, everything, means


def decide(claim: Claim, table: Table, covered: Covered = everything) -> Decision | None:
    """The replicas of `higher` against those of all of `lower` together; a replica that diverged ranks last.

    It agrees where the rank test says so and the median of `higher` is above that of each of the others. None where
    `covered` leaves none of the others.
    """
    runs, quantity = table.runs, (claim.metric, claim.split)
    high = runs[claim.ranks.higher]
    others = [runs[name] for name in claim.ranks.lower if covered({claim.ranks.higher, name})]
    if not others:
        return None
    above, below = _numbers(high, quantity), {of.name: _numbers(of, quantity) for of in others}
    if not above or not all(below.values()):
        return Decision(OPEN, notes=(("nothing", {}),))
    together = [x for numbers in below.values() for x in numbers]
    gaps = [median(above) - median(numbers) for numbers in below.values()]
    toward = min(0.0 if math.isnan(gap) else gap for gap in gaps)
    p_for = ranks_above(above, together) if toward > 0 else 1.0
    part = Part(toward, p_for, ranks_above(together, above))
    row = {
        "form": "ranks",
        "label": high.title,
        "others": [of.title for of in others],
        "replicas": [len(above), len(together)],
        "above": sum(x > max(together) for x in above),
        "estimate": None,
        "interval": None,
        "p": p_for,
        "n": {high.name: len(above), **{name: len(numbers) for name, numbers in below.items()}},
        "paper": None,
    }
    each = claim.model_copy(update={"ranks": None, "kind": "superiority", "compare": [
        Comparison(lower=name, higher=claim.ranks.higher) for name in claim.ranks.lower
    ]})  # fmt: skip
    differences = means.decide(each, table, covered)
    return Decision(
        direction([part]), [row, *differences.parts], "exact rank-sum test", toward > 0, differences.replicas
    )


def _numbers(runs: Runs, quantity: Quantity) -> list[float]:
    lost = [math.inf] * runs.diverged
    return [r.metrics[quantity] for r in runs.finished if quantity in r.metrics] + lost
