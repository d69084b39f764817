"""How near alternative settings are to a paper's numbers: compared on the rows that both have."""

import math
import statistics
from dataclasses import replace

import pytest
from claims_helpers import QUANTITY, runs
from config_helpers import experiments, project
from scipy import stats

from reprise.evidence.contrasts import Term
from reprise.evidence.load import load_runs
from reprise.evidence.readings import CHOSEN, rank_readings


def likelihood(paper, families):
    """The mean log likelihood of the paper's numbers, each beside replicas of one deviation that they share."""
    logs = [[math.log(x) for x in values] for values in families]
    freedom = sum(len(values) - 1 for values in logs)
    variance = sum((len(v) - 1) * stats.tvar(v) for v in logs) / freedom
    scales = [math.sqrt(variance * (1 + 1 / len(values))) for values in logs]
    terms = zip(paper, logs, scales, strict=True)
    return sum(stats.t.logpdf(math.log(p), freedom, sum(v) / len(v), s) for p, v, s in terms) / len(paper)


def count_covered(paper, families):
    """How many of the paper's numbers are in the 95 % interval of one more replica, with an SD that families share."""
    logs = [[math.log(x) for x in values] for values in families]
    freedom = sum(len(values) - 1 for values in logs)
    sd = math.sqrt(sum((len(v) - 1) * stats.tvar(v) for v in logs) / freedom)
    intervals = [stats.t.interval(0.95, freedom, sum(v) / len(v), sd * math.sqrt(1 + 1 / len(v))) for v in logs]
    return sum(low <= math.log(number) <= high for number, (low, high) in zip(paper, intervals, strict=True))


def test_both_likelihoods_rest_on_the_rows_that_the_alternative_has():
    paper = project().papers["rrntn"]
    real = load_runs(project(), experiments("paper"))["rrntn"]
    names = [name for name in ("s-rnn-100", "r-rntn-100-k100", "s-rnn-150") if f"{name}@schedule=rnnlm" in real]
    assert len(names) == 3
    chosen, under = ([150.0, 151.5, 149.0], [140.0, 142.0, 139.0], [145.0, 146.0, 143.0]), ([140.0, 141.0, 139.5],) * 2
    printed = {name: float(paper.experiments[name].reported[0].value) for name in names}

    def made(name, values):
        return replace(real[name], replicas=runs(name, values).replicas)

    runs_by_name = {name: made(name, values) for name, values in zip(names, chosen, strict=True)}
    runs_by_name |= {
        f"{n}@schedule=rnnlm": made(f"{n}@schedule=rnnlm", v) for n, v in zip(names[:2], under, strict=True)
    }
    readings = {one.reading: one for one in rank_readings(paper, runs_by_name)}
    other = readings["schedule=rnnlm"]
    assert (readings[CHOSEN].rows, other.rows) == (3, 2)
    assert (readings[CHOSEN].covered, readings[CHOSEN].predicted) == (count_covered(printed.values(), chosen), 3)
    assert QUANTITY in {term.quantity for term in other.gaps}
    assert other.likelihood == pytest.approx(likelihood([printed[n] for n in names[:2]], under))
    shared = likelihood([printed[n] for n in names], chosen)
    assert readings[CHOSEN].likelihood == pytest.approx(shared)
    assert other.chosen_likelihood != pytest.approx(shared)
    means = [statistics.geometric_mean(values) for values in chosen[:2]]
    gaps = [100 * abs(mean / printed[name] - 1) for name, mean in zip(names[:2], means, strict=True)]
    assert other.chosen == pytest.approx(sum(gaps) / 2)


def test_shares_have_arithmetic_means_and_their_own_sd():
    paper = project().papers["palindromes"]
    real = load_runs(project(), experiments("paper"))["palindromes"]
    shares = [(n, r) for n, e in paper.experiments.items() for r in e.reported if "accuracy" in r.metric]
    name, number = shares[0]
    quantity, printed = (number.metric, number.split), float(number.value)
    values = [0.2, 0.9, 0.4, 0.5]
    made = replace(real[name], replicas=runs(name, values, quantity=quantity).replicas)
    (one,) = rank_readings(paper, {name: made})
    assert one.gaps == {Term(name, quantity): pytest.approx(100 * abs(0.5 / printed - 1))}
    assert one.level == pytest.approx(100 * abs(0.5 / printed - 1))
    scale = stats.tstd(values) * math.sqrt(1 + 1 / 4)
    z = (0.5 - printed) / scale
    assert one.likelihood == pytest.approx(stats.t.logpdf(z, 3) - math.log(scale / printed))
    assert one.covered == (abs(z) <= stats.t.ppf(0.975, 3))
