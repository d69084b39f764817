"""Direction and size of every kind of claim, held to records whose answer is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from claims_helpers import add_metric, below, claim, curves, decide, gain, margin, runs, table
from scipy import stats

from reprise.evidence import verdicts
from reprise.evidence.decisions import Ratio, Rise, Unlearned
from reprise.evidence.verdicts import AGREES, DISAGREES, NO_DATA, NOT_JUDGED, NOT_RUN, NOT_TESTED, UNDECIDED, Part
from reprise.evidence.verdicts import decide as rules

LOW, HIGH = [10.0, 10.2, 9.8], [12.0, 12.2, 11.8]
A_BELOW_B = claim("superiority", compare=below("a", "b"))
TOGETHER = Part(1.0, 0.02, 0.98), Part(-1.0, 0.98, 0.02), Part(1.0, 0.2, 0.8), Part(1.0, 1.0, 0.98, learned=False)
TOGETHER += (Part(-1.0, 0.99, 0.01),)


@pytest.mark.parametrize(
    ("parts", "lost", "answer"),
    [
        # Establishing is not adjusted for several: each at its level (intersection-union); refuting is, after Holm.
        ([0, 0, 0, 0], False, AGREES),
        ([0, 0, 2], False, UNDECIDED),
        ([1], False, DISAGREES),
        ([1, 0], False, UNDECIDED),
        ([0, 0], True, UNDECIDED),
        ([1], True, UNDECIDED),
        ([0, 3], False, NOT_JUDGED),
        ([1, 3], False, NOT_JUDGED),
        ([4, 3], False, DISAGREES),
        ([], False, NOT_JUDGED),
        ([3], False, NOT_JUDGED),
    ],
)
def test_the_direction_of_parts_together(parts, lost, answer):
    assert verdicts.choose_answer([TOGETHER[i] for i in parts], lost=lost) == answer


@pytest.mark.parametrize(
    ("interval", "paper", "size"),
    [
        ((0.5, 1.5), 1.0, "consistent"),
        ((0.5, 1.5), 2.0, "smaller"),
        ((-0.5, 1.5), 2.0, "smaller"),
        ((0.5, 1.5), 0.3, "larger"),
        ((-1.5, -0.5), 0.3, "opposite"),
        ((-1.5, -0.5), -1.0, "consistent"),
        ((-1.5, -0.5), -0.2, "larger"),
        ((0.5, 1.5), -0.2, "opposite"),
        (None, 1.0, None),
        ((0.5, 1.5), None, None),
        ((0.5, 1.5), 0.0, None),
    ],
)
def test_the_size_of_an_effect(interval, paper, size):
    assert verdicts.choose_size(interval, paper) == size


def test_ratios():
    assert verdicts.compute_ratio(1.0, (0.5, 2.0), -2.0) == Ratio(value=-0.5, low=-1.0, high=-0.25, rounding=None)
    assert verdicts.compute_ratio(1.0, (0.5, 2.0), 2.0, (1.0, 4.0)).rounding == (0.25, 1.0)
    assert verdicts.compute_ratio(1.0, (0.5, 2.0), 2.0, (0.0, 4.0)).rounding is None
    assert verdicts.compute_ratio(1.0, (0.5, 2.0), None) is None


@pytest.mark.parametrize(
    ("interval", "size"),
    [((0.4, 0.6), "consistent"), ((0.3, 0.49), "smaller"), ((1.51, 2), "larger"), ((-2.0, -0.1), "opposite")],
)
def test_a_size_is_told_from_all_that_rounds_to_the_papers_number(interval, size):
    assert verdicts.choose_size(interval, 1.0, (0.5, 1.5)) == size
    assert verdicts.choose_size(tuple(-end for end in reversed(interval)), -1.0, (-1.5, -0.5)) == size


def lacking(runs):
    """The last replica lacks the metric."""
    return replace(runs, replicas=[*runs.replicas[:-1], replace(runs.replicas[-1], metrics={})])


def about_accuracy(claim):
    return claim.model_copy(update={"metric": "accuracy", "split": "train"})


def pair(a, b, **options):
    return [runs("a", a, **options), runs("b", b, **options)]


def sweep(*means, spread=0.01):
    return [runs(n, [m - spread, m, m + spread]) for n, m in zip("abcdef", means, strict=False)]


def entropies(a, b, c):
    """Bits per character, of two models beside the paper's numbers and of a reference."""
    printed = {"a": 1.12, "b": 1.27, "c": None}
    models = zip("abc", (a, b, c), strict=True)
    return [runs(n, [x] if x else [], paper=printed[n], unit="bits/character") for n, x in models]


