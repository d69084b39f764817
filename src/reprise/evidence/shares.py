"""Claims about how many replicas get somewhere: "reaches 100 %" as a statement about the share that does."""

from __future__ import annotations

from collections.abc import Mapping

from reprise.config.claims import Claim
from reprise.evidence.runs import Runs
from reprise.evidence.sentences import diverged
from reprise.evidence.statistics import binomial, clopper_pearson, replicas_for_share
from reprise.evidence.verdicts import (
    DIRECTION,
    INCONCLUSIVE,
    TAIL,
    Covered,
    Decision,
    Part,
    established,
    everything,
    judge,
    to_decide,
)
from reprise.evidence.wording import listed, percent


def decide(claim: Claim, runs: Mapping[str, Runs], covered: Covered = everything) -> Decision | None:
    """The decision on a claim about shares: each experiment's share of replicas has to keep the bound.

    A replica counts where the metric, or a point of its curve of that name, is at least `reaches`; one that diverged
    counts by the curve that it left. `covered` says which experiments are looked at; None where it is none.
    """
    share, quantity = claim.share, (claim.metric, claim.split)
    floor = share.at_least is not None
    bound = share.at_least if floor else share.at_most
    parts, rows = [], []
    names = [name for name in share.experiments if covered({name})]
    for name in names:
        replicas = runs[name].replicas
        tops = [max(r.metrics.get(quantity, float("-inf")), r.best.get(quantity, float("-inf"))) for r in replicas]
        reached, n = sum(top >= share.reaches for top in tops), len(replicas)
        above, below = binomial(reached, n, bound)
        toward = (reached / n - bound) * (1 if floor else -1)
        error = (bound * (1 - bound) / n) ** 0.5
        parts.append(Part(toward, error, above if floor else below, below if floor else above))
        rows.append(
            {
                "experiment": runs[name].name,
                "label": runs[name].title,
                "reached": reached,
                "estimate": reached / n,
                "interval": clopper_pearson(reached, n),
                "level": 0.95,
                "p": parts[-1].p_for,
                "n": {runs[name].name: n},
                "paper": None,
            }
        )
    if not parts:
        return None
    verdict = judge(claim.kind, parts)
    held = established(parts, TAIL)
    left = [(part, row["estimate"]) for part, row, holds in zip(parts, rows, held, strict=True) if not holds]
    would_do = None
    if left and verdict in {DIRECTION, INCONCLUSIVE}:
        would_do = to_decide(
            left,
            lambda entry: entry[0].toward > 0,
            lambda entry, tail: replicas_for_share(entry[1], bound, tail),
            TAIL,
            len(parts),
        )
    counts = listed([f"{row['reached']} of {row['n'][row['experiment']]} ({row['label']})" for row in rows])
    asked = f"{'more' if floor else 'fewer'} than {percent(bound)} asked"
    sentence = f"Reached by {counts} replicas; {asked}."
    if len(rows) == 1:
        low, high = rows[0]["interval"]
        sentence = f"Reached by {counts} replicas, 95 % interval {percent(low)} to {percent(high)}; {asked}."
    lost = diverged([runs[name] for name in names], "counted by what they reached before")
    if verdict not in {DIRECTION, INCONCLUSIVE}:
        return Decision(verdict, f"{sentence}{lost}", "binomial test", rows)
    end = "More than 1,000 replicas would be needed."
    if would_do:
        end = f"About {would_do} replicas would decide it if the true share is the one found."
    return Decision(verdict, f"{sentence}{lost} {end}", "binomial test", rows, would_do)
