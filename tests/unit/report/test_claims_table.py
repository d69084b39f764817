"""The table of claims: a row a claim and a comparison, and the rest folded below."""

import math

import pytest
from report_case import contexts, project

from reprise.evidence.decisions import Difference, Term
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


def make_cells(printed):
    """The cells of a difference of two perplexities, of which a paper prints these."""
    term = {"metric": "perplexity", "split": "test", "mean": 1.0, "unit": None, "paper_unit": None}
    terms = (
        Term(experiment="a", title="A", weight=1.0, paper=printed[0], **term),
        Term(experiment="b", title="B", weight=-1.0, paper=printed[1], **term),
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
    return make_comparison_cells(Difference(label="", answer="agrees", terms=terms, borrowed=("b",), **numbers, **rest))


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


@pytest.mark.parametrize(
    ("mark", "text"), [("a → b", "0.38 → 0.82"), ("†", "4 seeds†"), ("Reduced budget", "agrees (reduced budget)")]
)
def test_a_mark_is_explained_where_it_stands(mark, text):
    assert mark in select_marks(["R1", text])
    assert mark not in select_marks(["R1"])
    assert {"Runs", "Size"} <= select_marks(["R1"]).keys()