SHARE = {"quantity": ("accuracy", "test"), "unit": "share", "n": 1000}
SHARED = pair(LOW, HIGH, **SHARE)
SHARES = claim("superiority", metric="accuracy", compare=below("a", "b"))
SAME = claim("equivalence", optimum=[["a", "b", "c"], ["d", "e", "f"]], margin=margin(0.1, "absolute"))
WORST = claim("ordering", ranks={"lower": ["a", "b"], "higher": "c"})
MOST = about_accuracy(claim("threshold", share={"experiments": ["a"], "reaches": 1.0, "at_least": 0.5}))
GAIN = claim("non-inferiority", compare=below("a", "b"), margin={**margin(0.75, "share-of-gain"), "over": "c"})
FALLS = claim("ordering", trend={"experiments": ["a", "b", "c", "d"], "x": [1, 10, 100, 1000]})
SAGS = claim("ordering", curve=[{"experiments": ["a", "b", "c", "d"], "x": [1, 10, 100, 1000]}])
UNIT = {"stated": "bits/character", "other": "nats/character", "experiments": ["a", "b"], "reference": "c"}
WHICH_UNIT = claim("unit", unit=UNIT)
CASES = [
    (A_BELOW_B, pair(LOW, HIGH), AGREES),
    (A_BELOW_B, pair(HIGH, LOW), DISAGREES),
    (A_BELOW_B, pair(LOW, LOW), UNDECIDED),
    (claim("superiority", compare=below("a", "b"), margin=margin(0.1)), pair(LOW, HIGH), AGREES),
    (claim("superiority", compare=below("a", "b"), margin=margin(0.5)), pair(LOW, HIGH), DISAGREES),
    (claim("non-inferiority", compare=below("b", "a"), margin=margin(0.3)), pair(LOW, HIGH), AGREES),
    (claim("non-inferiority", compare=below("b", "a"), margin=margin(0.01)), pair(LOW, HIGH), DISAGREES),
    (claim("equivalence", equal=[["a", "b"]], margin=margin(0.3)), pair(LOW, HIGH), AGREES),
    (claim("equivalence", equal=[["a", "b"]], margin=margin(0.05)), pair(LOW, HIGH), DISAGREES),
    (claim("equivalence", equal=[["a", "b"]], margin=margin(3.0, "absolute")), pair(LOW, HIGH), AGREES),
    # A relative margin is a share of the second, on the plain scale as well: 12 is 20 % above 10, 10 17 % below 12.
    (claim("equivalence", metric="accuracy", equal=[["a", "b"]], margin=margin(0.3)), SHARED, AGREES),
    (claim("equivalence", metric="accuracy", equal=[["a", "b"]], margin=margin(0.1)), SHARED, DISAGREES),
    (claim("ordering", order=["a", "b"]), pair(LOW, HIGH), AGREES),
    (SAGS, sweep(12.0, 10.0, 9.8, 11.5), AGREES),
    (SAGS, sweep(9.0, 10.0, 10.2, 9.5), DISAGREES),
    # A fall of the logarithm by as much at each step has no curvature.
    (SAGS, sweep(13.31, 12.1, 11.0, 10.0), UNDECIDED),
    (claim("threshold", level={"experiments": ["a"], "at_least": 9.0}), pair(LOW, HIGH), AGREES),
    (claim("threshold", level={"experiments": ["a"], "at_most": 9.0}), pair(LOW, HIGH), DISAGREES),
    (claim("threshold", level={"experiments": ["a"], "at_least": 9.0, "at_most": 11.0}), pair(LOW, HIGH), AGREES),
    # All replicas at the bound: above and below it no more than chance says.
    (claim("threshold", level={"experiments": ["a"], "at_least": 0.7}), [runs("a", [0.7] * 6)], UNDECIDED),
    # A difference of shares below one item of the test set is none.
    (SHARES, pair([0.5] * 3, [0.5009] * 3, **SHARE), UNDECIDED),
    (SHARES, pair([0.5] * 3, [0.5011] * 3, **SHARE), AGREES),
    # A replica that diverged, or lacks the metric, has no number.
    (A_BELOW_B, [runs("a", LOW, diverged=1), runs("b", HIGH)], UNDECIDED),
    (A_BELOW_B, [runs("a", LOW), runs("b", [], diverged=2)], UNDECIDED),
    (A_BELOW_B, [runs("a", LOW), lacking(runs("b", HIGH))], UNDECIDED),
    (A_BELOW_B, [runs("a", LOW), runs("b", [])], NOT_RUN),
    (A_BELOW_B, [runs("a", LOW), replace(runs("b", []), unavailable="It was in no mirror.")], NO_DATA),
    # Records that are there count, whatever became of the data since.
    (A_BELOW_B, [runs("a", LOW), replace(runs("b", HIGH), unavailable="gone")], AGREES),
    (claim("descriptive", reason="It says no more."), [runs("a", LOW)], NOT_TESTED),
    # B cancels in the gap; without a number of its own there is no difference to show.
    (claim("superiority", gaps=[gain("a", "b"), gain("c", "b")]), sweep(10.0, 12.0, 11.0), AGREES),
    (
        claim("superiority", gaps=[gain("a", "b"), gain("c", "b")]),
        [runs("a", LOW), lacking(runs("b", HIGH[:1])), runs("c", HIGH)],
        UNDECIDED,
    ),
    (GAIN, sweep(101.0, 100.0, 110.0, spread=0.1), AGREES),
    (GAIN, sweep(107.0, 100.0, 110.0, spread=0.1), DISAGREES),
    # The model that the gain is measured from lost a replica too.
    (GAIN, [*sweep(101.0, 100.0, spread=0.1), lacking(runs("c", [109.9, 110.0, 110.1]))], UNDECIDED),
    (FALLS, sweep(140.0, 130.0, 125.0, 120.0, spread=0.2), AGREES),
    (FALLS, sweep(120.0, 125.0, 130.0, 140.0, spread=0.2), DISAGREES),
    (WORST, [*pair([10.0, 11.0, 12.0], [13.0, 14.0, 15.0]), runs("c", [20.0, 1e9, 1e8, 30.0], diverged=1)], AGREES),
    (WORST, [*pair([10.0, 11.0, 12.0], [13.0, 14.0, 15.0]), runs("c", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])], DISAGREES),
    # Above most of the others together, and yet not above one of them.
    (WORST, [*pair([float(x) for x in range(1, 15)], [30.0, 31.0, 32.0]), runs("c", [20.0, 21.0, 22.0])], UNDECIDED),
    (MOST, [curves("a", [1.0] * 9 + [0.9])], AGREES),
    (MOST, [curves("a", [1.0] + [0.9] * 9)], DISAGREES),
    (MOST, [curves("a", [1.0] * 6 + [0.9] * 4)], UNDECIDED),
    # One that diverged counts by what it reached before.
    (MOST, [curves("a", [1.0] * 5, [1.0] * 4)], AGREES),
    (SAME, sweep(2.0, 1.0, 2.0, 9.0, 5.0, 6.0), AGREES),
    # B is 0.05 above A, E 0.05 above F: nothing else is within the margin in both.
    (SAME, sweep(1.0, 1.05, 2.0, 9.0, 5.05, 5.0), AGREES),
    (SAME, sweep(1.0, 2.0, 2.0, 6.0, 6.0, 5.0), DISAGREES),
    (SAME, sweep(1.0, 1.0, 1.1, 5.0, 5.0, 5.1, spread=0.5), UNDECIDED),
    (WHICH_UNIT, entropies(1.61, 1.84, 1.572), DISAGREES),
    (WHICH_UNIT, entropies(1.13, 1.26, 1.572), AGREES),
    (WHICH_UNIT, entropies(1.35, 1.52, 1.572), UNDECIDED),
    # A model that is missing leaves the question to the others; the reference has to be there.
    (WHICH_UNIT, entropies(1.13, None, 1.572), AGREES),
    (WHICH_UNIT, entropies(1.13, 1.26, None), NOT_RUN),
]


