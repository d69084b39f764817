"""Show answers where people look at numbers: beside the experiments they rest on, and under alternative settings."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from reprise.config.claims import Bound, Claim
from reprise.config.schema import Paper
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import Alternative, Decision
from reprise.evidence.verdicts import ANSWERS, JUDGED, UNDECIDED
from reprise.report.parts.context import Context, Status
from reprise.report.parts.rounding import DASH, format_number, format_percent
from reprise.report.parts.tables import Column, Table

_ALTERNATIVE_NOTE = "Claims of a row with an alternative setting show their answers under that setting."
MetricPatterns = Callable[[Mapping[str, Any]], Collection[str]]
"""Lists the metrics that a row shows, as patterns of "<metric> <split>"; none if no claim is about the row."""


def list_decisions(context: Context) -> list[tuple[str, Decision]]:
    """List the decisions on claims, in the order of the paper's file."""
    return [(key, context.claims[key]) for key in context.paper.claims if key in context.claims]


def summarise_claims(
    context: Context, names: Iterable[str], patterns: Collection[str], only: Collection[str] = ()
) -> str:
    """Write the claims that rest on experiments or variants: "agrees: R1; not run: R4, R20"; "" without any.

    Args:
        context: The paper.
        names: The experiments or variants.
        patterns: Patterns of "<metric> <split>"; claims about other metrics are left out. A point of a curve is
            "<metric>@<x> <split>".
        only: Claims to keep; all if empty.
    """
    keys: dict[str, dict[str, None]] = {}
    for name in names:
        experiment, _, alternative = name.partition("@")
        for key, claim in list_decisions(context):
            verdict = claim.alternatives.get(alternative) if alternative else claim
            is_relevant = verdict and experiment in verdict.experiments and (key in only or not only)
            if is_relevant and _is_about(context.paper.claims[key], experiment, patterns):
                keys.setdefault(verdict.answer, {})[key] = None
    return "; ".join(f"{answer}: {', '.join(keys[answer])}" for answer in ANSWERS if answer in keys)


def _is_about(claim: Claim, experiment: str, patterns: Collection[str]) -> bool:
    """Return whether a claim compares one of these metrics of the experiment; an identity compares none and is kept."""
    terms = list_terms(claim)
    quantities = {" ".join(map(str, term.quantity)) for term in terms if term.experiment == experiment}
    return any(fnmatchcase(quantity, pattern) for quantity in quantities for pattern in patterns) or not (
        terms or not patterns
    )


def add_claims_column(
    context: Context, table: Table, find_patterns: MetricPatterns, only: Collection[str] = ()
) -> Table:
    """Add a last column with the claims that rest on a row's experiment and metrics.

    A row names one experiment, or several in a tuple; "<paper>/<experiment>" is one of another paper. The table stays
    as it is if no claim is about any row.

    Args:
        context: The paper.
        table: The table.
        find_patterns: Lists the metrics of a row.
        only: Claims to keep; all if empty.
    """
    claims, has_alternatives = [], False
    for row in table.rows.to_dict("records"):
        names = row["experiment"] if isinstance(row["experiment"], tuple) else (row["experiment"],)
        owning_context = context.papers.get(names[0].rpartition("/")[0], context)
        claims.append(
            summarise_claims(owning_context, [name.rpartition("/")[2] for name in names], find_patterns(row), only)
        )
        has_alternatives |= bool(claims[-1]) and any("@" in name for name in names)
    if not any(claims):
        return table
    columns = [*table.columns, Column("Claims", lambda row: row["claims"] or DASH, is_text=True)]
    notes = [*table.notes, _ALTERNATIVE_NOTE] if has_alternatives else table.notes
    return replace(table, columns=columns, rows=table.rows.assign(claims=claims), notes=notes)


def is_judged(alternative: Alternative) -> bool:
    """Return whether a claim was judged under an alternative, and the same comparisons as chosen."""
    return alternative.holds is not None and {alternative.answer, alternative.before} <= JUDGED


def is_changed(alternative: Alternative) -> bool:
    """Return whether the answer, or the side of an undecided estimate, is not the one as chosen."""
    return alternative.flips or alternative.answer != alternative.before


def has_comparisons(alternative: Alternative) -> bool:
    """Return whether an alternative applies to some comparisons of a claim, run or not."""
    return alternative.comparisons_judged > 0


def format_coverage(alternative: Alternative) -> str:
    """Write " (2 of 4 comparisons)" if an alternative judges a part of a claim; "" if it judges all."""
    judged, total = alternative.comparisons_judged, alternative.of
    return f" ({judged} of {total} comparisons)" if judged < total else ""


def summarise_changes(alternatives: Iterable[tuple[str, Alternative]]) -> str:
    """Write the answers as chosen and under an alternative: "L1: undecided → agrees; U2: no change".

    A reversed estimate and a newly decided answer come first, then other changes. Answers not run yet come last, with
    claims that the alternative was not planned for ("not part of the alternative"). A claim that the alternative cannot
    touch has "the same numbers".
    """
    keys: dict[tuple[int, str], list[str]] = {}
    for key, alternative in alternatives:
        keys.setdefault(_describe_outcome(alternative), []).append(key)
    outcomes = sorted(keys, key=lambda outcome: outcome[0])
    return "; ".join(f"{', '.join(keys[place, text])}: {text}" for place, text in outcomes)


