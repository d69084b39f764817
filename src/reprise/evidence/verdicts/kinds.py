"""Claims that are not about means alone: identities, shares of replicas, ranks, and optima of several sweeps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

from reprise.config.claims import Claim, Comparison
from reprise.evidence import verdicts
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.statistics import binomial, clopper_pearson, ranks_above
from reprise.evidence.verdicts import Covered, Decision, Part, Table, means


def of_checks(claim: Claim, table: Table) -> Decision:
    """Every comparison of the checks within its tolerance; whether the corrected formula is, is a note."""
    rows, corrected = (
        [row for name in names for row in _errors(table.runs[name])] for names in (claim.checks, claim.corrections)
    )
    held = all(row["held"] for row in rows)
    notes = ()
    if corrected and not held and all(row["held"] for row in corrected):
        notes = (("corrected", max(corrected, key=lambda row: row["estimate"])),)
    verdict = verdicts.AGREES if held else verdicts.DISAGREES
    return Decision(verdict, rows + corrected, "computed error", held, notes=notes)


def _errors(runs: Runs) -> list[dict[str, Any]]:
    tolerance = runs.resolved.config["tolerance"]
    common = {"form": "error", "experiment": runs.name, "interval": None, "n": {runs.name: 1}, "paper": None}
    return [
        common | {"label": split, "estimate": value, "tolerance": tolerance, "held": value <= tolerance}
        for replica in runs.replicas
        for (metric, split), value in replica.metrics.items()
        if metric == "max_error"
    ]


def share_of_tolerance(row: Mapping[str, Any]) -> float:
    """The error in units of its tolerance, of which there may be none."""
    return row["estimate"] / (row["tolerance"] or 1.0)


def of_shares(claim: Claim, table: Table, covered: Covered = verdicts.everything) -> Decision:
    """Each experiment's share of replicas has to keep the bound: "reaches 100 %" says how many do.

    A replica counts where the metric, or a point of its curve of that name, is at least `reaches`; one that diverged
    counts by the curve that it left. That some replica can is shown by one that does, and by no number of others
    refuted.
    """
    share, quantity = claim.share, (claim.metric, claim.split)
    parts, rows = [], []
    for name in (name for name in share.experiments if covered({name})):
        runs = table.runs[name]
        tops = [max(r.metrics.get(quantity, -math.inf), r.best.get(quantity, -math.inf)) for r in runs.replicas]
        reached, n = sum(top >= share.reaches for top in tops), len(tops)
        if share.any:
            parts.append(Part(reached - 0.5, 0.0 if reached else 1.0, 1.0))
        elif share.at_least is not None:
            parts.append(Part(reached / n - share.at_least, *binomial(reached, n, share.at_least)))
        else:
            parts.append(Part(share.at_most - reached / n, *reversed(binomial(reached, n, share.at_most))))
        row = {"form": "share", "experiment": runs.name, "label": runs.title, "n": {runs.name: n}, "paper": None}
        row |= {"reached": reached, "at_least": share.at_least, "at_most": share.at_most, "estimate": reached / n}
        row |= {"interval": clopper_pearson(reached, n, verdicts.LEVEL), "level": verdicts.LEVEL, "p": parts[-1].p_for}
        rows.append(row)
    method = "counted" if share.any else "binomial test"
    return Decision(verdicts.direction(parts), rows, method, all(part.toward > 0 for part in parts))


def of_ranks(claim: Claim, table: Table, covered: Covered = verdicts.everything) -> Decision:
    """The replicas of `higher` against those of all of `lower` together, exactly; one that diverged ranks last.

    It agrees where the rank test says so and the median of `higher` is above that of each of the others.
    """
    runs, quantity = table.runs, (claim.metric, claim.split)
    high = runs[claim.ranks.higher]
    others = [runs[name] for name in claim.ranks.lower if covered({claim.ranks.higher, name})]
    above, below = _numbers(high, quantity), {of.name: _numbers(of, quantity) for of in others}
    if not above or not all(below.values()):
        return Decision(verdicts.OPEN, notes=(("nothing", {}),))
    together = [x for numbers in below.values() for x in numbers]
    gaps = [median(above) - median(numbers) for numbers in below.values()]
    toward = min(0.0 if math.isnan(gap) else gap for gap in gaps)
    p_for = ranks_above(above, together) if toward > 0 else 1.0
    row = {"form": "ranks", "label": high.title, "others": [of.title for of in others], "p": p_for}
    row |= {"replicas": [len(above), len(together)], "above": sum(x > max(together) for x in above)}
    row |= {"n": {name: len(numbers) for name, numbers in {high.name: above, **below}.items()}}
    row |= dict.fromkeys(("estimate", "interval", "paper"))
    each = [Comparison(lower=name, higher=claim.ranks.higher) for name in claim.ranks.lower]
    pairs = claim.model_copy(update={"ranks": None, "kind": "superiority", "compare": each})
    found = means.decide(pairs, table, covered)
    verdict = verdicts.direction([Part(toward, p_for, ranks_above(together, above))])
    return Decision(verdict, [row, *found.parts], "exact rank-sum test", toward > 0, found.replicas)


def _numbers(runs: Runs, quantity: Quantity) -> list[float]:
    return [r.metrics[quantity] for r in runs.finished if quantity in r.metrics] + [math.inf] * runs.diverged


def of_optimum(claim: Claim, table: Table) -> Decision:
    """All sweeps of `optimum` have the lowest metric at one place: one value of what is varied serves all of them.

    A place serves where no other place of its sweep is lower by more than the margin, in all of the sweeps. The claim
    agrees where one place is established to serve, and disagrees where of every place the opposite is: some sweep is
    lower elsewhere by more than the margin. Since the place is chosen after its numbers are known, it is held to the
    level divided by the number of places.
    """
    places = range(len(claim.optimum[0]))
    found = [means.decide(_serves(claim, place), table, tail=verdicts.TAIL / len(places)) for place in places]
    refuted = [means.decide(_serves(claim, place), table).verdict == verdicts.DISAGREES for place in places]
    best = found[(chosen := min(places, key=lambda place: _doubt(found[place])))]
    if not best.parts:
        return best
    verdict = verdicts.DISAGREES if all(refuted) else verdicts.OPEN
    verdict = verdicts.AGREES if best.verdict == verdicts.AGREES else verdict
    lowest = all(part["estimate"] >= 0 for part in best.parts)
    place = ("place", {"which": [table.runs[sweep[chosen]].title for sweep in claim.optimum], "lowest": lowest})
    return Decision(verdict, best.parts, best.method, best.holds, best.replicas, (place, *best.notes))


def _serves(claim: Claim, place: int) -> Claim:
    """The claim that nothing in a sweep is lower than this place by more than the margin."""
    pairs = [(sweep[place], other) for sweep in claim.optimum for i, other in enumerate(sweep) if i != place]
    compare = [Comparison(lower=lower, higher=higher) for lower, higher in pairs]
    return claim.model_copy(update={"kind": "non-inferiority", "optimum": None, "compare": compare})


def _doubt(decision: Decision) -> tuple[float, float]:
    """How unsure the least sure comparison is; where no deviation is known, how much lower the metric is elsewhere."""
    least_sure = max((part["p"] for part in decision.parts), default=math.inf)
    return least_sure, -min((part["estimate"] for part in decision.parts), default=-math.inf)