@pytest.mark.parametrize(("claim", "experiments", "verdict"), CASES)
def test_every_kind_of_claim(claim, experiments, verdict):
    assert decide(claim, *experiments).answer == verdict


def test_a_check_that_computed_nothing_shows_nothing():
    def check(name: str, *errors: float):
        experiment = runs(name, errors or [0.0], quantity=("max_error", "all"))
        resolved = replace(experiment.resolved, config={"check": name, "tolerance": 1e-10})
        return replace(
            experiment,
            resolved=resolved,
            replicas=experiment.replicas if errors else [replace(experiment.replicas[0], metrics={})],
        )

    identity = claim("identity", checks=["a", "b"])
    assert decide(identity, check("a", 0.0), check("b", 1e-12)).answer == AGREES
    assert decide(identity, check("a", 0.0), check("b", 1.0)).answer == DISAGREES
    assert decide(identity, check("a", 0.0), check("b")).answer == UNDECIDED


@pytest.mark.parametrize("folds", [False, True])
def test_a_question_of_unit_says_whether_its_runs_are_seeds_or_folds(folds):
    bits = {"unit": "bits/character", "folds": folds}
    verdict = decide(
        WHICH_UNIT, runs("a", [1.1], paper=1.1, **bits), runs("b", [1.2], paper=1.2, **bits), runs("c", [1.5], **bits)
    )
    assert {one.counts for one in verdict.comparisons} == {"folds" if folds else "seeds"}


