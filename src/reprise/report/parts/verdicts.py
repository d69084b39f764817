"""Answers where people look at numbers: next to the experiments they rest on, and under alternative settings."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from reprise.config.claims import Bound, Claim
from reprise.config.schema import Paper
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import Alternative, Decision
from reprise.evidence.verdicts import AGREES, ANSWERS, DISAGREES, JUDGED
from reprise.report.parts.context import Context, Status
from reprise.report.parts.rounding import NONE, number, percent
from reprise.report.parts.tables import Column, Table

_UNDER = "Claims of a row under an alternative setting have the answers that they get there."
About = Callable[[Mapping[str, Any]], Collection[str]]
"""The metrics that a row shows, as patterns of "<metric> <split>"; none where no claim can be about it."""


def in_order(context: Context) -> list[tuple[str, Decision]]:
    """Return what was found on each claim, in the order of the paper's file."""
    return [(key, context.claims[key]) for key in context.paper.claims if key in context.claims]


def of_experiments(context: Context, names: Iterable[str], about: Collection[str], only: Collection[str] = ()) -> str:
    """Write "agrees: R1; not run: R4, R20": the claims that rest on experiments or variants; "" without any.

    `about`: patterns of "<metric> <split>" (a point of a curve is "<metric>@<x> <split>"); claims about other metrics
    of the experiments are left out. `only`: these claims alone.
    """
    keys: dict[str, dict[str, None]] = {}
    for name in names:
        base, _, suffix = name.partition("@")
        for key, claim in in_order(context):
            judged = claim.alternatives.get(suffix) if suffix else claim
            wanted = judged and base in judged.experiments and (key in only or not only)
            if wanted and _is_about(context.paper.claims[key], base, about):
                keys.setdefault(judged.answer, {})[key] = None
    return "; ".join(f"{verdict}: {', '.join(keys[verdict])}" for verdict in ANSWERS if verdict in keys)


def _is_about(claim: Claim, experiment: str, about: Collection[str]) -> bool:
    """Whether a claim asks for one of these metrics of the experiment; an identity asks for none and is about all."""
    terms = list_terms(claim)
    asked = {" ".join(map(str, term.quantity)) for term in terms if term.experiment == experiment}
    return any(fnmatchcase(quantity, pattern) for quantity in asked for pattern in about) or not (terms or not about)


def add_claims(context: Context, table: Table, about: About, only: Collection[str] = ()) -> Table:
    """Add a last column of the claims that a row is about: they rest on its experiment and its metrics.

    A row names one experiment, or has a tuple of several; "<paper>/<experiment>" is one of another paper. `only`: these
    claims alone. The table as it is where no claim is about a row.
    """
    claims, under = [], False
    for row in table.rows.to_dict("records"):
        names = row["experiment"] if isinstance(row["experiment"], tuple) else (row["experiment"],)
        owner = context.papers.get(names[0].rpartition("/")[0], context)
        claims.append(of_experiments(owner, [name.rpartition("/")[2] for name in names], about(row), only))
        under |= bool(claims[-1]) and any("@" in name for name in names)
    if not any(claims):
        return table
    columns = [*table.columns, Column("Claims", lambda row: row["claims"] or NONE, words=True)]
    notes = [*table.notes, _UNDER] if under else table.notes
    return replace(table, columns=columns, rows=table.rows.assign(claims=claims), notes=notes)


def was_judged(alternative: Alternative) -> bool:
    """Whether a claim was judged under an alternative, and the same comparisons as chosen beside it."""
    return alternative.holds is not None and {alternative.answer, alternative.before} <= JUDGED


def is_looked_at(alternative: Alternative) -> bool:
    """Whether some of a claim's comparisons are to be judged under an alternative, run or not."""
    return alternative.comparisons_judged > 0


def part_of(alternative: Alternative) -> str:
    """Write " (2 of 4 comparisons)", where an alternative judges a part of a claim; "" where it is all."""
    looked_at, every = alternative.comparisons_judged, alternative.of
    return f" ({looked_at} of {every} comparisons)" if looked_at < every else ""


def turns(entries: Iterable[tuple[str, Alternative]]) -> str:
    """Write the answers as chosen and under an alternative: "L1: undecided → agrees; U2: same side".

    First stand those that it changes, last those that were not run under it yet and those that rest on the assumption,
    but were not to be trained under the alternative ("not looked at"). Claims that the alternative cannot touch, since
    nothing they compare depends on it, have "the same numbers".
    """
    keys: dict[tuple[int, str], list[str]] = {}
    for key, entry in entries:
        if not is_looked_at(entry):
            outcome = 3, "not looked at"
        elif not was_judged(entry):
            outcome = 2, entry.answer
        elif entry.flips:
            decided = f"{entry.before} → {entry.answer}" if entry.answer in {AGREES, DISAGREES} else ""
            outcome = 0, (decided or f"{'same' if entry.holds else 'other'} side") + part_of(entry)
        else:
            outcome = 1, f"no change{part_of(entry)}" + (" (the same numbers)" if entry.same else "")
        keys.setdefault(outcome, []).append(key)
    return "; ".join(
        f"{', '.join(keys[outcome])}: {outcome[1]}" for outcome in sorted(keys, key=lambda outcome: outcome[0])
    )


