"""How far the answers to many claims hang on how they are tested. Nothing here changes an answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from reprise.evidence.decisions import Decision
from reprise.evidence.verdicts import AGREES, DISAGREES, TAIL, TRAINED


@dataclass(frozen=True)
class Sensitivity:
    """Claims on trained models, by name.

    Attributes:
        agree: Those that agree.
        tested: The claims that a test decides, over which the two corrections are made.
        benjamini_hochberg: Agreements that remain where at most a share `TAIL` of all agreements may be false.
        holm: Agreements that remain where none of them may be false, at the level `TAIL`.
        own_sds: Every claim whose answer is another where families lend no SD, with that answer.
        afterwards: By answer, the claims whose criterion was set when its numbers were known.
    """

    agree: tuple[str, ...]
    tested: tuple[str, ...]
    benjamini_hochberg: tuple[str, ...]
    holm: tuple[str, ...]
    own_sds: Mapping[str, str]
    afterwards: Mapping[str, tuple[str, ...]]


def examine_sensitivity(decisions: Mapping[str, Decision]) -> Sensitivity:
    """Examine claims on trained models; those that no test decides are left out of the corrections."""
    from scipy import stats  # takes longer than most commands, so not above

    trained = {name: one for name, one in decisions.items() if one.evidence == TRAINED}
    tested = {name: one.weakest for name, one in trained.items() if one.weakest and one.weakest.p is not None}
    # Levels differ from kind to kind; a p value is held to its own.
    p = {name: min(1.0, one.p * TAIL / one.tail) for name, one in tested.items() if one.tail}
    adjusted = dict(zip(p, stats.false_discovery_control(list(p.values())) if p else (), strict=True))
    agree = tuple(name for name, one in trained.items() if one.answer == AGREES)
    return Sensitivity(
        agree=agree,
        tested=tuple(p),
        benjamini_hochberg=tuple(name for name in agree if adjusted.get(name, 1.0) <= TAIL),
        holm=tuple(name for name in agree if name in _accept_by_holm(p)),
        own_sds={name: one.own_sds for name, one in trained.items() if one.own_sds not in {None, one.answer}},
        afterwards={
            answer: tuple(name for name, one in trained.items() if one.answer == answer and one.afterwards)
            for answer in (AGREES, DISAGREES)
        },
    )


def _accept_by_holm(p: Mapping[str, float]) -> set[str]:
    """Return the names that Holm's procedure (1979) accepts: in order, until one is above its share of the level."""
    accepted = set()
    for i, name in enumerate(sorted(p, key=p.__getitem__)):
        if p[name] * (len(p) - i) > TAIL:
            break
        accepted.add(name)
    return accepted
