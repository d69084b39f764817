"""Claims that are not about means alone: identities, shares of replicas, ranks, optima of several sweeps, and units."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from reprise.config.claims import Claim, Comparison, UnitQuestion
from reprise.errors import UserError
from reprise.evidence import verdicts
from reprise.evidence.decisions import Beats, Error, Listed, Lost, Nothing, Ranks, Share, Unit, Units, Verdict
from reprise.evidence.runs import Quantity, Runs, Table
from reprise.evidence.statistics import (
    compute_binomial_p,
    compute_clopper_pearson_interval,
    compute_mean,
    compute_rank_sum_p,
)
from reprise.evidence.verdicts import AGREES, COUNTED, DISAGREES, NOT_JUDGED, UNDECIDED, Part
from reprise.evidence.verdicts.means import decide_means
from reprise.units import is_lower_better


def decide_checks(claim: Claim, table: Table) -> Verdict:
    """Compare the error of each check with its tolerance; errors of a corrected formula decide nothing."""
    is_quantity = claim.evidence == COUNTED
    by_check = [_list_errors(table.runs[name], is_quantity=is_quantity) for name in claim.checks]
    if not all(by_check):  # nothing computed is nothing shown
        return Verdict(answer=UNDECIDED, notes=(Nothing(),))
    errors = [error for listed in by_check for error in listed]
    corrected = [error for name in claim.corrections for error in _list_errors(table.runs[name], corrected=True)]
    held = all(error.held for error in errors)
    answer = AGREES if held else DISAGREES
    return Verdict(answer=answer, comparisons=(*errors, *corrected), method="computed error", holds=held)


def _list_errors(runs: Runs, corrected: bool = False, is_quantity: bool = False) -> list[Error]:
    tolerance = runs.resolved.config["tolerance"]
    return [
        Error(
            label=split,
            n={runs.name: 1},
            counts="exact",
            answer=AGREES if value <= tolerance else DISAGREES,
            experiment=runs.name,
            estimate=value,
            tolerance=tolerance,
            held=value <= tolerance,
            corrected=corrected,
            is_quantity=is_quantity,
        )
        for replica in runs.replicas
        for (metric, split), value in replica.metrics.items()
        if metric == "max_error"
    ]


def decide_shares(claim: Claim, table: Table) -> Verdict:
    """Test the share of replicas of each experiment that reach a number.

    A replica reaches it if the metric, or a point of its curve, is at least `reaches`. A diverged replica counts by its
    curve.
    """
    share, quantity = claim.share, (claim.metric, claim.split)
    parts, rows = [], []
    for runs in (table.runs[name] for name in share.experiments if table.covered({name})):
        tops = [max(r.metrics.get(quantity, -math.inf), r.best.get(quantity, -math.inf)) for r in runs.replicas]
        reached, n = sum(top >= share.reaches for top in tops), len(tops)
        if share.at_least is not None:
            parts.append(Part(reached / n - share.at_least, *compute_binomial_p(reached, n, share.at_least)))
        else:
            parts.append(Part(share.at_most - reached / n, *reversed(compute_binomial_p(reached, n, share.at_most))))
        rows.append(
            Share(
                label=runs.title,
                n={runs.name: n},
                counts="seeds",
                answer=verdicts.choose_answer(parts[-1:]),
                p=parts[-1].p_value,
                tail=verdicts.TAIL,
                experiment=runs.name,
                reached=reached,
                at_least=share.at_least,
                at_most=share.at_most,
                estimate=reached / n,
                interval=compute_clopper_pearson_interval(reached, n, verdicts.LEVEL),
                level=verdicts.LEVEL,
            )
        )
    holds = all(part.signed_estimate > 0 for part in parts)
    return Verdict(answer=verdicts.choose_answer(parts), comparisons=tuple(rows), method="binomial test", holds=holds)


def decide_ranks(claim: Claim, table: Table) -> Verdict:
    """Test the replicas of `higher` against those of each of `lower` by exact rank tests; a diverged one ranks last.

    All pairs have to hold, so the largest p decides.
    """
    high, quantity = table.runs[claim.ranks.higher], (claim.metric, claim.split)
    lows = [table.runs[name] for name in claim.ranks.lower if table.covered({claim.ranks.higher, name})]
    unit = next(filter(None, (runs.get_unit(quantity) for runs in (high, *lows))), "")
    last = math.inf if is_lower_better(quantity[0], unit) else -math.inf
    if not all(_list_values(runs, quantity, last) for runs in (high, *lows)):
        return Verdict(answer=UNDECIDED, notes=(Nothing(),))
    tests = [_test_ranks(high, low, quantity, last) for low in lows]
    parts = [part for part, _ in tests]
    notes = tuple(
        Lost(kind="lacking", title=runs.title, lost=lacking, of=len(runs.finished))
        for runs in (high, *lows)
        if (lacking := sum(quantity not in replica.metrics for replica in runs.finished))
    )
    return Verdict(
        answer=verdicts.choose_answer(parts, lost=bool(notes)),
        comparisons=tuple(ranks for _, ranks in tests),
        method="exact rank-sum tests (Mann-Whitney)",
        holds=all(part.signed_estimate > 0 for part in parts),
        notes=notes,
    )


_FAR = 1e300
"""Stands for the infinite gap to a diverged median."""


def _test_ranks(high: Runs, low: Runs, quantity: Quantity, last: float) -> tuple[Part, Ranks]:
    """Test that the replicas of the first experiment lie above those of the second; diverged ones have `last`."""
    above, below = _list_values(high, quantity, last), _list_values(low, quantity, last)
    medians = median(above), median(below)
    gap = medians[0] - medians[1]  # NaN of two diverged medians
    signed_estimate = 0.0 if math.isnan(gap) else gap
    part = Part(signed_estimate, compute_rank_sum_p(above, below), compute_rank_sum_p(below, above))
    is_decidable = 1 / math.comb(len(above) + len(below), len(above)) <= verdicts.TAIL
    return part, Ranks(
        label=high.title,
        n={high.name: len(above), low.name: len(below)},
        counts="seeds",
        answer=verdicts.choose_answer([part]),
        p=part.p_value if is_decidable else None,
        tail=verdicts.TAIL,
        other=low.title,
        replicas=(len(above), len(below)),
        above=sum(value > max(below) for value in above),
        medians=tuple(value if math.isfinite(value) else None for value in medians),
        signed_estimate=min(max(signed_estimate, -_FAR), _FAR),
    )


def _list_values(runs: Runs, quantity: Quantity, last: float) -> list[float]:
    """List the numbers of all replicas, `last` where one diverged."""
    return [r.metrics[quantity] for r in runs.finished if quantity in r.metrics] + [last] * runs.diverged


def decide_optimum(claim: Claim, table: Table) -> Verdict:
    """Test that one value of the varied setting is optimal in all sweeps of `optimum`.

    A value is optimal if no other value of its sweep has a metric lower by more than the margin, in every sweep. The
    claim agrees if one value is significantly so, at the level divided by the number of values. The division is due
    because the best is chosen after its numbers are known. It disagrees if every value is refuted.
    """
    places, table = range(len(claim.optimum[0])), replace(table, covered=lambda names: True)
    claims = [_claim_optimum_at(claim, place) for place in places]
    verdicts_at = [decide_means(one, table, tail=verdicts.TAIL / len(places)) for one in claims]
    refuted = [decide_means(one, table).answer == DISAGREES for one in claims]
    chosen = min(places, key=lambda place: _rank_uncertainty(verdicts_at[place]))
    best = verdicts_at[chosen]
    if not best.comparisons:
        return best
    answer = AGREES if best.answer == AGREES else DISAGREES if all(refuted) else UNDECIDED
    if answer == UNDECIDED and best.answer == NOT_JUDGED:
        answer = NOT_JUDGED
    kind = "lowest" if all(one.estimate >= 0 for one in best.comparisons) else "best"
    place = Listed(kind=kind, titles=tuple(table.runs[sweep[chosen]].title for sweep in claim.optimum))
    return best.model_copy(update={"answer": answer, "notes": (place, *best.notes)})


def _claim_optimum_at(claim: Claim, place: int) -> Claim:
    """Return the claim that no other value of a sweep is lower than this one by more than the margin."""
    pairs = [(sweep[place], other) for sweep in claim.optimum for i, other in enumerate(sweep) if i != place]
    compare = [Comparison(lower=lower, higher=higher) for lower, higher in pairs]
    return claim.model_copy(update={"kind": "non-inferiority", "optimum": None, "compare": compare})


def _rank_uncertainty(verdict: Verdict) -> tuple[float, float]:
    """Return the largest p; without p, how much lower the metric is elsewhere."""
    least_sure = max((one.p for one in verdict.comparisons), default=math.inf)
    return least_sure, -min((one.estimate for one in verdict.comparisons), default=-math.inf)


CLEAR = 2.0
"""A unit fits if the mean log ratio is below half of that under the other unit."""


def is_clearly_closer(log_ratio: float, other: float) -> bool:
    """Return whether a unit fits, by the mean log ratios under it and under the other one."""
    return abs(log_ratio) * CLEAR < abs(other)


def compute_mean_log_ratio(printed: Mapping[str, float], ours: Mapping[str, float]) -> float:
    """Return the mean logarithm of ours over printed for the same models in one unit; 0 if they agree."""
    return compute_mean(math.log(ours[name] / printed[name]) for name in printed)


def list_unit_experiments(question: UnitQuestion, name: str) -> set[str]:
    """Return the experiments behind one model's number: its own and the reference model."""
    return {name, *filter(None, (question.reference,))}


