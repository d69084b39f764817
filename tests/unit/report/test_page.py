"""The page without a browser: its size, its folded parts, the forest plot and the first screen's words."""

import base64
import hashlib
import json
import re
import zlib
from xml.etree import ElementTree

import pytest
from report_case import contexts, experiments, make_project, project

from reprise.errors import UserError
from reprise.evidence.verdicts import NO_DATA
from reprise.report.page.answers import Answer, answers
from reprise.report.page.first import became
from reprise.report.page.forest import HIGH, LOW, forest
from reprise.report.page.page import page
from reprise.report.parts.context import load_contexts
from reprise.report.render import render

# The page of all committed records is written once, for all of them.
pytestmark = pytest.mark.slow

LIMIT = 3_000_000
SVG = "{http://www.w3.org/2000/svg}"


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


def test_every_paper_has_an_answer_and_every_claim_a_place_on_the_first_screen(text):
    shown = text.partition('<form class="search"')[0]
    sentences = re.findall(r"</b></a> ([^<:]+):", text.partition("</ul>")[0])
    heads = ("Replicates", "Does not replicate", "Undecided", "No answer")
    assert {said.partition(" (")[0].removesuffix(" at a reduced budget") for said in sentences} <= {*heads}
    assert len(sentences) == len(contexts()["paper"])
    for name, context in contexts()["paper"].items():
        assert f'<a href="#{name}">' in shown
        assert [claim for claim in context.paper.claims if f'href="#{name}/{claim}"' not in shown] == []


def test_every_claim_experiment_and_display_with_results_is_found_in_the_index(text):
    addresses = {address for address, _ in json.loads(folded(text)["index"])}
    for tier, papers in contexts().items():
        for name, context in papers.items():
            ran = {e.experiment for e in context.experiments if context.status(e.experiment).run}
            assert {f"{name}/{tier}/experiments/{experiment}" for experiment in ran} <= addresses
            assert {f"{name}/{key}" for key in context.paper.claims} <= addresses
    # Nothing of it was run at the full size: no empty box.
    assert addresses & {f"llrnn/{tier}/table-4" for tier in ("paper", "reduced")} == {"llrnn/reduced/table-4"}


def test_nothing_from_a_file_is_markup_on_the_page(tmp_path):
    """Tables are drawn from data; a drawing is an image, in which a browser runs nothing."""
    made = make_project(tmp_path)
    found = load_contexts(made, experiments())
    render(made, found, ["palindromes-convergence", "palindromes-figure-1"])
    folder = tmp_path / "results/paper"
    whole = folded(page(made, {"paper": found}))["palindromes/paper"]
    assert whole.count("<table") == 1
    for file in (folder / "tables").iterdir():
        file.write_text('<img src=x onerror="planted()">', encoding="utf-8")
    assert folded(page(made, {"paper": found}))["palindromes/paper"] == whole
    drawing = folder / "figures/palindromes-figure-1.svg"
    drawing.write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="planted()"/>', encoding="utf-8")
    images = re.findall("<img[^>]*>", folded(page(made, {"paper": found}))["palindromes/paper"])
    assert [image.count('"') for image in images] == [4]
    for content in (b"\xff\xfe", b"<svg", b"<p>planted</p>", b""):
        drawing.write_bytes(content)
        with pytest.raises(UserError, match=rf"{drawing}: .* render --tier paper"):
            page(made, {"paper": found})


def test_the_page_runs_its_own_script_alone(text):
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert not re.search(r"<[^>]+ on[a-z]+=", text + "".join(folded(text).values()))


def test_a_paper_without_claims_or_results_has_a_page(tmp_path):
    made = make_project(tmp_path, metrics=[], curves=[])
    text = page(made, {"paper": load_contexts(made, experiments())})
    assert "vanilla RNN versus LSTM" in folded(text)["palindromes"]


def answer(**changed) -> Answer:
    made = dict.fromkeys(Answer.__dataclass_fields__, "") | {
        "link": "p/R1",
        "text": "x < y",
        "kind": "agrees",
        "decided_below": False,
    }
    return Answer(**made | {"full": True, "ratio": 1.0, "low": 0.5, "high": 1.5} | changed)


def drawn(*found: Answer, **how: bool) -> ElementTree.Element:
    return ElementTree.fromstring(forest({"001 A & B": found}, **how))


@pytest.mark.parametrize("narrow", [False, True])
def test_ratios_stand_at_their_place_reduced_ones_hollow_and_criteria_set_afterwards_with_an_asterisk(narrow):
    found = answer(ratio=0.0, claim="R4", afterwards=True), answer(full=False), answer(ratio=2.0)
    tree = drawn(*found, narrow=narrow)
    marks = tree.findall(f".//{SVG}circle")
    x = [float(mark.get("cx")) for mark in marks]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1])
    assert [("hollow" in mark.get("class")) for mark in marks] == [False, True, False]
    assert narrow or "R4*  x < y" in [text.text for text in tree.iter(f"{SVG}text")]


@pytest.mark.parametrize(("ratio", "low", "high"), [(LOW - 1, LOW - 2, 0.0), (HIGH + 9, HIGH + 8, HIGH + 10)])
def test_what_leaves_the_axis_is_an_arrow_with_its_number(ratio, low, high):
    tree = drawn(answer(ratio=ratio, low=low, high=high), alone=True)
    assert tree.findall(f".//{SVG}circle") == []
    assert len(tree.findall(f".//{SVG}polygon")) == 1
    number = f"{ratio:.2f}" if abs(ratio) < 9.995 else f"{ratio:.0f}"
    assert number.replace("-", "−") in "".join(tree.itertext())


@pytest.mark.parametrize(
    ("direction", "full", "said"),
    [("agrees", True, "Replicates"), ("disagrees", False, "Does not replicate at a reduced budget")],
)
def test_the_first_word_is_the_answer_to_the_main_claim(direction, full, said):
    assert became(answer(direction=direction, full=full)) == said


def test_a_claim_is_answered_by_the_fullest_tier_that_ran_it():
    found = {(a.paper, a.claim): a for a in answers({t: contexts()[t] for t in ("paper", "reduced")})}
    asked = ("rrntn", "R1"), ("rrntn", "R3"), ("rrntn", "R9"), ("gso", "G1"), ("llrnn", "L1")
    r1, r3, r9, g1, l1 = (found[key] for key in asked)
    assert (r1.full, r1.n, l1.full, g1.ratio < 0) == (True, "3 seeds", False, True)
    assert (r3.ratio, r9.ratio, r9.size) == (None, None, "")
    assert r3.size.startswith("within the margin")
    assert (bool(r3.contradicted), r3.name) == (True, "R3*")
    assert found["rrntn", "R13"].direction != NO_DATA  # the reduced tier has a text
