"""Claims that several sweeps are best at the same place: one value of what is varied serves all of them."""

from __future__ import annotations

import math

from reprise.config.claims import Claim, Comparison
from reprise.evidence.verdicts import AGREES, DISAGREES, OPEN, TAIL, Decision, Table, means


def decide(claim: Claim, table: Table) -> Decision:
    """The decision on the claim that all sweeps of `optimum` have the lowest metric at one place.

    A place serves where no other place of its sweep is lower by more than the margin, in all of the sweeps. The claim
    agrees where one place is established to serve, and disagrees where of every place the opposite is: some sweep is
    lower elsewhere by more than the margin. Since the place is chosen after its numbers are known, it is held to the
    level divided by the number of places.
    """
    places = range(len(claim.optimum[0]))
    found = [means.decide(_serves(claim, place), table, tail=TAIL / len(places)) for place in places]
    refuted = [means.decide(_serves(claim, place), table).verdict == DISAGREES for place in places]
    best = found[(chosen := min(places, key=lambda place: _doubt(found[place])))]
    if not best.parts:
        return best
    verdict = AGREES if best.verdict == AGREES else DISAGREES if all(refuted) else OPEN
    lowest = all(part["estimate"] >= 0 for part in best.parts)
    place = ("place", {"which": [table.runs[sweep[chosen]].title for sweep in claim.optimum], "lowest": lowest})
    return Decision(verdict, best.parts, best.method, best.holds, best.replicas, (place, *best.notes))


def _serves(claim: Claim, place: int) -> Claim:
    """The claim that nothing in a sweep is lower than this place by more than the margin."""
    compare = [
        Comparison(lower=sweep[place], higher=other)
        for sweep in claim.optimum
        for i, other in enumerate(sweep)
        if i != place
    ]
    return claim.model_copy(update={"kind": "non-inferiority", "optimum": None, "compare": compare})


def _doubt(decision: Decision) -> tuple[float, float]:
    """How unsure the least sure comparison is; where no deviation is known, how much lower the metric is elsewhere."""
    least_sure = max((part["p"] for part in decision.parts), default=math.inf)
    return least_sure, -min((part["estimate"] for part in decision.parts), default=-math.inf)
