"""Claims about frequent and rare words, judged by evaluation records: R25 and L15 against numbers worked out alone."""

import csv
from dataclasses import replace
from statistics import mean, stdev

import pytest
from claims_helpers import runs
from config_helpers import project
from evaluation_helpers import evaluation, place
from scipy.stats import ttest_ind
from verify_helpers import leave, resolved, verify

from reprise.catalogue.protocols import PROTOCOLS
from reprise.cli import main
from reprise.config.claim_checks import check_measured
from reprise.errors import UserError
from reprise.evidence.load import make_evaluated_replica
from reprise.evidence.losses import list_losses_by_count
from reprise.evidence.runs import Table
from reprise.evidence.verdicts.claims import judge
from reprise.evidence.verdicts.decide import decide

COUNTS = (0, 1, 10, 100, 1000, 10_000)
WORDS = (2, 3, 5, 7, 11, 13)


def losses(shift, seed, tests):
    """A mean loss for every test, side and band; `shift` by band, and a wobble by seed."""
    return {
        (split, side, least): (n + t, 5.0 - i / 4 + by + 0.01 * ((7 * seed + 3 * i + t) % 5))
        for t, split in enumerate(tests)
        for side in ("read", "predicted")
        for i, (least, n, by) in enumerate(zip(COUNTS, WORDS, shift, strict=True))
    }


def evaluated(name, shift, tests, seeds, protocol):
    bands = [losses(shift, seed, tests) for seed in seeds]
    replicas = [make_evaluated_replica(evaluation(seed, one)) for seed, one in zip(seeds, bands, strict=True)]
    return replace(runs(name, [], protocol=protocol), evaluations=replicas), bands


def pooled(bands, side, low, high=10**9):
    """The mean loss over all words, of all tests, whose count lies in a range."""
    selected = [value for (_, word_side, least), value in bands.items() if word_side == side and low <= least <= high]
    return sum(n * loss for n, loss in selected) / sum(n for n, _ in selected)


CASES = {
    "R25": ("rrntn", "s-rnn-100", "r-rntn-100-k100", ("test",), "read", (1000,), (0, 99)),
    "L15": ("llrnn", "rnn", "ll-m2500", ("test1", "test2"), "predicted", (0, 9), (100,)),
}
"""Paper, the two models, tests, side, and the bands where the gain should be larger and smaller."""
FREQUENT, RARE = (0, 0, 0, 0, -0.3, -0.3), (-0.3, -0.3, -0.3, 0, 0, 0)


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("shift", [FREQUENT, RARE], ids=["frequent", "rare"])
def test_the_answer_is_that_of_the_gains_in_the_two_bands(key, shift):
    name, base, better, tests, side, more, less = CASES[key]
    paper = project().papers[name]
    protocol = paper.experiments[base].training.protocol
    first, one = evaluated(base, (0,) * 6, tests, (0, 1, 2), protocol)
    second, other = evaluated(better, shift, tests, (4, 5, 6), protocol)
    table = Table({runs.name: runs for runs in (first, second)}, lends_sds=False).replace_by_evaluations()
    verdict = decide(paper.claims[key], replace(table, lends_sds=False))
    (comparison,) = verdict.comparisons
    contrasts = [[pooled(b, side, *more) - pooled(b, side, *less) for b in runs] for runs in (one, other)]
    assert comparison.estimate == pytest.approx(mean(contrasts[0]) - mean(contrasts[1]))
    test = ttest_ind(*contrasts, equal_var=False, alternative="greater")
    assert comparison.p == pytest.approx(test.pvalue)
    assert comparison.n == {base: 3, better: 3}
    assert verdict.answer == ("agrees" if (key == "R25") == (shift is FREQUENT) else "disagrees")
    rows = {(row["side"], row["band"]): row for row in list_losses_by_count((first, second), paper.claims[key].split)}
    assert len(rows) == 2 * len(COUNTS)
    tens = [pooled(b, side, 10, 10) for b in other]
    assert rows[side, "10-99"][f"{better}.mean"] == pytest.approx(mean(tens))
    assert rows[side, "10-99"][f"{better}.std"] == pytest.approx(stdev(tens))


