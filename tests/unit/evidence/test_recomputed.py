"""Claims of every kind, worked out again from the raw records of this clone with numpy and scipy alone."""

import json
import math
from dataclasses import replace
from functools import cache
from itertools import compress

import numpy as np
import pytest
from config_helpers import ROOT, experiments, project
from scipy import optimize, stats

from reprise.evidence.decisions import Decision, read_claims
from reprise.evidence.load import load_runs
from reprise.evidence.runs import Table
from reprise.evidence.verdicts import AGREES, DISAGREES, UNDECIDED
from reprise.evidence.verdicts.decide import decide


@cache
def read_committed_claims(tier: str) -> dict[str, dict[str, Decision]]:
    return read_claims(ROOT, tier)


def records(tier: str, experiment: str) -> list[dict]:
    """The records of an experiment, in the order of replicas."""
    paths = (ROOT / f"results/{tier}/runs" / experiment).glob("*.json")
    return sorted((json.loads(path.read_text(encoding="utf-8")) for path in paths), key=lambda r: r["replica"])


def numbers(tier: str, experiment: str, metric: str, split: str | None) -> list[float]:
    """A metric of every finished record, of all splits where none is named; a perplexity from its loss."""
    recorded_metric = "cross_entropy" if metric == "perplexity" else metric
    rows = [row for record in records(tier, experiment) for row in record["metrics"]]
    values = [row["value"] for row in rows if row["metric"] == recorded_metric and split in (row["split"], None)]
    return [math.exp(value) for value in values] if metric == "perplexity" else values


def moderated(sample: np.ndarray, family: list[np.ndarray]) -> tuple[float, float]:
    """Variance and freedom of a sample: the posterior under the likeliest s0^2 F(d, d0), by a simplex search."""
    own = [(np.var(s, ddof=1), len(s) - 1) for s in family if len(s) > 1]
    v, d = (np.array(column, dtype=float) for column in zip(*own, strict=True))
    pooled = float(np.sum(v * d) / np.sum(d))
    infinite = float(np.sum(stats.chi2.logpdf(d * v / pooled, d) + np.log(d / pooled)))

    def unlikely(logs: np.ndarray) -> float:
        scale, freedom = np.exp(logs)
        return -float(np.sum(stats.f.logpdf(v / scale, d, freedom) - np.log(scale)))

    starts = [(math.log(np.median(v)), math.log(freedom)) for freedom in (1, 10, 100)]
    options = {"xatol": 1e-9, "fatol": 1e-12}
    optimum = min(
        (optimize.minimize(unlikely, x, method="Nelder-Mead", options=options) for x in starts), key=lambda f: f.fun
    )
    best, (scale, freedom) = -optimum.fun, np.exp(optimum.x)
    if best <= infinite + 1e-3:
        return pooled, float(np.sum(d))
    n = len(sample) - 1
    variance = float(np.var(sample, ddof=1)) if n else 0.0
    return (freedom * scale + n * variance) / (freedom + n), min(freedom + n, float(np.sum(d)))


FAMILY = ["s-rnn-100", "s-rnn-150", "r-rntn-100-k100", "r-rntn-150-k100", "rntn-100", "r-rntn-100-k100-mod"]
FAMILY += [f"r-rntn-100-k{k}{m}" for k in (10, 30, 300, 1000, 3000) for m in ("", "-mod")]


COMPARED = {
    "R1": ("r-rntn-100-k100", "s-rnn-100"),
    "R2": ("r-rntn-100-k100", "s-rnn-150"),
    "R8": ("r-rntn-150-k100", "r-rntn-100-k100"),
    "R22": ("r-rntn-150-k100", "s-rnn-150"),
}


@pytest.mark.parametrize("key", COMPARED)
def test_differences_of_perplexities(key):
    """The difference of mean logarithms, its 95 % interval, and the one-sided p that it is not above 0."""
    low, high = COMPARED[key]
    values = {name: numbers("paper", f"rrntn/{name}", "perplexity", "test") for name in FAMILY}
    logs = {name: np.log(sample) for name, sample in values.items() if sample}
    parts = [(moderated(logs[n], list(logs.values())), len(logs[n])) for n in (low, high)]
    variances = [variance / n for (variance, _), n in parts]
    error = math.sqrt(sum(variances))
    freedom = sum(variances) ** 2 / sum(x**2 / f for x, ((_, f), _) in zip(variances, parts, strict=True))
    freedom = min(freedom, sum(len(x) - 1 for x in logs.values()))
    value = logs[high].mean() - logs[low].mean()
    reach, p = stats.t.ppf(0.975, freedom) * error, float(stats.t.sf(value / error, freedom))
    claim = read_committed_claims("paper")["rrntn"][key]
    (part,) = claim.comparisons
    assert part.estimate == pytest.approx(value, rel=1e-4)
    assert part.interval == pytest.approx((value - reach, value + reach), rel=1e-4, abs=1e-6)
    assert part.p == pytest.approx(p, rel=1e-3, abs=1e-6)
    assert claim.answer == (AGREES if p <= 0.025 else UNDECIDED)
    reported = project().papers["rrntn"].experiments
    paper = math.log(reported[high].reported[0].value / reported[low].reported[0].value)
    assert claim.rated.ratio.value == pytest.approx(value / paper, rel=1e-4)
    assert (claim.size == "consistent") == (abs(paper - value) <= reach)


