"""Whether a paper's entropies can be in the unit that it states, judged by what the same models get here."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from reprise.config.claims import Claim, UnitQuestion
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.verdicts import AGREES, DISAGREES, OPEN, Covered, Decision, Table, everything
from reprise.units import convert

CLEAR = 2.0
"""A unit fits if the numbers are off by less than half as much (in logarithms) as under the other."""


def distance(printed: Mapping[str, float], ours: Mapping[str, float]) -> float:
    """Mean logarithm of ours over printed, of the same models in one unit: 0 where they agree."""
    return float(np.mean([math.log(ours[name] / printed[name]) for name in printed]))


def part(asked: UnitQuestion, name: str) -> set[str]:
    """What one model's number is judged by: its own runs, and those of the model that says what is ordinary."""
    return {name, *filter(None, (asked.reference,))}


def decide(claim: Claim, table: Table, covered: Covered = everything) -> Decision:
    """The decision on a unit: the printed numbers, read in either, against ours in the same.

    `covered` says which experiments are looked at.
    """
    asked, quantity, runs = claim.unit, (claim.metric, claim.split), table.runs
    printed, ours, otherwise = {}, {}, {}
    for name in (name for name in asked.experiments if covered(part(asked, name))):
        value, found = runs[name].reported(quantity), in_unit(runs[name], quantity, asked.stated)
        if value is not None and found is not None:
            printed[name], ours[name] = value, found
            otherwise[name] = in_unit(runs[name], quantity, asked.other)
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
    if asked.reference and (reference := in_unit(runs[asked.reference], quantity, asked.stated) or 0.0) > lowest:
        beaten[f"our {runs[asked.reference].title}"] = reference
    notes = [("unit", {"models": len(printed), "stated": asked.stated, "other": asked.other, "off": [stated, other]})]
    if beaten:
        notes.append(("beats", {"lowest": lowest, "unit": asked.stated, "beaten": beaten}))
    rows = []
    for name, value in printed.items():
        row = {"form": "unit", "experiment": runs[name].name, "label": runs[name].title, "interval": None}
        n = {runs[name].name: len(runs[name].finished)}
        rows.append(row | {"estimate": ours[name], "n": n, "paper": value})
    return Decision(verdict, rows, f"means in {asked.stated}", abs(stated) < abs(other), notes=tuple(notes))


def in_unit(runs: Runs, quantity: Quantity, unit: str) -> float | None:
    """The mean over finished replicas, in another unit; None where there is none.

    Raises ValueError where it takes the number of characters and the record does not count them.
    """
    found = []
    for r in (replica for replica in runs.finished if quantity in replica.metrics):
        characters = r.metrics.get(("predicted_characters", quantity[1]))
        found.append(convert(r.metrics[quantity], r.units[quantity], unit, r.sizes.get(quantity), characters))
    return float(np.mean(found)) if found else None
