"""Claims about means: superiority, non-inferiority, equivalence, orderings, gaps, trends and levels."""

from collections.abc import Iterable, Mapping, Sequence, Set

from reprise.config.claims import Claim, Learned
from reprise.evidence import verdicts
from reprise.evidence.contrasts import Contrast, Hypothesis, Term, list_hypotheses
from reprise.evidence.decisions import (
    Curvature,
    Difference,
    Estimated,
    Gap,
    Level,
    Listed,
    Lost,
    Note,
    Nothing,
    Rise,
    Trend,
    Unequal,
    Unlearned,
    Verdict,
)
from reprise.evidence.decisions import Term as Mean
from reprise.evidence.estimation import HypothesisEstimate, estimate_contrast, estimate_hypothesis
from reprise.evidence.runs import Runs, Table
from reprise.evidence.statistics import count_replicas_needed
from reprise.evidence.verdicts import Part
from reprise.units import is_lower_better, is_ratio_scale

METHODS = {
    "seeds": "independent seeds, variances moderated after Smyth, degrees of freedom after Satterthwaite",
    "folds": (
        "paired by fold; variance of the folds or of the family, whichever has more degrees of freedom "
        "(Nadeau and Bengio)"
    ),
    "fold": "one fold, variance borrowed from its family",
    "exact": "counted, without chance",
    "unknown": "one replica against one, with no SD to test by",
}
LEVELS = {"equivalence": 0.9}
"""The levels of shown intervals, 0.95 for other kinds. Two one-sided tests at 5 % match a 90 % interval."""
_UNEQUAL = 0.05
"""Below this p of Bartlett's test a note says that the variances of a family differ."""


def decide_means(claim: Claim, table: Table, tail: float | None = None) -> Verdict:
    """Decide a claim about means, at the level `tail`; by default that of the claim's kind."""
    runs = table.runs
    stated = [s for s in list_hypotheses(claim) if table.covered({term.experiment for _, term in s.effect.weights})]
    names = dict.fromkeys(term.experiment for s in stated for test in s.tests for _, term in test.weights)
    notes = _note_missing(stated, {name: runs[name] for name in names})
    parts = [estimate_hypothesis(hypothesis, table) for hypothesis in stated]
    if None in parts:
        return Verdict(answer=verdicts.UNDECIDED, notes=(*notes, Nothing()))
    not_learned = find_unlearned(claim.learned, runs, names)
    judged = [_judge_comparison(part, claim, table, set(not_learned)) for part in parts]
    counted = [part for part in judged if part]
    tail = tail or verdicts.choose_tail(claim.kind)
    if not_learned:
        notes.append(note_unlearned(claim.learned, runs, not_learned))
    if unknown := dict.fromkeys(name for part in parts for name in part.test.without_sd):
        notes.append(Listed(kind="unknown", titles=tuple(runs[name].title for name in unknown)))
    if (least_p := min((p for part in parts if (p := part.effect.bartlett_p) is not None), default=1.0)) < _UNEQUAL:
        notes.append(Unequal(p=least_p))
    answer = verdicts.choose_answer(counted, tail, lost=any(isinstance(note, Lost) for note in notes))
    if claim.trend and len(parts) == len(list_hypotheses(claim)) and (rise := _note_rise(claim, table)):
        notes.append(rise)
        answer = verdicts.UNDECIDED if answer == verdicts.AGREES else answer  # a slope does not see the rise
    return Verdict(
        answer=answer,
        comparisons=tuple(
            _make_comparison(part, own, claim, table, tail) for part, own in zip(parts, judged, strict=True)
        ),
        method=METHODS[_choose_method(parts)],
        holds=all(part.signed_estimate > 0 for part in counted) if counted else None,
        replicas=_forecast_replicas(parts, tail),
        notes=tuple(notes),
    )


def _choose_method(parts: Sequence[HypothesisEstimate]) -> str:
    """Return the key of `METHODS` by which all comparisons of a claim were made."""
    if all(part.test.estimate.error is None for part in parts):
        return "unknown"
    method = parts[0].effect.method
    has_one_fold = method == "folds" and all(max(part.effect.counts.values()) == 1 for part in parts)
    return "fold" if has_one_fold else method


