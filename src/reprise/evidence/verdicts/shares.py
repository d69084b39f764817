"""Claims about how many replicas get somewhere: "reaches 100 %" as a statement about the share that does."""

from __future__ import annotations

from reprise.config.claims import Claim
from reprise.evidence.statistics import binomial, clopper_pearson
from reprise.evidence.verdicts import LEVEL, Covered, Decision, Part, Table, direction, everything


def decide(claim: Claim, table: Table, covered: Covered = everything) -> Decision | None:
    """The decision on a claim about shares: each experiment's share of replicas has to keep the bound.

    A replica counts where the metric, or a point of its curve of that name, is at least `reaches`; one that diverged
    counts by the curve that it left. That some replica can is shown by one that does, and by no number of others
    refuted. None where `covered` leaves no experiment.
    """
    share, quantity = claim.share, (claim.metric, claim.split)
    parts, rows = [], []
    for name in (name for name in share.experiments if covered({name})):
        runs = table.runs[name]
        tops = [max(r.metrics.get(quantity, float("-inf")), r.best.get(quantity, float("-inf"))) for r in runs.replicas]
        reached, n = sum(top >= share.reaches for top in tops), len(tops)
        if share.any:
            parts.append(Part(reached - 0.5, 0.0 if reached else 1.0, 1.0))
        else:
            bound = share.at_most if share.at_least is None else share.at_least
            above, below = binomial(reached, n, bound)
            sign = 1 if share.at_least is not None else -1
            parts.append(Part(sign * (reached / n - bound), *((above, below) if sign > 0 else (below, above))))
        rows.append(
            {
                "form": "share",
                "experiment": runs.name,
                "label": runs.title,
                "reached": reached,
                "at_least": share.at_least,
                "at_most": share.at_most,
                "estimate": reached / n,
                "interval": clopper_pearson(reached, n, LEVEL),
                "level": LEVEL,
                "p": parts[-1].p_for,
                "n": {runs.name: n},
                "paper": None,
            }
        )
    if not parts:
        return None
    method = "counted" if share.any else "binomial test"
    return Decision(direction(parts), rows, method, all(part.toward > 0 for part in parts))
