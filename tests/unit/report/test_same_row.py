"""Page, README, claims.json, Markdown and terminal: of every claim the same numbers, whoever shows them."""

import html
import math
import re

import pytest
from report_case import contexts, project

from reprise.cli.show import write_claim
from reprise.report.page.page import TIERS, make_blocks
from reprise.report.page.readme import render_results
from reprise.report.papers.shared.tables import claims as claims_table
from reprise.report.parts.answers import collect_answers
from reprise.report.parts.rows import make_claim_cells, make_co_primary_rows, make_comparison_cells
from reprise.report.parts.summary import summarise

CLAIMS = [(paper, key) for paper, content in project().papers.items() for key in content.claims]


@pytest.fixture(scope="module")
def answered():
    return {
        (answer.paper, answer.claim): answer
        for answer in collect_answers({t: contexts()[t] for t in ("paper", "reduced")})
    }


@pytest.fixture(scope="module")
def sections():
    """The folded section of every document on the page."""
    tiers = {tier: contexts()[tier] for tier in TIERS if tier in contexts()}
    blocks = {}
    for document in summarise(tiers).documents:
        made, _ = make_blocks(project(), document, {t: c[document.id] for t, c in tiers.items()})
        blocks[document.id] = made[document.id]
    return blocks


@pytest.fixture(scope="module")
def markdown():
    return {
        (t, p): claims_table(contexts()[t][p], "claims", {}).to_markdown()
        for t in ("paper", "reduced")
        for p in project().papers
    }


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "key"), CLAIMS)
def test_every_reader_has_the_same_numbers(paper, key, answered, sections, markdown, monkeypatch):
    answer = answered[paper, key]
    cells = answer.cells
    assert cells == make_claim_cells(key, answer.title, contexts()[answer.tier][paper].claims[key])
    (summary,) = re.findall(
        rf'<details class="claim" id="{paper}/{key}"><summary[^>]*>(.*?)</summary>', sections[paper]
    )
    spans = [
        html.unescape(re.sub("<[^>]+>", "", text)).strip() for text in re.findall(r"<span.*?>(.*?)</span>", summary)
    ]
    assert tuple(spans) == cells.texts
    text = markdown[answer.tier, paper].replace("\\", "")
    if cells.ours:
        assert " | ".join((cells.paper, cells.ours, cells.n, cells.answer)) in text
    monkeypatch.setenv("COLUMNS", "200")
    decisions = {tier: papers[paper].claims.get(key) for tier, papers in contexts().items()}
    terminal = " ".join(write_claim(paper, key, project().papers[paper], decisions).split())
    assert cells.answer in terminal
    assert " ".join(cells.ours.split()) in terminal


def test_a_margin_is_shown_as_the_change_that_it_allows():
    weakest = contexts()["paper"]["gso"].claims["G8"].weakest
    weakest = weakest.model_copy(update={"estimate": -0.0129, "signed_estimate": -0.0029})
    shown = {kind: make_comparison_cells(weakest, kind) for kind in ("superiority", "non-inferiority", "equivalence")}
    assert [cells.ours.partition("; ")[2] for cells in shown.values()] == ["", "allowed +0.0100)", "allowed ±0.0100)"]
    assert [cells.size != "" for cells in shown.values()] == [True, False, False]
    # In logarithms, a perplexity of at most 2 % more.
    relative = weakest.model_copy(
        update={"scale": "log", "signed_estimate": -0.0129 + math.log(1.02), "interval": None}
    )
    assert make_comparison_cells(relative, "non-inferiority").ours.endswith("; allowed +2.00 %)")


def test_a_setting_that_lacks_comparisons_says_how_many_it_has():
    decision = contexts()["paper"]["rrntn"].claims["R20"]
    (row,) = make_co_primary_rows(decision, lambda suffix: suffix)
    assert len(decision.co_primary["schedule=rnnlm"].comparisons) == 1
    assert "(1 of 2 comparisons; it holds)" in row.compared


def test_readme_has_the_row_of_every_main_claim():
    summary = summarise(contexts())
    lines = [line for line in render_results(summary).splitlines() if line.startswith("| **")]
    assert len(lines) == len(summary.documents)
    for line, document in zip(lines, summary.documents, strict=True):
        cells = document.main_answer.cells if document.main_answer else None
        assert cells is None or all(
            text in line for text in (cells.claim, cells.compared, cells.paper, cells.ours, cells.n)
        )