def decide_unit(claim: Claim, table: Table) -> Verdict:
    """Decide whether the paper's entropies are in the unit that it states, by ours of the same models in both units."""
    question, quantity = claim.unit, (claim.metric, claim.split)
    printed, in_stated, in_other = {}, {}, {}
    for name in (name for name in question.experiments if table.covered(list_unit_experiments(question, name))):
        runs = table.runs[name]
        value, ours = runs.get_reported(quantity), _convert_mean(runs, quantity, question.stated)
        if value is not None and ours is not None:
            printed[name], in_stated[name] = value, ours
            in_other[name] = _convert_mean(runs, quantity, question.other)
    if not printed:
        return Verdict(answer=UNDECIDED, notes=(Nothing(),))
    stated, other = compute_mean_log_ratio(printed, in_stated), compute_mean_log_ratio(printed, in_other)
    answer = _choose_unit_answer(stated, other)
    notes = [Units(models=len(printed), stated=question.stated, other=question.other, off=(stated, other))]
    lowest = min(printed.values())
    if beaten := _find_beaten_models(question, quantity, table, lowest):
        notes.append(Beats(lowest=lowest, unit=question.stated, beaten=beaten))
    comparisons = [
        Unit(
            label=table.runs[name].title,
            n={name: len(table.runs[name].finished)},
            counts="folds" if table.runs[name].by_fold else "seeds",
            answer=answer,
            experiment=name,
            metric=claim.metric,
            split=claim.split,
            unit=question.stated,
            estimate=in_stated[name],
            paper=value,
        )
        for name, value in printed.items()
    ]
    return Verdict(
        answer=answer,
        comparisons=tuple(comparisons),
        method=f"means in {question.stated}",
        holds=abs(stated) < abs(other),
        notes=tuple(notes),
    )


def _convert_mean(runs: Runs, quantity: Quantity, unit: str) -> float | None:
    """Return the mean of an entropy in another unit; `UserError` where the records do not tell it."""
    try:
        return runs.compute_mean(quantity, unit)
    except ValueError as error:
        raise UserError(f"{runs.name}: {quantity[0]} has no number in {unit}: {error}; correct the claim") from None


def _choose_unit_answer(stated: float, other: float) -> str:
    """Return the answer by the mean log ratios under the stated unit and under the other one."""
    if is_clearly_closer(stated, other):
        return AGREES
    return DISAGREES if is_clearly_closer(other, stated) else UNDECIDED


def _find_beaten_models(question: UnitQuestion, quantity: Quantity, table: Table, lowest: float) -> dict[str, float]:
    """Return the published model and our reference where the lowest printed number, in the stated unit, beats them."""
    models = {}
    if question.published:
        models[question.published.what] = question.published.value
    if question.reference:
        reference = table.runs[question.reference]
        models[f"our {reference.title}"] = _convert_mean(reference, quantity, question.stated)
    return {name: value for name, value in models.items() if value is not None and value > lowest}
