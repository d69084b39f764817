"""Claims that are not about means alone: identities, shares of replicas, ranks, optima of several sweeps, and units."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from reprise.config.claims import Claim, Comparison, UnitQuestion
from reprise.evidence import verdicts
from reprise.evidence.runs import Quantity, Runs, Table
from reprise.evidence.statistics import binomial, clopper_pearson, mean, ranks_above
from reprise.evidence.verdicts import AGREES, DISAGREES, OPEN, Decision, Part, means


def of_checks(claim: Claim, table: Table) -> Decision:
    """Every comparison of the checks within its tolerance; whether the corrected formula is, is a note."""
    rows, corrected = (
        [row for name in names for row in _errors(table.runs[name])] for names in (claim.checks, claim.corrections)
    )
    held = all(row["held"] for row in rows)
    notes = ()
    if corrected and not held and all(row["held"] for row in corrected):
        notes = (("corrected", max(corrected, key=lambda row: row["estimate"])),)
    verdict = AGREES if held else DISAGREES
    rows += [row | {"corrected": True} for row in corrected]
    return Decision(verdict, rows, "computed error", held, notes=notes)


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


def of_shares(claim: Claim, table: Table) -> Decision:
    """Each experiment's share of replicas has to keep the bound: "reaches 100 %" says how many do.

    A replica counts where the metric, or a point of its curve of that name, is at least `reaches`; one that diverged
    counts by the curve that it left. That some replica can is shown by one that does, and by no number of others
    refuted.
    """
    share, quantity = claim.share, (claim.metric, claim.split)
    parts, rows = [], []
    for runs in (table.runs[name] for name in share.experiments if table.covered({name})):
        tops = [max(r.metrics.get(quantity, -math.inf), r.best.get(quantity, -math.inf)) for r in runs.replicas]
        reached, n = sum(top >= share.reaches for top in tops), len(tops)
        if share.any:
            parts.append(Part(reached - 0.5, 0.0 if reached else 1.0, 1.0))
        elif share.at_least is not None:
            parts.append(Part(reached / n - share.at_least, *binomial(reached, n, share.at_least)))
        else:
            parts.append(Part(share.at_most - reached / n, *reversed(binomial(reached, n, share.at_most))))
        rows.append(
            {"form": "share", "experiment": runs.name, "label": runs.title, "n": {runs.name: n}, "paper": None,
             "reached": reached, "at_least": share.at_least, "at_most": share.at_most, "estimate": reached / n,
             "interval": clopper_pearson(reached, n, verdicts.LEVEL), "level": verdicts.LEVEL, "p": parts[-1].p_for}
        )  # fmt: skip
    method = "counted" if share.any else "binomial test"
    return Decision(verdicts.direction(parts), rows, method, all(part.toward > 0 for part in parts))


def of_ranks(claim: Claim, table: Table) -> Decision:
    """The replicas of `higher` against those of all of `lower` together, exactly; one that diverged ranks last.

    It agrees where the rank test says so and the median of `higher` is above that of each of the others.
    """
    runs, quantity = table.runs, (claim.metric, claim.split)
    high = runs[claim.ranks.higher]
    others = [runs[name] for name in claim.ranks.lower if table.covered({claim.ranks.higher, name})]
    above, below = _numbers(high, quantity), {of.name: _numbers(of, quantity) for of in others}
    if not above or not all(below.values()):
        return Decision(OPEN, notes=(("nothing", {}),))
    together = [x for numbers in below.values() for x in numbers]
    gaps = [median(above) - median(numbers) for numbers in below.values()]
    toward = min(0.0 if math.isnan(gap) else gap for gap in gaps)
    p_for = ranks_above(above, together) if toward > 0 else 1.0
    row = {
        "form": "ranks", "label": high.title, "others": [of.title for of in others], "p": p_for,
        "replicas": [len(above), len(together)], "above": sum(x > max(together) for x in above),
        "n": {name: len(numbers) for name, numbers in {high.name: above, **below}.items()},
        **dict.fromkeys(("estimate", "interval", "paper")),
    }  # fmt: skip
    each = [Comparison(lower=name, higher=claim.ranks.higher) for name in claim.ranks.lower]
    pairs = claim.model_copy(update={"ranks": None, "kind": "superiority", "compare": each})
    found = means.decide(pairs, table)
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
    places, table = range(len(claim.optimum[0])), replace(table, covered=lambda names: True)
    found = [means.decide(_serves(claim, place), table, tail=verdicts.TAIL / len(places)) for place in places]
    refuted = [means.decide(_serves(claim, place), table).verdict == DISAGREES for place in places]
    best = found[(chosen := min(places, key=lambda place: _doubt(found[place])))]
    if not best.parts:
        return best
    verdict = DISAGREES if all(refuted) else OPEN
    verdict = AGREES if best.verdict == AGREES else verdict
    lowest = all(part["estimate"] >= 0 for part in best.parts)
    place = "lowest" if lowest else "best", {"which": [table.runs[sweep[chosen]].title for sweep in claim.optimum]}
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


CLEAR = 2.0
"""A unit fits if the numbers are off by less than half as much (in logarithms) as under the other."""


def distance(printed: Mapping[str, float], ours: Mapping[str, float]) -> float:
    """Mean logarithm of ours over printed, of the same models in one unit: 0 where they agree."""
    return mean(math.log(ours[name] / printed[name]) for name in printed)


def judged_by(asked: UnitQuestion, name: str) -> set[str]:
    """What one model's number is judged by: its own runs, and those of the model that says what is ordinary."""
    return {name, *filter(None, (asked.reference,))}


def of_unit(claim: Claim, table: Table) -> Decision:
    """Whether a paper's entropies can be in the unit that it states: they and ours of the same models, in either."""
    asked, quantity, runs = claim.unit, (claim.metric, claim.split), table.runs
    printed, ours, otherwise = {}, {}, {}
    for name in (name for name in asked.experiments if table.covered(judged_by(asked, name))):
        value, found = runs[name].reported(quantity), runs[name].mean(quantity, asked.stated)
        if value is not None and found is not None:
            printed[name], ours[name] = value, found
            otherwise[name] = runs[name].mean(quantity, asked.other)
    if not printed:
        return Decision(OPEN, notes=(("nothing", {}),))
    stated, other = distance(printed, ours), distance(printed, otherwise)
    verdict = OPEN
    if abs(stated) * CLEAR < abs(other):
        verdict = AGREES
    elif abs(other) * CLEAR < abs(stated):
        verdict = DISAGREES
    lowest, beaten = min(printed.values()), {}
    if asked.published and lowest < asked.published.value:
        beaten[asked.published.what] = asked.published.value
    if asked.reference and (reference := runs[asked.reference].mean(quantity, asked.stated) or 0.0) > lowest:
        beaten[f"our {runs[asked.reference].title}"] = reference
    notes = [("unit", {"models": len(printed), "stated": asked.stated, "other": asked.other, "off": [stated, other]})]
    if beaten:
        notes.append(("beats", {"lowest": lowest, "unit": asked.stated, "beaten": beaten}))
    rows = [
        {"form": "unit", "experiment": of.name, "label": of.title, "n": {of.name: len(of.finished)}, "interval": None,
         "estimate": ours[name], "paper": value}
        for of, (name, value) in zip(map(runs.get, printed), printed.items(), strict=True)
    ]  # fmt: skip
    return Decision(verdict, rows, f"means in {asked.stated}", abs(stated) < abs(other), notes=tuple(notes))