@dataclass(frozen=True)
class Outcome:
    """One alternative of one assumption, its variants' replicas, and every claim that can be judged under it.

    `suffix` is "schedule=rnnlm". `claims` holds of each its entry under `alternatives` in claims.json. Another choice
    of what is measured, which is taken of the same records, has no variants: `trains` is then false.
    """

    suffix: str
    status: Status
    claims: Mapping[str, Alternative]
    trains: bool = True

    @property
    def judged(self) -> dict[str, Alternative]:
        """The claims that were judged under it."""
        return {key: entry for key, entry in self.claims.items() if was_judged(entry)}

    @property
    def turned(self) -> dict[str, Alternative]:
        """The claims whose answer it changes."""
        return {key: entry for key, entry in self.judged.items() if entry.flips}

    @property
    def was_run(self) -> bool:
        """Whether it has training runs; of the same records, whether a claim is judged under it."""
        return bool(self.status.run if self.trains else self.judged)

    @property
    def state(self) -> str:
        """Such as "not trained yet", "trained: no claim changes", "trained: U1: other side"."""
        if self.trains and not self.status.run:
            return self.status.absence
        trained = f"{self.status.run} of {self.status.wanted} replicas trained" if self.status.missing else "trained"
        changes = turns(self.turned.items()) or (
            f"no claim changes (of {', '.join(self.judged)})" if self.judged else ""
        )
        return f"{trained if self.trains else 'from the same records'}: {changes or 'no claim judged'}"


def outcomes(context: Context) -> list[Outcome]:
    """Collect every alternative of the paper's assumptions, in the order of its file."""
    made = []
    for assumption, alternative, choice in context.paper.choices():
        suffix = f"{assumption}={alternative}"
        status = context.total(f"{name}@{suffix}" for name in choice.experiments)
        claims = {k: c.alternatives[suffix] for k, c in in_order(context) if suffix in c.alternatives}
        made.append(Outcome(suffix, status, claims, trains=not choice.metrics))
    return made


def setting_words(paper: Paper, suffix: str) -> str:
    """Name an alternative setting in words: "with Mikolov's schedule"; else its assumption's title and its name."""
    assumption, _, alternative = suffix.partition("=")
    entry = paper.assumptions[assumption]
    return entry.alternatives[alternative].words or f"{entry.title}: {alternative.replace('-', ' ')}"


def rule(claim: Claim, decision: Decision | None) -> list[tuple[str, str]]:
    """List what decides a claim, by name: its kind, bound or margin, method, criterion, and what was set afterwards."""
    kind = claim.kind or ("identity" if claim.checks else "")
    bound = ""
    if claim.share:
        bound = f"replicas that reach {number(claim.share.reaches)}: {_bound(claim.share)}"
    if claim.level:
        bound = f"mean {_bound(claim.level)}"
    margin = ""
    if claim.margin:
        relative = claim.margin.measure in ("relative", "share-of-gain")
        of = " of the gain" if claim.margin.measure == "share-of-gain" else ""
        margin = (
            f"{percent(claim.margin.value) if relative else number(claim.margin.value)}{of} ({claim.margin.origin})"
        )
    stated = {
        "Kind": kind,
        "Bound": bound,
        "Margin": margin,
        "Method": (decision.method if decision else None) or "",
        "Answer by Welch's test": (decision.welch if decision else None) or "",
        "Criterion": claim.criterion or "",
        "Set when the numbers were known (*)": claim.afterwards or "",
        "The paper contradicts itself": claim.contradicted_by or "",
    }
    named = [(name, text) for name, text in stated.items() if text]
    for former in claim.was:
        named += [("Former criterion", former.criterion), ("Its answer", former.answer)]
        named.append(("Replaced because", former.why))
    return [(name, " ".join(text.split())) for name, text in named]


def _bound(bound: Bound) -> str:
    """Write a bound: "= 1", "> 50 %", "0.1 to 0.2"."""
    if (exact := getattr(bound, "equals", None)) is not None:
        return f"= {number(exact)}"
    if None not in (bound.at_least, bound.at_most):
        return f"{number(bound.at_least)} to {number(bound.at_most)}"
    return f"≥ {number(bound.at_least)}" if bound.at_least is not None else f"≤ {number(bound.at_most)}"
