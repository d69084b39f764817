"""What is known of the alternatives of a paper's assumptions: how far they are trained, and what they turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprise.report import verdicts
from reprise.report.context import Context, Status
from reprise.report.rounding import plural


@dataclass(frozen=True)
class Outcome:
    """One alternative of one assumption: its variants' replicas, and every claim that can be judged under it.

    `claims` holds of each its entry under `alternatives` in claims.json: verdict, before, flips. Another choice of what
    is measured, which is taken of the same records, has no variants: `trains` is then false.
    """

    assumption: str
    alternative: str
    status: Status
    claims: Mapping[str, Mapping[str, Any]]
    trains: bool = True

    @property
    def suffix(self) -> str:
        return f"{self.assumption}={self.alternative}"

    @property
    def complete(self) -> bool:
        """Whether every replica that the tier asks for has run, or a claim was judged if none has to."""
        if not self.trains:
            return any(verdicts.was_judged(entry) for entry in self.claims.values())
        return bool(self.status.run) and not self.status.missing

    @property
    def state(self) -> str:
        """ "not trained yet", "trained: no verdict changes", "trained: U1: inconclusive → direction only"."""
        if self.trains and not self.status.run:
            return self.status.absence
        trained = "trained" if self.complete else f"{self.status.run} of {self.status.wanted} replicas trained"
        if not self.trains:
            trained = "from the same records"
        judged = {key: entry for key, entry in self.claims.items() if verdicts.was_judged(entry)}
        turned = [(key, entry) for key, entry in judged.items() if entry["flips"]]
        if turned:
            return f"{trained}: {verdicts.turns(turned)}"
        if judged:
            return f"{trained}: no verdict changes (of {', '.join(judged)})"
        asked = any(verdicts.is_looked_at(entry) for entry in self.claims.values())
        return f"{trained}: {'no verdict yet' if asked else 'no claim compares what it was run on'}"


def outcomes(context: Context) -> list[Outcome]:
    """Every alternative of the paper's assumptions, in the order of its file."""
    return [
        Outcome(
            assumption,
            alternative,
            context.total(f"{name}@{assumption}={alternative}" for name in choice.experiments),
            {
                key: claim["alternatives"][f"{assumption}={alternative}"]
                for key, claim in verdicts.in_order(context)
                if f"{assumption}={alternative}" in claim["alternatives"]
            },
            trains=not choice.metrics,
        )
        for assumption, entry in context.paper.assumptions.items()
        for alternative, choice in entry.alternatives.items()
    ]


def sentence(context: Context) -> str:
    """One sentence for the reader: how many alternatives were run, and which verdicts hang on a choice."""
    found = outcomes(context)
    if not found:
        return ""
    run = sum(outcome.complete for outcome in found)
    is_or_are = "is" if 1 in (run, len(found)) else "are"
    text = f"{run} of {plural(len(found), 'alternative')} of our choices {is_or_are} run"
    if part := sum(o.status.run > 0 and not o.complete for o in found):
        text += f", {part} in part"
    judged = {key for o in found for key, entry in o.claims.items() if verdicts.was_judged(entry)}
    turned = [(o, [(key, e) for key, e in o.claims.items() if e["flips"]]) for o in found]
    said = [f"under {outcome.suffix} ({verdicts.turns(entries)})" for outcome, entries in turned if entries]
    if not judged:
        return f"{text}, and no claim could be judged under one yet."
    count = len({key for _, entries in turned for key, _ in entries})
    if not said:
        return f"{text}; of the {plural(len(judged), 'claim')} judged under them no verdict changes."
    changes = "verdict changes" if count == 1 else "verdicts change"
    return f"{text}; of the {plural(len(judged), 'claim')} judged under them {count} {changes}: {'; '.join(said)}."