def _note_missing(stated: Sequence[Hypothesis], experiments: Mapping[str, Runs]) -> list[Note]:
    """Note the replicas without a number by experiment: diverged ones, and finished ones that lack the metric."""
    # A margin may be a share of what a third experiment gives: the tests name it, the effect does not.
    terms = {term for hypothesis in stated for test in hypothesis.tests for _, term in test.weights}
    notes: dict[str, list[Note]] = {"diverged": [], "lacking": []}
    for name, runs in experiments.items():
        quantities = {term.quantity for term in terms if term.experiment == name}
        without = sum(not quantities <= r.metrics.keys() for r in runs.finished)
        for kind, lost, replicas in (("diverged", runs.diverged, runs.replicas), ("lacking", without, runs.finished)):
            notes[kind] += [Lost(kind=kind, title=runs.title, lost=lost, of=len(replicas))] if lost else []
    return [*notes["diverged"], *notes["lacking"]]


def find_unlearned(rule: Learned | None, runs: Mapping[str, Runs], names: Iterable[str]) -> list[str]:
    """Return the experiments whose mean is not better than the chance level of the rule, or that lack the metric."""
    levels = {name: runs[name].compute_mean((rule.metric, rule.split)) for name in names} if rule else {}
    return [name for name, level in levels.items() if level is None or not rule.is_shown_by(level)]


def note_unlearned(rule: Learned, runs: Mapping[str, Runs], names: Iterable[str]) -> Unlearned:
    """Make the note on experiments that did not learn."""
    return Unlearned(titles=tuple(runs[name].title for name in names), why=rule.why)


_DIRECTED = {"superiority", "ordering"}
"""Kinds of claims that say which of two models is better."""


def _check_learned_sides(
    part: HypothesisEstimate, claim: Claim, table: Table, not_learned: Set[str]
) -> tuple[bool, bool]:
    """Return whether the model that should be better did not learn, and whether the comparison can be judged at all.

    An equivalence or a non-inferiority needs both models to have learned.
    """
    terms = part.hypothesis.effect.weights
    failed = [(weight, term) for weight, term in terms if term.experiment in not_learned]
    if not failed:
        return False, True
    if len({term.experiment for _, term in terms}) == 1:
        return True, False
    if claim.kind not in _DIRECTED:
        return True, True
    return any(_is_better_side(weight, term, table) for weight, term in failed), True


def _is_better_side(weight: float, term: Term, table: Table) -> bool:
    """Return whether a claim says that this side of a comparison is the better one."""
    unit = table.runs[term.experiment].get_unit(term.quantity) or ""
    return (weight < 0) is is_lower_better(term.quantity[0], unit)


def _judge_comparison(part: HypothesisEstimate, claim: Claim, table: Table, not_learned: Set[str]) -> Part | None:
    """Return the test of a comparison; None for a comparison within one model that did not learn."""
    estimate, is_directed = part.test.estimate, claim.kind in _DIRECTED
    failed, judged = _check_learned_sides(part, claim, table, not_learned)
    if not judged:
        return None
    if failed and not is_directed:
        return Part(estimate.value, 1.0, 1.0, learned=False)
    if is_directed and abs(part.effect.estimate.value) < _compute_item_share(part, table):
        return Part(0.0, 1.0, 1.0, not failed)
    opposites = [test.estimate.compute_p_below() for test in part.tests]
    p_opposite = min(1.0, len(opposites) * min(opposites))
    return Part(estimate.value, 1.0 if failed else estimate.compute_p_above(), p_opposite, not failed)


def _compute_item_share(part: HypothesisEstimate, table: Table) -> float:
    """Return one item as a share of the test set: shares that differ by less count as equal. 0 for other metrics."""
    terms = [term for _, term in part.hypothesis.effect.weights]
    if len(terms) < 2:
        return 0.0
    quantities = [(table.runs[term.experiment], term.quantity) for term in terms]
    if any(runs.get_unit(quantity) != "share" for runs, quantity in quantities):
        return 0.0
    sizes = (max(r.sizes.get(quantity) or 0 for r in runs.finished) for runs, quantity in quantities)
    return min(1 / n if n else 0.0 for n in sizes)


def _forecast_replicas(parts: Sequence[HypothesisEstimate], tail: float) -> int | None:
    """Return the replicas of each experiment that make every comparison significant if the paper's numbers are true."""
    needed = []
    for part in parts:
        if part.effect.method == "exact" or None in part.paper_tests or not all(t.variances for t in part.tests):
            return None
        needed += [
            count_replicas_needed(effect, test.variances, test.fold_ratio, tail)
            for test, effect in zip(part.tests, part.paper_tests, strict=True)
        ]
    return None if not needed or None in needed else max(needed)