def test_perplexities_are_compared_by_their_logarithms():
    # Far too bad by itself, and yet no doubt that it is bad: on the plain scale p is 0.11.
    bad, good = [160.0, 220.0, 550.0], [100.0, 101.0, 99.0]
    (part,) = decide(A_BELOW_B, runs("a", good, family="x"), runs("b", bad, family="y")).comparisons
    logs = np.log(bad), np.log(good)
    assert part.p == pytest.approx(stats.ttest_ind(*logs, equal_var=False, alternative="greater").pvalue)
    assert part.estimate == pytest.approx(logs[0].mean() - logs[1].mean())


def test_the_papers_effect_stands_beside_ours_on_one_scale():
    (part,) = decide(A_BELOW_B, runs("a", LOW, paper=10.0), runs("b", HIGH, paper=11.0)).comparisons
    assert (part.scale, part.paper, part.size) == ("log", 1.0, "larger")
    assert part.paper_converted == pytest.approx(math.log(1.1))
    assert part.ratio.value == pytest.approx(part.estimate / math.log(1.1))
    loss = {"quantity": ("loss", "test"), "unit": "nats/token"}
    superiority = claim("superiority", metric="loss", split="test", compare=below("a", "b"))
    for unit, effect in ((None, 1.0), ("bits/token", math.log(2))):
        experiments = (runs(n, v, paper=p, paper_unit=unit, **loss) for n, v, p in (("a", LOW, 1.0), ("b", HIGH, 2.0)))
        assert decide(superiority, *experiments).comparisons[0].paper_converted == pytest.approx(effect)


