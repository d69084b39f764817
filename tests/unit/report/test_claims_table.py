"""The table of claims: a row a claim and a comparison, and the rest folded below."""

import math

import pytest
from report_case import contexts, project

from reprise.evidence.decisions import Curvature, Difference, Gap, Term, Trend
from reprise.evidence.verdicts import JUDGED
from reprise.report.papers.shared.tables import claims
from reprise.report.parts.rows import make_comparison_cells, select_marks


@pytest.mark.parametrize("tier", ["paper", "reduced"])
@pytest.mark.parametrize("paper", list(project().papers))
def test_no_cell_is_cut_and_every_claim_has_a_row(tier, paper):
    context = contexts()[tier][paper]
    table = claims(context, "claims", {})
    text = table.to_markdown()
    assert len(table.columns) <= 7
    for key, claim in context.paper.claims.items():
        decision = context.claims[key]
        assert text.count(f"<summary>{key}: ") == 1
        assert claim.place in text
        if decision.answer in JUDGED:
            comparisons = len(decision.comparisons)  # one stands in its claim's row
            assert (table.rows.key == key).sum() == 1 + len(decision.co_primary) + (
                comparisons if comparisons > 1 else 0
            )


def make_cells(printed, titles="AB", means=(1.0, 1.0), label="", metrics=("perplexity",) * 4, **changed):
    """The cells of a difference of perplexities, or of a gap, of which a paper prints these."""
    shared = {"split": "test", "unit": None, "paper_unit": None}
    terms = tuple(
        Term(experiment="ab"[i % 2], title=title, metric=metric, weight=weight, paper=paper, mean=mean, **shared)
        for i, (title, metric, paper, mean, weight) in enumerate(
            zip(titles, metrics, printed, means, (1, -1, -1, 1), strict=False)
        )
    )
    numbers = {"scale": "log", "unit": "1", "estimate": math.log(1.25), "interval": (0.0, math.log(1.5)), "error": 0.1}
    numbers |= {
        "level": 0.95,
        "counts": "seeds",
        "paper_converted": math.log(1.1),
        "n": {"a": 3, "b": 1},
        "signed_estimate": 0.1,
    }
    rest = dict.fromkeys(("bartlett_p", "paper", "paper_unit", "paper_band", "size", "ratio"))
    numbers |= changed
    kind = numbers.pop("kind", Gap if label else Difference)
    return make_comparison_cells(kind(label=label, answer="agrees", terms=terms, borrowed=("b",), **numbers, **rest))


@pytest.mark.parametrize(
    ("kind", "estimate", "change"),
    [(Trend, -math.log(0.99) / math.log(2), "−1.00 % per doubling"), (Curvature, 0.02, "+0.97 % per squared doubling")],
)
def test_slopes_are_given_per_doubling(kind, estimate, change):
    cells = make_cells((None, None), kind=kind, estimate=estimate, interval=None, error=None)
    assert cells.ours == change
    nats = {"scale": "difference", "interval": (0.3, 0.5), "error": 0.1, "estimate": 0.4}
    cells = make_cells((None, None), kind=kind, **nats)
    assert (
        cells.ours
        == {
            Trend: "−0.277 per doubling [−0.347, −0.208]",
            Curvature: "+0.192 per squared doubling [+0.144, +0.240]",
        }[kind]
    )


def test_differences_of_perplexities_are_in_per_cent_of_the_higher():
    cells = make_cells((None, None))
    expected = "test perplexity: A → B", "−9.1 %", "1.00 → 1.00 (−20.0 % [−33.3, 0.0])", "3 → 1 seeds†"
    assert (cells.compared, cells.paper, cells.ours, cells.n) == expected


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ((146.7, 130.0), "146.7 → 130.0 (−9.1 %)"),
        ((5.0, 4.17), "5.00 → 4.17 (−9.1 %)"),
        ((120, 110), "120 → 110 (−9.1 %)"),
    ],
)
def test_printed_numbers_have_the_decimals_of_the_longer_one(printed, text):
    assert make_cells(printed).paper == text


def test_a_gap_shows_both_gains_and_what_is_between_them():
    cells = make_cells((100, 80, 50, 45), "ABCD", (100.0, 90.0, 200.0, 190.0), "gain of B, minus gain of D")
    assert cells.compared == "test perplexity: gain of B, minus gain of D"
    assert cells.ours.startswith("10.0 % and 5.0 % (")  # of 100 and of 200
    assert cells.paper == "20.0 % and 10.0 % (+10.0 %)"
    assert "Gain" in select_marks([cells.compared])


def test_the_mean_of_a_sweep_is_named_by_its_ends():
    titles = ["A, K = 10 (late)", "B, K = 10 (late)", "B, K = 30 (late)", "A, K = 30 (late)"]
    cells = make_cells((None,) * 4, titles, (1.0,) * 4)
    assert "A, K = 10 to 30 (late), mean of 2" in cells.compared


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        (("accuracy_at_25", "accuracy_at_8"), "A: test accuracy over 8 → 25 words"),
        (
            ("stored_order_2_halved_1_times", "stored_order_2"),
            "in the test text → number of different 2-grams in 1/2 of",
        ),
    ],
)
def test_two_metrics_of_a_model_share_the_words_that_both_begin_or_end_with(metrics, text):
    assert text in make_cells((None, None), "AA", metrics=metrics, scale="difference").compared


@pytest.mark.parametrize(
    ("means", "text"),
    [((0.7597, 0.835), "0.7597 → 0.8350"), ((-30.0, -34.784), "−30.00 → −34.78"), ((7.0, 5.0), "7 → 5")],
)
def test_calculated_numbers_have_equally_many_decimals(means, text):
    cells = make_cells((None, None), means=means, scale="difference", counts="exact", error=None, interval=None)
    assert cells.ours.startswith(f"{text} (")


@pytest.mark.parametrize(
    ("mark", "text"), [("a → b", "0.38 → 0.82"), ("†", "4 seeds†"), ("Reduced budget", "agrees (reduced budget)")]
)
def test_a_mark_is_explained_where_it_stands(mark, text):
    assert mark in select_marks(["R1", text])
    assert mark not in select_marks(["R1"])
    assert {"Runs", "Size"} <= select_marks(["R1"]).keys()


def list_claims_notes(paper):
    """The notes under the table of claims of a committed paper."""
    return claims(contexts()["paper"][paper], "claims", {}).notes


@pytest.mark.parametrize(("paper", "is_noted"), [("palindromes", True), ("books", True), ("rrntn", False)])
def test_numbers_that_the_document_does_not_print_are_said_to_be_the_authors(paper, is_noted):
    notes = [note for note in list_claims_notes(paper) if note.startswith("Paper: ")]
    assert ["author's log" in note for note in notes] == [True] * is_noted


@pytest.mark.parametrize("paper", list(project().papers))
def test_deviations_stand_below_the_claims_that_they_touch(paper):
    for key, deviation in project().papers[paper].deviations.items():
        assert f"Deviation {key}: {deviation.title}." in list_claims_notes(paper)
