"""Whether printed entropies can be in the unit that a paper states: judged by the models that were run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from claims_helpers import QUANTITY, claim, decide, runs

from reprise.evidence import decide as decisions
from reprise.evidence.decide import experiments_of, parts_of
from reprise.evidence.verdicts import INCONCLUSIVE, NOT, NOT_RUN, REPRODUCED


def unit_claim(**more):
    asked = {"stated": "bits/character", "other": "nats/character", "experiments": ["a", "b"], "reference": "c", **more}
    return claim("unit", unit=asked)


@pytest.mark.parametrize(
    ("ours", "verdict"), [((1.61, 1.84), NOT), ((1.13, 1.26), REPRODUCED), ((1.35, 1.52), INCONCLUSIVE)]
)
def test_the_unit_that_fits_the_printed_numbers(ours, verdict):
    a, b = (runs(n, [x], paper=p, unit="bits/character") for n, x, p in zip("ab", ours, (1.12, 1.27), strict=True))
    assert decide(unit_claim(), a, b, runs("c", [1.572], unit="bits/character")).verdict == verdict


def test_a_unit_per_token_is_told_from_one_per_character():
    """Words of five characters: 6 nats each are 1.2 nats per character, which is what is printed."""
    there = [
        runs(n, [x], paper=p, unit="nats/token", more={("predicted_characters", "test"): [500.0]})
        for n, x, p in zip("abc", (6.0, 7.0, 8.0), (1.2, 1.4, None), strict=True)
    ]
    there = [replace(r, replicas=[replace(one, sizes={QUANTITY: 100}) for one in r.replicas]) for r in there]
    assert decide(unit_claim(stated="nats/token", other="nats/character"), *there).verdict == NOT
    assert decide(unit_claim(stated="nats/character", other="nats/token"), *there).verdict == REPRODUCED


def test_a_unit_is_judged_by_the_models_that_were_run():
    a, c = (runs(n, [x], paper=p, unit="bits/character") for n, x, p in (("a", 1.61, 1.12), ("c", 1.572, None)))
    b = runs("b", [], paper=1.27)
    found = decide(unit_claim(), a, b, c)
    assert found.verdict == NOT
    assert found.sentence.startswith("Over 1 model ours are ")
    assert found.sentence.endswith(" Not trained yet: B.")
    assert decide(unit_claim(), runs("a", []), b, c).verdict == NOT_RUN
    # Without the reference, or without what an alternative changes, it waits.
    assert decide(unit_claim(), a, b, runs("c", [])).verdict == NOT_RUN
    everyone = {r.name: r for r in (a, b, c)}
    assert decisions.decide(unit_claim(), {**everyone, "b": runs("b@x=y", [])}, everyone).verdict == NOT_RUN
    assert decisions.decide(unit_claim(), {**everyone, "c": c}, everyone).verdict == NOT


def test_another_reference_is_another_look_at_every_model():
    claim = unit_claim()
    assert experiments_of(claim) == ["a", "b", "c"]
    assert parts_of(claim) == [{"a", "c"}, {"b", "c"}]


def test_an_implausible_unit_is_shown_with_the_computation():
    published = {"value": 1.19, "what": "a far larger model", "source": "2017"}
    a, b = (runs(n, [x], paper=p, unit="nats/character") for n, x, p in (("a", 1.12, 1.12), ("b", 1.27, 1.27)))
    found = decide(unit_claim(published=published), a, b, runs("c", [1.572], unit="bits/character"))
    assert found.verdict == NOT
    # A nat is 1.4427 bits.
    assert found.sentence == (
        "Over 2 models ours are 44.3 % higher than the paper's read as bits per character, 0 % lower read as nats per "
        "character. As bits per character its 1.12 would beat 1.19 of a far larger model (2017) and by 28.8 % the "
        "1.572 of our C."
    )
    assert [part["paper"] for part in found.parts] == [1.12, 1.27]