def test_the_rounding_of_the_papers_numbers_is_carried_into_its_effect():
    """1.23 and 1.21 are printed: their difference may be 0.01 to 0.03; as logarithms the same in shares."""
    loss = {"quantity": ("loss", "test"), "unit": "nats/token"}
    for log, quantity, metric in ((False, loss, "loss"), (True, {}, "perplexity")):
        superiority = claim("superiority", metric=metric, split="test", compare=below("a", "b"))
        experiments = (runs(n, v, paper=p, digit=0.01, **quantity) for n, v, p in (("a", LOW, 1.21), ("b", HIGH, 1.23)))
        (one,) = decide(superiority, *experiments).comparisons
        ends = (1.225, 1.215), (1.235, 1.205)
        assert one.paper_band == pytest.approx([math.log(h / low) if log else h - low for h, low in ends])
        assert one.ratio.rounding == pytest.approx([one.estimate / end for end in reversed(one.paper_band)])


def test_welchs_test_stands_beside_the_moderated_one():
    """Two and two replicas: by their own deviation they do not differ, by that of a family of many they do."""
    experiments = [*pair([10.0, 10.2], [10.4, 10.6]), *(runs(n, [9.9, 10.1, 10.0, 10.05]) for n in "cdef")]
    assert decide(A_BELOW_B, *experiments).answer == AGREES
    alone = replace(table(*experiments), lends_sds=False)
    (one,) = rules.decide(A_BELOW_B, alone).comparisons
    logs = np.log([10.4, 10.6]), np.log([10.0, 10.2])
    welch = stats.ttest_ind(*logs, equal_var=False, alternative="greater").pvalue
    assert (one.p, one.answer) == (pytest.approx(welch), UNDECIDED)


def test_the_forecast_is_made_at_the_papers_effect_and_not_at_ours():
    near = [runs("a", [10.0, 10.5, 9.5], paper=10.0), runs("b", [10.1, 10.6, 9.6], paper=12.0)]
    verdict = decide(A_BELOW_B, *near)
    assert verdict.answer == UNDECIDED
    deviation = math.sqrt((np.var(np.log([10.0, 10.5, 9.5]), ddof=1) + np.var(np.log([10.1, 10.6, 9.6]), ddof=1)) / 2)
    n = np.arange(2, 99)
    power = stats.nct.sf(stats.t.isf(0.025, 2 * (n - 1)), 2 * (n - 1), math.log(1.2) / deviation * np.sqrt(n / 2))
    assert verdict.replicas == n[power >= 0.8][0]
    # Beside an agreeing claim as well; not where the paper gives no number, and not where no number of them would do.
    assert decide(A_BELOW_B, runs("a", LOW, paper=10.0), runs("b", HIGH, paper=12.0)).replicas == 2
    assert decide(A_BELOW_B, runs("a", LOW), runs("b", HIGH)).replicas is None
    assert decide(A_BELOW_B, runs("a", LOW, paper=12.0), runs("b", HIGH, paper=11.0)).replicas is None


def test_a_mean_over_a_sweep_is_one_comparison():
    compare = {"lower": {"mean": ["a", "b"]}, "higher": {"mean": ["c", "d"]}}
    values = {"a": [9.0, 9.9, 9.4], "b": [10.0, 9.1, 9.6], "c": [9.8, 10.6, 10.1], "d": [10.8, 9.9, 10.3]}
    verdict = decide(claim("superiority", compare=compare), *(runs(n, v, family=n) for n, v in values.items()))
    (part,) = verdict.comparisons
    logs = {n: np.log(v) for n, v in values.items()}
    expected = (logs["c"].mean() + logs["d"].mean() - logs["a"].mean() - logs["b"].mean()) / 2
    assert part.estimate == pytest.approx(expected)
    assert part.error == pytest.approx(math.sqrt(sum(np.var(x, ddof=1) / 3 / 4 for x in logs.values())))
    each = [claim("superiority", compare=below(*pair)) for pair in ("ac", "bd")]
    alone = [decide(one, *(runs(n, v, family=n) for n, v in values.items())).answer for one in each]
    assert (verdict.answer, alone) == (AGREES, [UNDECIDED, UNDECIDED])