def test_ranks_of_models_that_blow_up():
    others = ["s-rnn-100", "r-rntn-100-k100", "rntn-100", "s-rnn-150", "r-rntn-150-k100"]
    high = numbers("paper", "rrntn/m-rnn-100", "perplexity", "test")
    low = [numbers("paper", f"rrntn/{name}", "perplexity", "test") for name in others]
    claim = read_committed_claims("paper")["rrntn"]["R9"]
    exact = [stats.mannwhitneyu(high, sample, alternative="greater", method="exact").pvalue for sample in low]
    # Of three against three no order is rarer than one in twenty.
    decidable = [math.comb(len(high) + len(sample), len(sample)) >= 40 for sample in low]
    assert [one.p for one in claim.comparisons if one.p] == pytest.approx([*compress(exact, decidable)], rel=1e-4)
    assert [one.p is not None for one in claim.comparisons] == decidable
    assert claim.answer == (AGREES if max(exact) <= 0.025 else UNDECIDED)


def test_a_share_of_replicas():
    claim = read_committed_claims("paper")["palindromes"]["U2"]
    curves = [record["curves"] for record in records("paper", "palindromes/rnn-t30-long")]
    tops = [
        max(max(c["y"]) for c in replica_curves if (c["metric"], c["split"]) == ("accuracy", "train"))
        for replica_curves in curves
    ]
    reached, n = sum(top >= 1.0 for top in tops), len(tops)
    test = stats.binomtest(reached, n, 0.5, "greater")
    assert (claim.comparisons[0].reached, claim.n["rnn-t30-long"]) == (reached, n)
    assert claim.comparisons[0].p == pytest.approx(test.pvalue, rel=1e-5)
    assert claim.answer == (AGREES if test.pvalue <= 0.025 else UNDECIDED)
    bounds = stats.binomtest(reached, n).proportion_ci(0.95, "exact")
    assert claim.comparisons[0].interval == pytest.approx((bounds.low, bounds.high), rel=1e-5)


def test_a_level_of_one_experiment():
    claim = read_committed_claims("paper")["books"]["U12"]
    values = numbers("paper", "books/quijote", "words_in_licence", "bird")
    test = stats.ttest_1samp(values, 0.05, alternative="less")
    assert claim.comparisons[0].p == pytest.approx(test.pvalue, rel=0.02)
    assert (claim.answer == AGREES) == (test.pvalue <= 0.025)


def test_paired_folds():
    losses = (numbers("reduced", f"gso/{name}", "cross_entropy", "test") for name in ("t1-mi-rnn", "t1-rnn"))
    low, high = map(np.array, losses)
    claim = read_committed_claims("reduced")["gso"]["G6"]
    part = claim.comparisons[0]
    assert part.estimate == pytest.approx(float(np.mean(high - low)), rel=1e-5)
    # Its own folds alone say the same, though less surely than the residual of the family.
    error = math.sqrt((1 / 3 + 0.2 / 0.72) * np.var(high - low, ddof=1))
    assert stats.t.sf(np.mean(high - low) / error, 2) <= 0.025
    assert (claim.answer, claim.size, claim.budget) == (AGREES, "larger", "reduced")
    assert part.ratio.value == pytest.approx(part.estimate / part.paper_converted, rel=1e-5)
    assert part.paper == pytest.approx(1.23 - 1.21, abs=0.02)


def collect_fold_losses() -> dict[str, dict[int, float]]:
    """Test losses by fold of every general model on characters, as chosen, at the tier paper."""
    losses = {}
    for experiment in (e for e in experiments("paper") if e.paper == "gso" and not e.is_check and not e.assumption):
        if experiment.config["model"]["name"] != "gso" or experiment.config["data"]["options"]["tokens"] == "bigrams":
            continue
        rows = [(r["fold"], row) for r in records("paper", experiment.id) for row in r["metrics"]]
        found = {f: row["value"] for f, row in rows if (row["metric"], row["split"]) == ("cross_entropy", "test")}
        losses |= {experiment.experiment: found} if len(found) > 1 else {}
    return losses


