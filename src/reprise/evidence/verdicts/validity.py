"""Validity first: a model that did not learn its task says nothing of how well its kind does it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reprise.config.claims import Claim
from reprise.evidence.runs import Runs


def unlearned(claim: Claim, runs: Mapping[str, Runs], names: Iterable[str]) -> list[str]:
    """The experiments whose mean does not lie above the chance level that the claim states; none where it states none.

    An experiment without the metric is not known to have learned.
    """
    rule = claim.learned
    if rule is None:
        return []
    asked = [name for name in names if not rule.experiments or name in rule.experiments]
    levels = {name: runs[name].mean((rule.metric, rule.split)) for name in asked}
    return [name for name, level in levels.items() if level is None or level <= rule.above]