def test_numbers_behind_the_verdicts_of_gains_sweeps_and_ranks():
    (part,) = decide(GAIN, *sweep(103.0, 100.0, 110.0, spread=0.1)).comparisons
    signed_estimate = (math.log(110) - math.log(103)) - 0.75 * (math.log(110) - math.log(100))
    assert part.signed_estimate == pytest.approx(signed_estimate, abs=1e-6)
    means = [140.0, 125.0, 120.0, 130.0]
    risen = decide(FALLS, *sweep(*means, spread=0.2))
    slope = stats.linregress(np.log(FALLS.trend.x), np.log(means)).slope
    assert risen.comparisons[0].estimate == pytest.approx(-slope, rel=1e-3)
    (rise,) = (note for note in risen.notes if isinstance(note, Rise))
    assert rise.by == pytest.approx(math.log(130 / 120), rel=1e-3)
    assert (rise.end, rise.lowest) == ("D", "C")
    fallen = decide(FALLS, *sweep(140.0, 125.0, 120.0, 119.9, spread=0.2))
    assert (risen.answer, fallen.answer) == (UNDECIDED, AGREES)
    sagging = {"a": [12.0, 12.6], "b": [10.0, 10.1], "c": [9.9, 9.3], "d": [11.0, 11.2]}
    (curved,) = decide(SAGS, *(runs(n, v, family=n) for n, v in sagging.items())).comparisons
    logs = [np.log(v) for v in sagging.values()]
    fit = [np.polyfit(np.log(SAGS.curve[0].x), np.eye(4)[i], 2)[0] for i in range(4)]
    assert curved.estimate == pytest.approx(np.polyfit(np.log(SAGS.curve[0].x), [x.mean() for x in logs], 2)[0])
    variances = [w**2 * np.var(x, ddof=1) / 2 for w, x in zip(fit, logs, strict=True)]
    freedom = sum(variances) ** 2 / sum(v**2 for v in variances)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(sum(variances))
    assert curved.interval == pytest.approx((curved.estimate - reach, curved.estimate + reach))
    high = runs("c", [20.0, 1e9], diverged=1)
    part = decide(WORST, *pair([10.0, 11.0, 12.0, 9.0, 8.0], [13.0] * 9), high).comparisons[0]
    assert (part.p, part.replicas) == (pytest.approx(1 / math.comb(8, 3)), (3, 5))
    assert part.medians == (1e9, 10.0)


LEARNED = {"metric": "accuracy", "split": "test", "above": 0.2, "why": "chance"}
FAILED = [0.1, 0.2, 0.2]


