"""The table of claims: a comparison a row, within the width that GitHub shows, and the rest folded below."""

import math
import re

import pytest
from report_case import contexts, project

from reprise.evidence.decisions import Difference, Term
from reprise.evidence.verdicts import JUDGED
from reprise.report.papers.shared.tables import claims
from reprise.report.parts.verdicts import compared


@pytest.mark.parametrize("tier", ["paper", "reduced"])
@pytest.mark.parametrize("paper", list(project().papers))
def test_cells_are_narrow_and_every_claim_is_told(tier, paper):
    context = contexts()[tier][paper]
    table = claims(context, "claims", {})
    text = table.markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table.columns) <= 7
    assert max(len(cell.strip()) for row in rows for cell in re.split(r"(?<!\\)\|", row)) <= 80
    for key, claim in context.paper.claims.items():
        found = context.claims[key]
        assert text.count(f"<summary>{key}: ") == 1
        assert claim.place in text
        if found.answer in JUDGED:
            parts = len(found.comparisons)  # one stands in its claim's row
            assert (table.rows.claim == key).sum() == 1 + (parts if parts > 1 else 0)


def test_differences_of_perplexities_are_in_per_cent_of_the_higher():
    term = {"experiment": "a", "metric": "perplexity", "split": "test", "mean": 1.0}
    term |= dict.fromkeys(("unit", "paper", "paper_unit"))
    terms = (Term(title="A", weight=1.0, **term), Term(title="B", weight=-1.0, **term))
    numbers = {"scale": "log", "unit": "1", "estimate": math.log(1.25), "interval": (0.0, math.log(1.5)), "error": 0.1}
    numbers |= {"level": 0.95, "counts": "seeds", "paper_here": math.log(1.1), "n": {"a": 3, "b": 1}, "toward": 0.1}
    rest = dict.fromkeys(("doubt", "paper", "paper_unit", "paper_band", "size", "ratio"))
    found = compared(Difference(label="", answer="agrees", terms=terms, borrowed=(), **numbers, **rest))
    assert found == {"what": "A − B", "paper": "9.1 %", "ours": "20.0 % [0.0, 33.3]", "n": "1–3"}