def _note_rise(claim: Claim, table: Table) -> Rise | None:
    """Note by how much the end of a sweep lies significantly above its lowest value; None if it does not."""
    terms = [Term(name, (claim.metric, claim.split)) for name in claim.trend.experiments]
    means = [table.runs[t.experiment].compute_mean(t.quantity) for t in terms]
    lowest = min(range(len(means)), key=means.__getitem__)
    if lowest == len(means) - 1:
        return None
    contrast = Contrast(((1.0, terms[-1]), (-1.0, terms[lowest])), log=is_ratio_scale(claim.metric))
    estimate = estimate_contrast(contrast, table).estimate
    if (interval := estimate.compute_interval(verdicts.LEVEL)) is None or interval[0] <= 0:
        return None
    return Rise(
        end=table.runs[terms[-1].experiment].title,
        lowest=table.runs[terms[lowest].experiment].title,
        by=estimate.value,
        interval=interval,
        scale="log" if contrast.log else "difference",
    )


def _make_comparison(
    part: HypothesisEstimate, judged: Part | None, claim: Claim, table: Table, tail: float
) -> Estimated:
    """Return the numbers of a comparison. The estimate has no margin, `p` has; both are in the claim's direction."""
    runs, effect, estimate = table.runs, part.hypothesis.effect, part.effect.estimate
    terms = [(weight, term, runs[term.experiment]) for weight, term in effect.weights]
    level = LEVELS.get(claim.kind, verdicts.LEVEL)
    fields = {
        "label": part.hypothesis.label,
        "n": {runs[name].name: count for name, count in part.effect.counts.items()},
        "counts": part.effect.method,
        "answer": verdicts.choose_answer([judged] if judged else [], tail),
        "p": judged.p_value if judged else None,
        "tail": tail,
        "terms": tuple(_make_mean(*term, mean) for term, mean in zip(terms, part.means, strict=True)),
        "scale": "log" if effect.log else "difference",
        "unit": _find_common_unit(experiment.get_unit(term.quantity) for _, term, experiment in terms),
        "estimate": estimate.value,
        "error": estimate.error,
        "interval": estimate.compute_interval(level),
        "level": level,
        "signed_estimate": judged.signed_estimate if judged else 0.0,
        "borrowed": tuple(runs[name].name for name in part.effect.borrowed),
        "bartlett_p": part.effect.bartlett_p,
        "paper_unit": _find_common_unit(
            experiment.get_reported_unit(term.quantity)
            for _, term, experiment in terms
            if experiment.get_reported(term.quantity) is not None
        ),
        **_compare_with_paper(part),
    }
    if len(terms) == 1:
        return Level(**fields, bound=-effect.offset * terms[0][0])
    if claim.curve:
        return Curvature(**fields)
    if claim.trend and len(terms) > 2:
        return Trend(**fields)
    return Gap(**fields) if claim.gaps else Difference(**fields)


def _compare_with_paper(part: HypothesisEstimate) -> dict[str, object]:
    """Return the paper's effect and, of a difference of uncertain means, how large ours is beside it."""
    paper = {"paper": part.paper, "paper_converted": part.paper_converted, "paper_band": part.paper_band}
    if len(part.means) == 1 or part.effect.method == "exact":
        return {**paper, "size": None, "ratio": None}
    estimate, paper_effect = part.effect.estimate, (part.paper_converted, part.paper_band)
    interval = estimate.compute_interval(verdicts.LEVEL)
    size, ratio = (
        verdicts.choose_size(interval, *paper_effect),
        verdicts.compute_ratio(estimate.value, interval, *paper_effect),
    )
    return {**paper, "size": size, "ratio": ratio}


def _make_mean(weight: float, term: Term, runs: Runs, mean: float) -> Mean:
    """Return one mean of a comparison, beside the paper's number."""
    return Mean(
        experiment=runs.name,
        title=runs.title,
        metric=term.quantity[0],
        split=term.quantity[1],
        weight=weight,
        mean=mean,
        unit=runs.get_unit(term.quantity),
        paper=runs.get_printed(term.quantity),
        paper_unit=runs.get_reported_unit(term.quantity),
    )


def _find_common_unit(units: Iterable[str | None]) -> str | None:
    """Return the unit of all terms; None where they differ, or where the paper's unit is ours."""
    distinct = set(units)
    return distinct.pop() if len(distinct) == 1 else None
