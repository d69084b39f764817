"""The page without a browser: its size, its folded parts, the forest plot and the first screen's words."""

from __future__ import annotations

import base64
import json
import re
import zlib
from xml.etree import ElementTree

import pytest
from report_case import make_project, resolve
from test_golden import contexts, project

from reprise.report.page.answers import answers
from reprise.report.page.forest import HIGH, LOW, Row, forest
from reprise.report.page.page import packed, page
from reprise.report.parts.context import load_contexts
from reprise.report.parts.words import cut

# The page of all committed records is written once, for all of them.
pytestmark = pytest.mark.slow

LIMIT = 3_000_000


@pytest.fixture(scope="module")
def text() -> str:
    return page(project(), contexts())


def folded(text: str) -> dict[str, str]:
    found = re.findall(r'<script type="text/plain" data-name="([^"]+)">([^<]+)</script>', text)
    return {name: zlib.decompress(base64.b64decode(part)).decode("utf-8") for name, part in found}


def test_the_page_of_the_committed_results_is_under_three_megabytes_and_needs_no_network(text):
    assert len(text.encode("utf-8")) < LIMIT
    everything = text + "".join(folded(text).values())
    assert not re.search(r'(?:src|href)="(?:https?:)?//[^"]+\.(?:js|css|woff2?|png|svg)"', everything)


def test_every_paper_has_a_sentence_and_every_claim_a_place_on_the_first_screen(text):
    shown = text.partition('<form class="search"')[0]
    for name, context in contexts()["paper"].items():
        assert f'<a href="#{name}">' in shown
        for claim in context.paper.claims:
            assert f'href="#{name}/{claim}"' in shown, claim


def test_every_claim_experiment_and_display_with_results_is_found_in_the_index(text):
    parts = folded(text)
    addresses = {address for address, _ in json.loads(parts["index"])}
    for tier, papers in contexts().items():
        for name, context in papers.items():
            ran = {
                f"{name}/{tier}/experiments/{e.experiment}"
                for e in context.experiments
                if context.status(e.experiment).run
            }
            assert ran <= addresses
            assert {f"{name}/{key}" for key in context.paper.claims} <= addresses
    assert "gso/paper/figure-1" not in addresses  # nothing of it was run: no empty box
    assert "gso/reduced/figure-1" in addresses


def test_what_is_packed_comes_back():
    assert zlib.decompress(base64.b64decode(packed("a – b"))).decode("utf-8") == "a – b"


def test_a_paper_without_claims_or_results_has_a_page(tmp_path):
    made = make_project(tmp_path, metrics=[], curves=[])
    text = page(made, {"paper": load_contexts(made, resolve())})
    assert "A toy paper" in "".join(folded(text).values())


def row(**changed) -> Row:
    made = {"group": "001 A & B", "label": "R1  x < y", "link": "p/R1", "kind": "agrees", "full": True}
    return Row(**made | {"ratio": 1.0, "low": 0.5, "high": 1.5} | changed)


def circles(svg: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(svg).findall(".//{http://www.w3.org/2000/svg}circle")


@pytest.mark.parametrize("narrow", [False, True])
def test_ratios_stand_at_their_place_and_reduced_ones_are_hollow(narrow):
    rows = [row(ratio=0.0), row(full=False), row(ratio=2.0)]
    marks = circles(forest(rows, narrow))
    x = [float(mark.get("cx")) for mark in marks]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1])
    assert [("hollow" in mark.get("class")) for mark in marks] == [False, True, False]


@pytest.mark.parametrize(("ratio", "low", "high"), [(LOW - 1, LOW - 2, 0.0), (HIGH + 9, HIGH + 8, HIGH + 10)])
def test_what_leaves_the_axis_is_an_arrow_with_its_number(ratio, low, high):
    svg = forest([row(ratio=ratio, low=low, high=high)], alone=True)
    tree = ElementTree.fromstring(svg)
    assert circles(svg) == []
    assert len(tree.findall(".//{http://www.w3.org/2000/svg}polygon")) == 1
    number = f"{ratio:.2f}" if abs(ratio) < 9.995 else f"{ratio:.0f}"
    assert number.replace("-", "−") in "".join(tree.itertext())
    assert svg == forest([row(ratio=ratio, low=low, high=high)], alone=True)


def test_a_label_is_cut_at_a_word():
    assert cut("The r-RNTN scales with H.", 60) == "The r-RNTN scales with H"
    assert cut("one two three", 8) == "one two …"


def test_a_claim_is_answered_by_the_fullest_tier_that_ran_it():
    found = {(a.paper, a.claim): a for a in answers({t: contexts()[t] for t in ("paper", "reduced")})}
    assert found["rrntn", "R1"].tier == "paper"
    assert found["gso", "G1"].tier == "reduced"
    assert found["gso", "G1"].ratio < 0