@pytest.mark.parametrize(
    ("a", "b", "values", "answer"),
    [
        # The perplexity of A ought to be lower: whether B learnt is the effect.
        ([0.9] * 3, [0.9] * 3, (LOW, HIGH), AGREES),
        ([0.9] * 3, FAILED, (LOW, HIGH), AGREES),
        ([0.9] * 3, FAILED, (HIGH, LOW), DISAGREES),
        # A that did not learn establishes nothing, and refutes where it is worse.
        (FAILED, [0.9] * 3, (LOW, HIGH), NOT_JUDGED),
        (FAILED, [0.9] * 3, (HIGH, LOW), DISAGREES),
        (FAILED, FAILED, (LOW, HIGH), NOT_JUDGED),
    ],
)
def test_only_the_side_that_ought_to_be_better_has_to_learn(a, b, values, answer):
    superiority = claim("superiority", compare=below("a", "b"), learned=LEARNED)
    experiments = [add_metric(runs(n, v), *x) for n, v, x in zip("ab", values, (a, b), strict=True)]
    verdict = decide(superiority, *experiments)
    assert (verdict.answer, verdict.comparisons[0].answer) == (answer, answer)
    titles = [title for note in verdict.notes if isinstance(note, Unlearned) for title in note.titles]
    assert sorted(titles) == [n for n, x in (("A", a), ("B", b)) if x == FAILED]
    # Of an accuracy the higher side ought to be better.
    turned = claim("superiority", metric="accuracy", compare=below("b", "a"), learned=LEARNED)
    assert decide(turned, *experiments).answer == (
        UNDECIDED if a == b != FAILED else NOT_JUDGED if a == b else AGREES if b == FAILED else DISAGREES
    )


def test_a_model_that_did_not_learn_says_nothing_of_its_own_places():
    """Within one model: the comparison is not judged, and the others are without it."""
    places = {"compare": [below({"experiment": n, "metric": "far"}, {"experiment": n, "metric": "near"}) for n in "ab"]}
    superiority = claim("superiority", learned=LEARNED, **places)
    more = {("near", "test"): [0.8, 0.81, 0.79], ("far", "test"): [0.3, 0.31, 0.29]}
    a, b = (runs(n, LOW, more=more) for n in "ab")
    verdict = decide(superiority, add_metric(a, *[0.9] * 3), add_metric(b, *FAILED))
    assert (verdict.answer, [one.answer for one in verdict.comparisons]) == (AGREES, [AGREES, NOT_JUDGED])
    assert verdict.weakest == verdict.comparisons[0]
    assert decide(superiority, add_metric(a, *FAILED), add_metric(b, *FAILED)).answer == NOT_JUDGED
    # One without the metric is not known to have learnt; that no side is ahead takes both.
    assert decide(superiority, a, b).answer == NOT_JUDGED
    same = claim("equivalence", equal=[["a", "b"]], margin=margin(0.3), learned=LEARNED)
    assert (
        decide(same, add_metric(runs("a", LOW), *[0.9] * 3), add_metric(runs("b", LOW), *FAILED)).answer == NOT_JUDGED
    )


def test_an_optimum_with_a_model_that_did_not_learn_is_not_judged_unless_it_is_refuted():
    best = claim("equivalence", optimum=[["a", "b", "c"], ["d", "e", "f"]], margin=margin(0.01), learned=LEARNED)
    assert decide(best, *(add_metric(runs(n, LOW), *FAILED) for n in "abcdef")).answer == NOT_JUDGED
    # No place is the best of both sweeps: of the first the second is, of the second the first.
    values = {"a": HIGH, "b": LOW, "c": HIGH, "d": LOW, "e": HIGH, "f": HIGH}
    learned = [add_metric(runs(n, v), *(FAILED if n == "c" else [0.9] * 3)) for n, v in values.items()]
    assert decide(best, *learned).answer == DISAGREES


def test_the_pair_with_the_largest_p_decides_by_rank():
    """C is far above A and no higher than B: together they would be below it."""
    a, b = [float(x) for x in range(1, 15)], [20.0, 21.0, 22.0, 23.0]
    verdict = decide(WORST, *pair(a, b), runs("c", [20.5, 21.5, 22.5, 23.5]))
    exact = [stats.mannwhitneyu([20.5, 21.5, 22.5, 23.5], low, alternative="greater").pvalue for low in (a, b)]
    assert [one.p for one in verdict.comparisons] == pytest.approx(exact)
    assert (verdict.answer, verdict.weakest.other) == (UNDECIDED, "B")
    # One replica against three: no order of four is rarer than a quarter.
    verdict = decide(WORST, *pair([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]), runs("c", [9.0]))
    assert (verdict.answer, [(one.p, one.above) for one in verdict.comparisons]) == (UNDECIDED, [(None, 1)] * 2)