def fit_folds(losses: dict[str, dict[int, float]]) -> tuple[float, int]:
    """Residual variance and degrees of freedom of log losses after an effect for each model and one for each fold."""
    cells = [(i, fold, math.log(loss)) for i, by_fold in enumerate(losses.values()) for fold, loss in by_fold.items()]
    design = np.array([[*np.eye(len(losses))[i], *np.eye(5)[fold]] for i, fold, _ in cells])
    logs = np.array([log for *_, log in cells])
    residuals = logs - design @ np.linalg.lstsq(design, logs, rcond=None)[0]
    df = len(cells) - np.linalg.matrix_rank(design)
    return float(residuals @ residuals) / df, df


@pytest.mark.parametrize(("key", "margin"), [("G3", 0.0), ("G8", 0.01), ("G8-d", 0.01)])
def test_folds_that_share_their_familys_variance(key, margin):
    """Nadeau and Bengio's t-test with the residual variance of all models, and with the comparison's own folds."""
    losses = collect_fold_losses()
    variance, df = fit_folds(losses)
    claim, statement = read_committed_claims("paper")["gso"][key], project().papers["gso"].claims[key]
    stated = statement.compare if isinstance(statement.compare, list) else [statement.compare]
    own_p = []
    for part, pair in zip(claim.comparisons, stated, strict=True):
        low, high = losses[pair.lower], losses[pair.higher]
        folds = sorted(low.keys() & high.keys())
        values = np.array([(1 + margin) * high[fold] - low[fold] for fold in folds])
        squares = np.mean([low[f] for f in folds]) ** 2 + ((1 + margin) * np.mean([high[f] for f in folds])) ** 2
        scale = 1 / len(folds) + 0.2 / 0.72
        error, own_error = math.sqrt(scale * variance * squares), math.sqrt(scale * np.var(values, ddof=1))
        p = stats.t.sf(np.mean(values) / error, df)
        assert part.p == pytest.approx(p, rel=1e-3, abs=1e-6)
        if not margin:
            ends = np.mean(values) + np.array([-1, 1]) * stats.t.ppf(0.975, df) * error
            assert part.interval == pytest.approx(ends, rel=1e-4)
        own_p.append(stats.t.sf(np.mean(values) / own_error, len(folds) - 1))
    refuted = min(1 - p for p in own_p) * len(own_p) <= 0.025
    assert claim.own_sds == (DISAGREES if refuted else AGREES if max(own_p) <= 0.025 else UNDECIDED)


def test_errors_of_a_formula_and_a_count():
    claims, errors = read_committed_claims("paper")["gso"], numbers("paper", "gso/g16-as-printed", "max_error", None)
    tolerance = project().papers["gso"].experiments["g16-as-printed"].check.tolerance
    assert (claims["G16"].answer == AGREES) == (max(errors) <= tolerance)
    assert sum(not part.held for part in claims["G16"].comparisons) == sum(value > tolerance for value in errors)
    (value,) = numbers("paper", "gso/corpus", "shortening_by_bigrams", "all")
    assert (claims["G14"].answer == AGREES) == (0.35 <= value <= 0.45)
    assert [claims[key].evidence for key in ("G16", "G14")] == ["equation", "counted"]


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["paper", "reduced"])
def test_a_deleted_record_lets_a_claim_agree_only_where_it_spoke_against_it(tier):
    """Every record of every experiment of document 001, one at a time: fewer records alone never decide."""
    runs = load_runs(project(tier), experiments(tier))["rrntn"]
    claims = {k: c for k, c in project().papers["rrntn"].claims.items() if not c.checks}
    before = {key: decide(claim, Table(runs)) for key, claim in claims.items()}
    undecided = [key for key, verdict in before.items() if verdict.answer == UNDECIDED]
    trained = [
        experiment
        for name, experiment in runs.items()
        if "@" not in name and experiment.resolved and not experiment.resolved.is_check
    ]
    deletions = [(experiment, replica) for experiment in trained for replica in experiment.replicas]
    assert len(deletions) > 20
    assert undecided
    for experiment, replica in deletions:
        less = Table(
            {
                **runs,
                experiment.name: replace(experiment, replicas=[r for r in experiment.replicas if r is not replica]),
            }
        )
        for key in undecided:
            after = decide(claims[key], less)
            if after.answer == AGREES:
                assert after.weakest.signed_estimate > before[key].weakest.signed_estimate, (
                    experiment.name,
                    replica.number,
                    key,
                )
