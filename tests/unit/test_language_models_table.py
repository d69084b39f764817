"""The table of perplexities: gaps, deviations, other corpora, and what went astray or was not run."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from test_report_case import METRICS, PAPER, TIER, make_context, metric, row
from test_report_tables import by

from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.measure import measure
from reprise.report.parts.spreads import difference_reach
from reprise.report.papers.rrntn.tables import perplexity

OURS = "Test perplexity: ours ± 95 % interval"


def test_perplexity_gap_is_absolute_and_in_deviations(tmp_path):
    table = perplexity(make_context(tmp_path), "perplexity", {})
    raw = table.rows.set_index("experiment").loc["ptb-a"]
    assert raw["mean"] == 141.0
    assert raw["std"] == pytest.approx(math.sqrt(2))
    assert raw.gap == pytest.approx(-5.7)
    assert raw.gap_in_std == pytest.approx(-5.7 / math.sqrt(2))
    read = by(table, "experiment")["ptb-a"]
    # A standard error of 1, and Student's law with one degree of freedom.
    assert read[OURS] == "141.00 ± 12.71"
    (said,) = [note for note in table.notes if note.startswith("±: half of the 95 % interval of the mean")]
    assert said.endswith("Gaps in deviations are in that deviation.")
    assert (read["Gap"], read["Gap in deviations"]) == ("−5.70", "−4.0")
    assert (read["Parameters"], read["Replicas"]) == ("1,000", "2 of 3")
    assert "A: at this tier 6 epochs at most in place of 60." in table.notes
    assert by(table, "experiment")["ptb-c"][OURS] == "not trained yet"


def test_the_deviation_of_two_replicas_that_agree_is_not_the_measure(tmp_path):
    values = {"ptb-a": (139.0, 145.0, 142.0), "ptb-c": (126.0, 126.1)}
    metrics = [metric(name, i, "perplexity", v, "test") for name, of in values.items() for i, v in enumerate(of)]
    table = perplexity(make_context(tmp_path, metrics=metrics), "perplexity", {})
    raw = table.rows.set_index("experiment")
    # Two replicas borrow from the family, as in verdicts: sums of squares 18 and 0.005 with 2 and 1 degrees of freedom,
    # each over the square of its mean, since a perplexity's deviation is lent as a share of it.
    share = math.sqrt((18 / 142**2 + 0.005 / 126.05**2) / 3)
    pooled = share * 126.05
    assert raw.gap_in_std["ptb-c"] == pytest.approx((126.05 - 131.2) / pooled)
    said = "Borrowed deviation of one replica: 1.73 % of the perplexity with 3 degrees of freedom, "
    said += "pooled over the family, whose members' own differ (Bartlett's test: p = 0.037) (C)."
    assert said in table.notes
    assert 100 * share == pytest.approx(1.73, abs=0.005)
    # The interval has the freedom of the pool: 3.1824 errors, not the 12.7 of the two replicas of C alone.
    assert raw.reach["ptb-c"] == pytest.approx(3.182446 * pooled / math.sqrt(2))
    # Three go by themselves.
    assert raw.gap_in_std["ptb-a"] == pytest.approx((142.0 - 146.7) / 3)
    assert raw.reach["ptb-a"] == pytest.approx(4.302653 * 3 / math.sqrt(3))


def test_a_table_says_of_a_difference_what_the_verdict_says(tmp_path):
    values = {"ptb-a": (139.0, 145.0, 142.0), "ptb-c": (126.0, 126.1)}
    metrics = [metric(name, i, "perplexity", v, "test") for name, of in values.items() for i, v in enumerate(of)]
    context = make_context(tmp_path, metrics=metrics)
    runs, quantity = context.replicas.runs, ("perplexity", "test")
    contrast = Contrast(((1.0, Term("ptb-a", quantity)), (-1.0, Term("ptb-c", quantity))))
    low, high = measure(contrast, runs, runs.values()).estimate.interval()
    assert difference_reach(context, "ptb-a", "ptb-c", *quantity) == pytest.approx((high - low) / 2)


def test_the_deviation_of_a_replica_alone_is_unknown(tmp_path):
    metrics = [metric("ptb-a", 0, "perplexity", 139.0, "test")]
    lone = perplexity(make_context(tmp_path, metrics=metrics), "perplexity", {})
    assert by(lone, "experiment")["ptb-a"]["Gap in deviations"] == "–"
    assert by(lone, "experiment")["ptb-a"][OURS] == "139.00"
    assert not [note for note in lone.notes if note.startswith(("±", "Borrowed deviation"))]


def course(values):
    common = {"metric": "cross_entropy", "split": "valid", "axis": "epoch"}
    return [row("ptb-a", 0, x=epoch + 1, value=math.log(v), **common) for epoch, v in enumerate(values)]


def test_a_validation_perplexity_that_blows_up_has_a_note(tmp_path):
    table = perplexity(make_context(tmp_path, curves=course([300, 228, 7967, 615])), "perplexity", {})
    assert table.notes[-1] == (
        "A went astray: epoch 2 of 4 was the best of replica 0, with a validation perplexity of 228; later ones had "
        "615 to 7,967 (epoch 3)."
    )
    ended = perplexity(make_context(tmp_path, curves=course([300, 228, 7967])), "perplexity", {})
    assert ended.notes[-1].endswith("a validation perplexity of 228; the one after it had 7,967.")
    before = perplexity(make_context(tmp_path, curves=course([7640, 300, 7967, 615, 228])), "perplexity", {})
    assert before.notes[-1] == (
        "A went astray: replica 0 rose to a validation perplexity of 7,967 in epoch 3; its best, 228, is that of "
        "epoch 5 of 5."
    )
    quiet = perplexity(make_context(tmp_path, curves=course([300, 228, 240, 230])), "perplexity", {})
    assert not [note for note in quiet.notes if "astray" in note]


def test_perplexity_on_another_corpus_is_not_set_beside_the_papers(tmp_path):
    entropy = metric("ptb-b", 0, "source_entropy", math.log(20), "test", "nats/token")
    table = perplexity(make_context(tmp_path, metrics=[*METRICS, entropy]), "perplexity", {})
    raw = table.rows.set_index("experiment").loc["ptb-b"]
    assert pd.isna(raw.paper)
    assert pd.isna(raw.gap)
    read = by(table, "experiment")["ptb-b"]
    assert (read["Corpus"], read["Test perplexity: paper"], read["Gap"]) == (
        "Markov text",
        "other corpus",
        "–",
    )
    assert (read[OURS], read["Least possible"]) == ("30.00", "20.00")
    assert (
        "B | b: trained on “Markov text” at this tier, not on “The treebank”, so that the paper's 133.7 is no measure "
        "of it."
    ) in table.notes
    without = perplexity(make_context(tmp_path), "perplexity", {})
    assert "Least possible" not in without.reading()
    one_corpus = {key: PAPER.experiments[key] for key in ("ptb-a", "ptb-c")}
    paper = PAPER.model_copy(update={"experiments": {"rnn-t10": PAPER.experiments["rnn-t10"], **one_corpus}})
    assert "Corpus" not in perplexity(make_context(tmp_path, paper=paper), "perplexity", {}).reading()


def test_models_on_another_corpus_share_a_sentence(tmp_path):
    experiments = dict(PAPER.experiments)
    for name in ("ptb-a", "ptb-c"):
        (tier, replicas), *_ = experiments[name].tiers.items()
        moved = {tier: replicas.model_copy(update={"dataset": "synthetic"})}
        experiments[name] = experiments[name].model_copy(update={"tiers": moved})
    paper = PAPER.model_copy(update={"experiments": experiments})
    notes = perplexity(make_context(tmp_path, paper=paper), "perplexity", {}).notes
    assert (
        "A; B | b; C: trained on “Markov text” at this tier, not on “The treebank”, so that the paper's 146.7, 133.7 "
        "and 131.2 are no measure of these."
    ) in notes


def test_a_model_on_another_corpus_that_the_paper_has_not_is_no_other_corpus_and_stands_beside_no_number(tmp_path):
    tiers = {TIER: PAPER.experiments["ptb-b"].tiers[TIER]}
    ours = PAPER.experiments["ptb-c"].model_copy(update={"reported": [], "tiers": tiers})
    none = ours.model_dump(by_alias=True) | {
        "title": "D",
        "reported": [{"metric": "perplexity", "split": "test", "value": None, "from": "paper Table 1"}],
    }
    experiments = {**PAPER.experiments, "ptb-c": ours, "ptb-d": type(ours).model_validate(none)}
    context = make_context(tmp_path, paper=PAPER.model_copy(update={"experiments": experiments}))
    table = perplexity(context, "perplexity", {})
    shown = {name: read["Test perplexity: paper"] for name, read in by(table, "experiment").items()}
    assert shown == {"ptb-a": "146.7", "ptb-b": "other corpus", "ptb-c": "–", "ptb-d": "not run by the paper"}
    assert [note for note in table.notes if "trained on" in note] == [
        "B | b: trained on “Markov text” at this tier, not on “The treebank”, so that the paper's 133.7 is no measure "
        "of it.",
        "C; D: trained on “Markov text” at this tier, not on “The treebank”.",
    ]


def test_a_model_that_has_run_without_a_perplexity_is_neither_diverged_nor_untrained(tmp_path):
    other = [metric("ptb-a", 0, "accuracy", 0.5, "test"), row("ptb-c", 0, status="diverged")]
    read = by(perplexity(make_context(tmp_path, metrics=other), "perplexity", {}), "experiment")
    found = {name: shown[OURS] for name, shown in read.items()}
    assert found == {"ptb-a": "not measured", "ptb-b": "not trained yet", "ptb-c": "diverged"}


def test_what_the_paper_did_not_run_says_so_and_has_its_parameters_counted(tmp_path):
    reported = [
        {"metric": "perplexity", "split": "test", "value": None, "from": "paper Table 1"},
        {"metric": "parameters", "split": "model", "value": 388873051, "from": "ours: counted"},
    ]
    absent = PAPER.experiments["ptb-c"].model_dump(by_alias=True) | {"tiers": {}, "reported": reported}
    experiments = {**PAPER.experiments, "ptb-c": type(PAPER.experiments["ptb-c"]).model_validate(absent)}
    context = make_context(tmp_path, paper=PAPER.model_copy(update={"experiments": experiments}))
    read = by(perplexity(context, "perplexity", {}), "experiment")["ptb-c"]
    assert read["Test perplexity: paper"] == "not run by the paper"
    assert read[OURS] == "not run at this tier"
    assert (read["Parameters"], read["Replicas"], read["Gap"]) == ("388,873,051", "0", "–")