def test_without_evaluations_the_claim_is_not_run_and_says_of_which_models():
    paper = project().papers["rrntn"]
    trained, _ = evaluated("s-rnn-100", (0,) * 6, ("test",), (0, 1, 2), "subsequence-sgd")
    other = runs("r-rntn-100-k100", [90.0, 91.0], protocol="subsequence-sgd")
    table = Table({experiment.name: experiment for experiment in (trained, other)})
    decision = judge("R25", paper.claims["R25"], paper.model_copy(update={"assumptions": {}}), table, "paper")
    assert (decision.answer, decision.n) == ("not run", {"r-rntn-100-k100": 0, "s-rnn-100": 3})
    assert [(note.kind, note.titles) for note in decision.notes] == [("not-evaluated", (other.title,))]


def test_a_replica_that_diverged_leaves_the_claim_open():
    paper = project().papers["rrntn"]
    first, _ = evaluated("s-rnn-100", (0,) * 6, ("test",), (0, 1, 2), "subsequence-sgd")
    second, _ = evaluated("r-rntn-100-k100", FREQUENT, ("test",), (0, 1), "subsequence-sgd")
    diverged = [replace(r, ended=False) for r in runs("x", [], diverged=1).replicas]
    table = Table({"s-rnn-100": first, "r-rntn-100-k100": replace(second, replicas=diverged)}).replace_by_evaluations()
    assert decide(paper.claims["R25"], table).answer == "undecided"


def test_protocols_that_say_so_have_losses_of_single_words():
    from importlib import import_module

    from reprise.training.protocol import Learner

    for name, protocol in PROTOCOLS.items():
        module, _, cls = protocol.target.partition(":")
        own = getattr(getattr(import_module(module), cls), "read_words", Learner.read_words)
        assert bool(protocol.losses_by_count) == (own is not Learner.read_words), name


@pytest.mark.parametrize(
    ("paper", "experiment", "metric", "split"),
    [
        ("rrntn", "s-rnn-100", "loss_by_count/read/5-", "test"),
        ("rrntn", "s-rnn-100", "loss_by_count/heard/0-99", "test"),
        ("rrntn", "s-rnn-100", "loss_by_count/read/0-99", "valid"),
        ("rrntn", "s-rnn-100", "loss_by_count/read/0-99", "tests"),
        ("rrntn", "gru-244", "loss_by_count/read/0-99", "test"),
    ],
)
def test_a_loss_that_no_evaluation_has_is_one_line(paper, experiment, metric, split):
    with pytest.raises(UserError, match="here") as caught:
        check_measured(project().papers[paper].experiments[experiment], metric, split, "here")
    assert "\n" not in str(caught.value)
    check_measured(project().papers["llrnn"].experiments["rnn"], "loss_by_count/read/0", "tests", "here")


def test_collect_has_a_row_a_band_and_the_claims_of_records_stay(clone):
    one = resolved()["words/s-rnn-4"]
    leave("rnn-t5", 0.3)
    assert main(["collect", "--tier", "quick"]) == 0
    before = (clone / "results/quick/metrics.csv").read_text("utf-8")
    place(clone, evaluation(0, losses((0,) * 6, 0, ("test",)), resolved=one), tier="quick")
    assert main(["collect", "--tier", "quick"]) == 0
    with (clone / "results/quick/metrics.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"].startswith("loss_by_count/")]
    assert {(row["experiment"], row["split"], row["status"]) for row in rows} == {("s-rnn-4", "test", "finished")}
    assert [int(row["n"]) for row in rows[: len(WORDS)]] == list(WORDS)
    assert len(rows) == 2 * len(COUNTS)
    text = (clone / "results/quick/metrics.csv").read_text("utf-8")
    assert text.startswith(before)
    assert (verify(), verify("--check")) == (0, 0)
