"""A claim has to be of one piece: a statistic that fits its kind, and names that lead somewhere."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from reprise.config.claims import Claim, Term
from reprise.config.formula import evaluate, names_in, read_printed
from reprise.config.schema import Paper
from reprise.errors import UserError, known

STATISTICS = {
    "superiority": ("compare", "gaps"),
    "non-inferiority": ("compare",),
    "equivalence": ("equal", "optimum"),
    "ordering": ("order", "gaps", "trend", "ranks"),
    "identity": ("checks",),
    "threshold": ("share", "level"),
    "unit": ("unit",),
    "descriptive": (),
}
"""Which statistics can decide a claim of each kind."""
_COUNTED = ("share", "level", "unit", "trend", "ranks")
_GROUPS = ("order", *_COUNTED)
_MARGIN = {"superiority": "may", "non-inferiority": "must", "equivalence": "must"}


def check_claims(paper: Paper, file: str) -> None:
    """Raises `UserError` at the first claim that cannot be decided as it is written."""
    for key, claim in paper.claims.items():
        where = f"{file}: key claims.{key}"
        _check_statistic(claim, where)
        _check_numbers(claim, where)
        _check_names(claim, paper, where)
        _check_sides(claim, where)


def _check_statistic(claim: Claim, where: str) -> None:
    every = dict.fromkeys(name for names in STATISTICS.values() for name in names)
    given = [name for name in every if getattr(claim, name)]
    if claim.reason and given:
        raise UserError(f"{where}.reason: says why records cannot decide it, beside '{given[0]}'; keep one of the two")
    if claim.kind is None:
        if any(name != "checks" for name in given):
            raise UserError(f"{where}.kind: missing; add one that takes '{given[0]}'")
        return
    fitting = STATISTICS[claim.kind]
    if not claim.reason:
        if not fitting:
            raise UserError(f"{where}.reason: missing; a claim of kind {claim.kind} says why records cannot decide it")
        if len(given) != 1 or given[0] not in fitting:
            found = ", ".join(given) or "none"
            raise UserError(
                f"{where}.kind: {claim.kind} is decided by one of {', '.join(fitting)}, not by {found}; fix either"
            )
    rule = _MARGIN.get(claim.kind, "no")
    if claim.margin and (rule == "no" or claim.gaps or claim.reason):
        raise UserError(f"{where}.margin: nothing here takes a margin; remove it")
    if rule == "must" and not claim.margin and not claim.reason:
        raise UserError(f"{where}.margin: missing; say what difference still counts as none, and why")
    if claim.optimum and len({len(sweep) for sweep in claim.optimum}) != 1:
        raise UserError(f"{where}.optimum: every sweep has as many places as the others, in the same order; fix it")


def _check_numbers(claim: Claim, where: str) -> None:
    """Bounds and margins have to be ones that records can keep to, and can fail to."""
    if claim.margin and (claim.margin.measure == "share-of-gain") != (claim.margin.over is not None):
        raise UserError(
            f"{where}.margin.over: names the model that a share of the gain is over, and nothing else; fix it"
        )
    if claim.margin and claim.margin.measure == "share-of-gain" and claim.kind != "non-inferiority":
        raise UserError(f"{where}.margin.is: a share of the gain is for non-inferiority alone; fix either")
    if not claim.short and len(claim.label) > 60:
        raise UserError(f"{where}.short: missing; say the claim in at most 60 characters")
    if claim.evidence == "arithmetic" and not claim.checks:
        raise UserError(f"{where}.evidence: arithmetic is what checks are; remove it")
    if claim.trend and (
        len(claim.trend.x) != len(claim.trend.experiments) or sorted(set(claim.trend.x)) != claim.trend.x
    ):
        raise UserError(f"{where}.trend.x: takes one value an experiment, ascending; fix it")
    if claim.trend and claim.trend.x[0] <= 0:
        raise UserError(f"{where}.trend.x: {claim.trend.x[0]:g} has no logarithm; write values above 0")
    if claim.margin and claim.margin.measure != "absolute" and claim.margin.value >= 1:
        value = claim.margin.value
        raise UserError(f"{where}.margin.value: {value:g} is {100 * value:g} %; write 0.05 for 5 %")
    if (
        claim.share
        and [claim.share.at_least is None, claim.share.at_most is None, not claim.share.any].count(False) != 1
    ):
        raise UserError(f"{where}.share: takes one of at_least, at_most and any; fix it")
    if claim.level:
        low, high, exact = claim.level.at_least, claim.level.at_most, claim.level.equals
        if (exact is None) == (low is None and high is None):
            raise UserError(f"{where}.level: takes at_least, at_most or both, or equals alone; fix it")
        if low is not None and high is not None and low >= high:
            raise UserError(f"{where}.level: nothing is at least {low} and at most {high}; fix it")
    if claim.share and not claim.share.any and not 0 < (claim.share.at_least or claim.share.at_most or 0.0) < 1:
        raise UserError(f"{where}.share: the bound is a share between 0 and 1, neither of which can be told; fix it")
    if claim.share and (claim.metric or "").endswith("accuracy") and not 0 < claim.share.reaches <= 1:
        raise UserError(
            f"{where}.share.reaches: no accuracy separates runs at {claim.share.reaches:g}; write a share above 0"
        )


def _check_names(claim: Claim, paper: Paper, where: str) -> None:
    there = {*paper.experiments, *(name for name, *_ in paper.variants())}
    for key, side in claim.sides():
        term = side if isinstance(side, Term) else Term(experiment=side)
        _known(term.experiment, there, f"{where}.{key}")
        if paper.experiments[term.experiment.partition("@")[0]].check and not claim.level:
            raise UserError(f"{where}.{key}: '{term.experiment}' is a check; name a trained experiment")
        for part in ("metric", "split"):
            if not (getattr(term, part) or getattr(claim, part)):
                raise UserError(f"{where}.{part}: missing; say which {part} of the run records decides it")
    for key in ("checks", "corrections"):
        for name in getattr(claim, key):
            _known(name, paper.experiments, f"{where}.{key}")
            if not paper.experiments[name].check:
                raise UserError(f"{where}.{key}: '{name}' is no check; name an experiment that has one")
    for name in claim.learned.experiments if claim.learned else []:
        _known(name, paper.experiments, f"{where}.learned.experiments")
    if claim.margin:
        kind, _, name = claim.margin.origin.partition(" ")
        if kind in {"assumption", "deviation"}:
            _known(name, getattr(paper, f"{kind}s"), f"{where}.margin.from", kind)


def _check_sides(claim: Claim, where: str) -> None:
    """Nothing is compared with itself, and nothing counts twice: a side is an experiment with its metric and split."""
    seen: dict[str, list[tuple[str, str | None, str | None]]] = {}
    for key, side in claim.sides():
        term = side if isinstance(side, Term) else Term(experiment=side)
        name = (term.experiment, term.metric or claim.metric, term.split or claim.split)
        statistic, *_ = key.split(".")
        # The order is one group and so are lists of experiments; comparisons, pairs and sweeps are one each.
        if key == "margin.over":
            continue
        place = key.partition(".mean.")[0]
        one = key if key == "unit.reference" else statistic if statistic in _GROUPS else place.rpartition(".")[0]
        group = seen.setdefault(one, [])
        if name in group and statistic in _COUNTED:
            raise UserError(f"{where}.{key}: '{term.experiment}' stands twice; keep one of the two")
        if name in group:
            raise UserError(f"{where}.{one}: compares '{term.experiment}' with itself; name two")
        group.append(name)
    gaps = [group for key, group in seen.items() if key.startswith("gaps")]
    if any(one == other for one, other in pairwise(gaps)):
        raise UserError(f"{where}.gaps: compares a difference with itself; name two")


def _known(name: str, there: Iterable[str], where: str, what: str = "experiment") -> None:
    if name not in there:
        raise UserError(f"{where}: no {what} '{name}'; {known(name, there)}")


def check_arithmetic(paper: Paper, file: str) -> None:
    """Raises `UserError` at the first printed number whose formula cannot be worked out."""
    for key, entry in paper.arithmetic.items():
        where = f"{file}: key arithmetic.{key}"
        if (entry.printed is None) == (entry.equals is None):
            raise UserError(f"{where}: takes one of printed and equals; fix it")
        used: set[str] = set()
        for place in ("formula", "equals"):
            formula = getattr(entry, place)
            try:
                if formula is not None:
                    evaluate(formula, entry.values)
                    used |= names_in(formula)
            except ValueError as error:
                raise UserError(f"{where}.{place}: {error}; fix the formula or its values") from None
        for name in entry.values.keys() - used:
            raise UserError(f"{where}.values.{name}: no formula uses it; remove it, or fix its spelling")
        if entry.experiment:
            _known(entry.experiment, paper.experiments, f"{where}.experiment")
        if entry.printed is not None and read_printed(entry.printed) is None:
            raise UserError(f"{where}.printed: '{entry.printed}' is no number; write it as 3M, 82 %, 463,069 or 2.7")
        against = read_printed(entry.printed)[0] if entry.printed else evaluate(entry.equals, entry.values)
        if against == 0:
            place = "printed" if entry.printed else "equals"
            raise UserError(f"{where}.{place}: nothing is off from 0 by a share of it; leave the entry out")