def test_a_diverged_replica_ranks_last_whichever_numbers_are_better():
    for metric, unit, answer in (("perplexity", "1", AGREES), ("accuracy", "share", DISAGREES)):
        worst = claim("ordering", metric=metric, ranks={"lower": ["a", "b"], "higher": "c"})
        options = {"quantity": (metric, "test"), "unit": unit}
        verdict = decide(worst, *pair(LOW * 2, HIGH * 2, **options), runs("c", [], diverged=6, **options))
        assert verdict.answer == answer
    # One that lacks the metric says nothing: the others may be a choice.
    lacking = runs("c", [90.0] * 5)
    lacking = replace(lacking, replicas=[*lacking.replicas, replace(lacking.replicas[0], number=9, metrics={})])
    verdict = decide(WORST, *pair(LOW * 2, HIGH * 2), lacking)
    assert (verdict.answer, [(n.kind, n.lost, n.of) for n in verdict.notes]) == (UNDECIDED, [("lacking", 1, 6)])


def test_a_better_model_that_did_not_learn_is_told_by_its_metric():
    """Bits per character: the model that should have fewer learned, the other did not, and that is the effect."""
    learned = {"metric": "bits_per_character", "split": "test", "below": 2.0, "why": "a"}
    superiority = claim("superiority", metric="bits_per_character", compare=below("a", "b"), learned=learned)
    options = {"quantity": ("bits_per_character", "test"), "unit": "bits/character"}
    assert decide(superiority, *pair([1.0, 1.1, 1.2], [3.0, 3.1, 3.2], **options)).answer == AGREES


def test_a_printed_number_in_both_gains_is_rounded_once():
    gap = claim("superiority", gaps=[gain("a", "base"), gain("b", "base")], metric="cross_entropy")
    options = {"quantity": ("cross_entropy", "test"), "unit": "nats/token", "digit": 0.1}
    models = zip(("base", "a", "b"), (3.0, 1.0, 2.0), strict=True)
    experiments = [runs(n, [x, x + 0.01, x - 0.01], paper=x, **options) for n, x in models]
    (comparison,) = decide(gap, *experiments).comparisons
    assert comparison.paper_converted == pytest.approx(1.0)
    assert comparison.paper_band == pytest.approx((0.9, 1.1))


def test_a_unit_per_token_is_told_from_one_per_character():
    """Words of five characters: 6 nats each are 1.2 nats per character, which is what is printed."""
    options = {"unit": "nats/token", "n": 100, "more": {("predicted_characters", "test"): [500.0]}}
    experiments = [
        runs(n, [x], paper=p, **options) for n, x, p in zip("abc", (6.0, 7.0, 8.0), (1.2, 1.4, None), strict=True)
    ]
    for stated, other, answer in (
        ("nats/token", "nats/character", DISAGREES),
        ("nats/character", "nats/token", AGREES),
    ):
        assert decide(claim("unit", unit={**UNIT, "stated": stated, "other": other}), *experiments).answer == answer


@pytest.mark.slow
def test_no_place_is_found_more_often_than_the_level_says():
    """In each sweep the best place of the other is worse by just the margin, so that no place serves both."""
    equivalence = claim("equivalence", optimum=[["a", "b"], ["c", "d"]], margin=margin(0.5, "absolute"))
    rng, agreed = np.random.default_rng(3), 0
    for _ in range(300):
        drawn = rng.normal([[0.0], [0.5], [0.5], [0.0]], 0.2, (4, 4)) + 5
        experiments = [runs(name, list(values)) for name, values in zip("abcd", drawn, strict=True)]
        agreed += decide(equivalence, *experiments).answer == AGREES
    # Two places, each held to half of 2.5 %.
    assert agreed <= 300 * 0.025 + 3 * (300 * 0.025) ** 0.5
