"""Claims that several sweeps are best at the same place: one value of what is varied serves all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reprise.config.claims import Claim, Comparison
from reprise.evidence import comparisons
from reprise.evidence.runs import Runs
from reprise.evidence.statistics import holm
from reprise.evidence.verdicts import INCONCLUSIVE, NOT, REPRODUCED, TAIL, Decision
from reprise.evidence.wording import listed, percent


def decide(claim: Claim, runs: Mapping[str, Runs], everyone: Mapping[str, Runs]) -> Decision:
    """The decision on the claim that all sweeps of `optimum` have the lowest metric at one place.

    A place serves where no other place of its sweep is lower by more than the margin, in all of the sweeps. The claim
    is reproduced where one place is established to serve, not reproduced where of every place the opposite is: some
    sweep is lower elsewhere by more than the margin. Since the place is chosen after its numbers are known, it is held
    to the level divided by the number of places.
    """
    places = range(len(claim.optimum[0]))
    tail = TAIL / len(places)
    found = [comparisons.decide(_serves(claim, place), runs, everyone, tail=tail) for place in places]
    chosen = min(places, key=lambda place: _doubt(found[place]))
    best = found[chosen]
    if not best.parts:
        return best
    established = best.verdict == REPRODUCED and max(holm([part["p"] for part in best.parts])) <= tail
    nowhere = all(decision.verdict == NOT for decision in found)
    verdict = REPRODUCED if established else NOT if nowhere else INCONCLUSIVE
    titles = listed([runs[sweep[chosen]].title for sweep in claim.optimum])
    lowest = all(part["estimate"] >= 0 for part in best.parts)
    said = "Lowest in every sweep" if lowest else "No place is the lowest in every sweep; together the best"
    sentence = f"{said}: {titles}. {best.sentence}"
    if best.verdict == REPRODUCED and not established:
        sentence += f" Chosen among {len(places)} for its numbers, the place would have to be so at {percent(tail)}."
    return Decision(verdict, sentence, best.method, best.parts, best.replicas)


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
