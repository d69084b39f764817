"""Whether a paper's entropies can be in the unit that it states, judged by what the same models get here."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from reprise.config.claims import Claim, UnitQuestion
from reprise.evidence.runs import Quantity, Runs
from reprise.evidence.verdicts import INCONCLUSIVE, NOT, REPRODUCED, Covered, Decision, everything
from reprise.evidence.wording import number, percent, plural
from reprise.units import Unit, convert

CLEAR = 2.0
"""A unit fits if the numbers are off by less than half as much (in logarithms) as under the other."""
_WORDS = {unit: unit.replace("/", " per ") for unit in Unit.__args__}


def distance(printed: Mapping[str, float], ours: Mapping[str, float]) -> float:
    """Mean logarithm of ours over printed, of the same models in one unit: 0 where they agree."""
    return float(np.mean([math.log(ours[name] / printed[name]) for name in printed]))


def part(asked: UnitQuestion, name: str) -> set[str]:
    """What one model's number is judged by: its own runs, and those of the model that says what is ordinary."""
    return {name, *filter(None, (asked.reference,))}


def decide(claim: Claim, runs: Mapping[str, Runs], covered: Covered = everything) -> Decision | None:
    """The decision on a unit: the printed numbers, read in either, against ours in the same.

    `covered` says which experiments are looked at; None where it is none.
    """
    asked, quantity = claim.unit, (claim.metric, claim.split)
    printed, ours, ours_otherwise = {}, {}, {}
    names = [name for name in asked.experiments if covered(part(asked, name))]
    if not names:
        return None
    for name in names:
        value, found = runs[name].reported(quantity), in_unit(runs[name], quantity, asked.stated)
        if value is not None and found is not None:
            printed[name], ours[name] = value, found
            ours_otherwise[name] = in_unit(runs[name], quantity, asked.other)
    if not printed:
        return Decision(INCONCLUSIVE, "There is nothing to compare: no finished experiment has a number in the paper.")
    stated = distance(printed, ours)
    other = distance(printed, ours_otherwise)
    verdict = INCONCLUSIVE
    if abs(stated) * CLEAR < abs(other):
        verdict = REPRODUCED
    elif abs(other) * CLEAR < abs(stated):
        verdict = NOT
    sentence = f"Over {plural(len(printed), 'model')} ours are {_off(stated)} than the paper's read as "
    sentence += f"{_WORDS[asked.stated]}, {_off(other)} read as {_WORDS[asked.other]}."
    lowest = min(printed.values())
    beaten = []
    if asked.published and lowest < asked.published.value:
        beaten.append(f"{number(asked.published.value)} of {asked.published.what} ({asked.published.source})")
    reference = in_unit(runs[asked.reference], quantity, asked.stated) if asked.reference else None
    if reference is not None and lowest < reference:
        share = percent(1 - lowest / reference)
        beaten.append(f"by {share} the {number(reference)} of our {runs[asked.reference].title}")
    if beaten:
        sentence += f" As {_WORDS[asked.stated]} its {number(lowest)} would beat {' and '.join(beaten)}."
    rows = [
        {
            "experiment": runs[name].name,
            "label": runs[name].title,
            "estimate": ours[name],
            "interval": None,
            "n": {runs[name].name: len(runs[name].finished)},
            "paper": printed[name],
        }
        for name in printed
    ]
    return Decision(verdict, sentence, f"means in {_WORDS[asked.stated]}", rows)


def in_unit(runs: Runs, quantity: Quantity, unit: str) -> float | None:
    """The mean over finished replicas, in another unit; None where there is none.

    Raises ValueError where it takes the number of characters and the record does not count them.
    """
    found = []
    for r in (replica for replica in runs.finished if quantity in replica.metrics):
        characters = r.metrics.get(("predicted_characters", quantity[1]))
        found.append(convert(r.metrics[quantity], r.units[quantity], unit, r.sizes.get(quantity), characters))
    return float(np.mean(found)) if found else None


def _off(distance: float) -> str:
    return f"{percent(abs(math.expm1(distance)))} {'higher' if distance > 0 else 'lower'}"