def _describe_outcome(alternative: Alternative) -> tuple[int, str]:
    """Return what an alternative does to an answer, after its place in the order of `summarise_changes`."""
    if not has_comparisons(alternative):
        return 4, "not part of the alternative"
    if not is_judged(alternative):
        return 3, alternative.answer
    coverage = format_coverage(alternative)
    if not is_changed(alternative):
        return 2, f"no change{coverage}{' (the same numbers)' if alternative.same else ''}"
    answers = dict.fromkeys([alternative.before, alternative.answer])
    side = ""
    if alternative.answer == UNDECIDED:
        side = f", estimate {'on the claim’s side' if alternative.holds else 'against the claim'}"
    return 0 if alternative.flips else 1, f"{' → '.join(answers)}{side}{coverage}"


@dataclass(frozen=True)
class AlternativeResult:
    """Hold one alternative of an assumption, its replicas, and every claim that can be judged under it.

    Attributes:
        suffix: The suffix of its variants, "schedule=rnnlm".
        status: The replicas of its variants.
        claims: Its entry under `alternatives` in claims.json, by claim.
        has_variants: Whether it is trained; false for another metric of the same records.
    """

    suffix: str
    status: Status
    claims: Mapping[str, Alternative]
    has_variants: bool = True

    @property
    def judged_claims(self) -> dict[str, Alternative]:
        """Return the claims that were judged under it."""
        return {key: entry for key, entry in self.claims.items() if is_judged(entry)}

    @property
    def changed_claims(self) -> dict[str, Alternative]:
        """Return the claims whose answer or side it changes."""
        return {key: entry for key, entry in self.judged_claims.items() if is_changed(entry)}

    @property
    def has_runs(self) -> bool:
        """Return whether it has training runs; without variants, whether a claim is judged under it."""
        return bool(self.status.recorded if self.has_variants else self.judged_claims)

    @property
    def state(self) -> str:
        """Describe it: "not trained yet", "trained: no claim changes", "trained: U1: agrees → disagrees"."""
        if self.has_variants and not self.status.recorded:
            return self.status.missing_reason
        trained = (
            f"{self.status.recorded} of {self.status.planned} replicas trained" if self.status.missing else "trained"
        )
        changes = summarise_changes(self.changed_claims.items()) or (
            f"no claim changes (of {', '.join(self.judged_claims)})" if self.judged_claims else ""
        )
        return f"{trained if self.has_variants else 'from the same records'}: {changes or 'no claim judged'}"


def list_alternative_results(context: Context) -> list[AlternativeResult]:
    """List every alternative of the paper's assumptions, in the order of its file."""
    results = []
    for assumption, alternative, choice in context.paper.list_choices():
        suffix = f"{assumption}={alternative}"
        status = context.sum_status(f"{name}@{suffix}" for name in choice.experiments)
        claims = {
            key: decision.alternatives[suffix]
            for key, decision in list_decisions(context)
            if suffix in decision.alternatives
        }
        results.append(AlternativeResult(suffix, status, claims, has_variants=not choice.metrics))
    return results


def name_alternative(paper: Paper, suffix: str) -> str:
    """Name an alternative setting: "with Mikolov's schedule"; by default its assumption's title and its name."""
    assumption, _, alternative = suffix.partition("=")
    entry = paper.assumptions[assumption]
    name = re.sub(r"(\d)-(\d)", r"\1.\2", alternative).replace("-", " ")  # "rho-0-99": "rho 0.99"
    return entry.alternatives[alternative].words or f"{entry.title}: {name}"


def list_decision_rules(claim: Claim, decision: Decision | None) -> list[tuple[str, str]]:
    """List what decides a claim, by name: kind, bound or margin, method, criterion, and later changes."""
    kind = claim.kind or ("identity" if claim.checks else "")
    bound = ""
    if claim.share:
        bound = f"replicas that reach {format_number(claim.share.reaches)}: {_format_bound(claim.share)}"
    if claim.level:
        bound = f"mean {_format_bound(claim.level)}"
    margin = ""
    if claim.margin:
        is_relative = claim.margin.measure in ("relative", "share-of-gain")
        value = format_percent(claim.margin.value) if is_relative else format_number(claim.margin.value)
        suffix = " of the gain" if claim.margin.measure == "share-of-gain" else ""
        margin = f"{value}{suffix} ({claim.margin.origin})"
    texts = {
        "Kind": kind,
        "Bound": bound,
        "Margin": margin,
        "Method": (decision.method if decision else None) or "",
        f"Answer by {name_own_sds_test(decision)}": (decision.own_sds if decision else None) or "",
        "Criterion": claim.criterion or "",
        "Set when the numbers were known (*)": claim.afterwards or "",
        "The paper contradicts itself": claim.contradicted_by or "",
    }
    rules = [(name, text) for name, text in texts.items() if text]
    for former in claim.was:
        rules += [("Former criterion", former.criterion), ("Its answer", former.answer)]
        rules.append(("Replaced because", former.why))
    return [(name, " ".join(text.split())) for name, text in rules]


def name_own_sds_test(decision: Decision | None) -> str:
    """Name the test for which families lend no SD."""
    return "its own folds alone" if decision and decision.counts == "folds" else "Welch's test"


def _format_bound(bound: Bound) -> str:
    """Write a bound: "= 1", "≥ 50", "0.1 to 0.2"."""
    if (equal := getattr(bound, "equals", None)) is not None:
        return f"= {format_number(equal)}"
    if None not in (bound.at_least, bound.at_most):
        return f"{format_number(bound.at_least)} to {format_number(bound.at_most)}"
    return f"≥ {format_number(bound.at_least)}" if bound.at_least is not None else f"≤ {format_number(bound.at_most)}"
