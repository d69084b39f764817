"""The page without a browser: its size, its folded parts, the forest plot and the first screen's words."""

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from report_case import contexts, experiments, make_project, project

from reprise.errors import UserError
from reprise.evidence.decisions import Decision
from reprise.evidence.verdicts import NO_DATA
from reprise.report.page.forest import HIGH, LOW, plot_forest
from reprise.report.page.page import describe_alternatives, make_page
from reprise.report.parts.answers import Answer, collect_answers
from reprise.report.parts.context import load_contexts
from reprise.report.parts.verdicts import list_alternative_results
from reprise.report.render import render_displays

# The page of all committed records is written once, for all of them.
pytestmark = pytest.mark.slow

LIMIT = 3_000_000
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def text() -> str:
    return make_page(project(), contexts())


def folded(text: str) -> dict[str, str]:
    scripts = re.findall(r'<script type="text/plain" data-name="([^"]+)">([^<]+)</script>', text)
    return {name: zlib.decompress(base64.b64decode(part)).decode("utf-8") for name, part in scripts}


def test_the_page_of_the_committed_results_is_under_three_megabytes_and_needs_no_network(text):
    assert len(text.encode("utf-8")) < LIMIT
    everything = text + "".join(folded(text).values())
    assert not re.search(r'(?:src|href)="(?:https?:)?//[^"]+\.(?:js|css|woff2?|png|svg)"', everything)


def test_every_paper_has_its_main_claim_and_every_claim_a_square_on_the_first_screen(text):
    shown = text.partition('<form class="search"')[0]
    assert shown.count('<th scope="row"><a href=') == len(contexts()["paper"])
    for name, context in contexts()["paper"].items():
        assert f'<a href="#{name}">' in shown
        assert [claim for claim in context.paper.claims if f'href="#{name}/{claim}"' not in shown] == []


def test_the_first_screen_explains_its_marks_and_has_no_markdown(text):
    shown = text.partition('<form class="search"')[0]
    table, _, below = shown.partition("</tbody></table>")
    marks = {mark for mark in "*†" if mark in re.sub("<[^>]*>", "", table.partition("<tbody>")[2])}
    assert marks
    assert [mark for mark in marks if f"<b>{mark}</b>" not in below] == []
    assert "`" not in re.sub("<script.*?</script>|<style.*?</style>|<[^>]*>", "", shown, flags=re.DOTALL)


def test_every_claim_experiment_and_display_with_results_is_found_in_the_index(text):
    addresses = {address for address, _ in json.loads(folded(text)["index"])}
    for tier, papers in contexts().items():
        for name, context in papers.items():
            ran = {e.experiment for e in context.experiments if context.get_status(e.experiment).recorded}
            assert {f"{name}/{tier}/experiments/{experiment}" for experiment in ran} <= addresses
            assert {f"{name}/{key}" for key in context.paper.claims} <= addresses


@pytest.mark.parametrize("query", ["table 4", "dropout", "adam", "lstm"])
def test_the_search_finds_tables_settings_and_models_by_the_words_that_people_use(text, query):
    assert any(query in words.lower() for _, words in json.loads(folded(text)["index"]))


def test_nothing_of_a_claim_below_its_tier_is_an_empty_box(text):
    addresses = {address for address, _ in json.loads(folded(text)["index"])}
    # Nothing of it was run at the full size: no empty box.
    assert addresses & {f"llrnn/{tier}/table-4" for tier in ("paper", "reduced")} == {"llrnn/reduced/table-4"}


def test_nothing_from_a_file_is_markup_on_the_page(tmp_path):
    """Tables are drawn from data; a drawing is an image, in which a browser runs nothing."""
    made = make_project(tmp_path)
    contexts = load_contexts(made, experiments())
    render_displays(made, contexts, ["palindromes-convergence", "palindromes-figure-1"])
    folder = tmp_path / "results/paper"
    page = folded(make_page(made, {"paper": contexts}))["palindromes"]
    displays = re.findall('<figure class="display".*?</figure>', page, re.DOTALL)
    assert sorted(display.count("<table") for display in displays) == [0, 1]
    for file in (folder / "tables").iterdir():
        file.write_text('<img src=x onerror="planted()">', encoding="utf-8")
    assert folded(make_page(made, {"paper": contexts}))["palindromes"] == page
    drawing = folder / "figures/palindromes-figure-1.svg"
    drawing.write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="planted()"/>', encoding="utf-8")
    images = re.findall("<img[^>]*>", folded(make_page(made, {"paper": contexts}))["palindromes"])
    assert [image.count('"') for image in images] == [4]
    for content in (b"\xff\xfe", b"<svg", b"<p>planted</p>", b""):
        drawing.write_bytes(content)
        with pytest.raises(UserError, match=rf"{drawing}: .* render --tier paper"):
            make_page(made, {"paper": contexts})


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
    text = make_page(made, {"paper": load_contexts(made, experiments())})
    assert "vanilla RNN versus LSTM" in folded(text)["palindromes"]


def answer(ratio=1.0, low=0.5, high=1.5, claim="R1", tier="paper", afterwards=None) -> Answer:
    """An answer whose only comparison has this ratio to the paper's effect of 10.0 - 9.0."""
    terms = [
        {"experiment": name, "title": name, "metric": "perplexity", "split": "test", "weight": weight, "mean": paper,
         "unit": "1", "paper": paper, "paper_unit": None}
        for name, weight, paper in (("a", 1.0, 10.0), ("b", -1.0, 9.0))
    ]  # fmt: skip
    ends = dict.fromkeys(("p", "tail", "error", "bartlett_p", "paper_unit"))
    comparison = ends | {
        "kind": "difference", "label": "", "n": {"a": 3}, "counts": "seeds", "answer": "agrees", "terms": terms,
        "scale": "difference", "unit": "1", "estimate": ratio, "interval": None, "level": 0.95, "signed_estimate": 1.0,
        "borrowed": [],
        "paper": 1.0, "paper_converted": 1.0, "paper_band": [0.5, 2.0], "size": None,
        "ratio": {"value": ratio, "low": low, "high": high, "rounding": None},
    }  # fmt: skip
    none = dict.fromkeys(("method", "holds", "replicas", "contradicted_by", "settings", "own_sds"))
    content = none | {
        "answer": "agrees", "comparisons": [comparison], "experiments": ["a"], "n": {"a": 3}, "counts": "seeds",
        "levels": [], "claim": claim, "text": "x < y", "evidence": "trained", "kind": "superiority", "budget": "full",
        "afterwards": afterwards, "co_primary": {}, "alternatives": {},
    }  # fmt: skip
    return Answer("p", claim, "x < y", tier, Decision.model_validate(content))


def drawn(*answers: Answer, **options: bool) -> ElementTree.Element:
    return ElementTree.fromstring(plot_forest({"001 A & B": answers}, **options))


def rows(tree: ElementTree.Element, alone: bool = False) -> list[ElementTree.Element]:
    return tree.findall(f"{SVG}g" if alone else f"{SVG}a")


@pytest.mark.parametrize("narrow", [False, True])
def test_ours_stands_at_its_ratio_and_the_papers_at_one_reduced_ones_hollow(narrow):
    answers = answer(0.0, claim="R4", afterwards="bound"), answer(tier="reduced"), answer(2.0)
    tree = drawn(*answers, is_narrow=narrow)
    marks = [row.find(f"{SVG}circle") for row in rows(tree)]
    x = [float(mark.get("cx")) for mark in marks]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1])
    assert [("hollow" in mark.get("class")) for mark in marks] == [False, True, False]
    papers = {row.find(f"{SVG}path").get("d").split()[0] for row in rows(tree)}
    assert papers == {f"M{x[1]}"}
    assert "R4*  x < y" in [text.text for text in tree.iter(f"{SVG}text")]


def test_a_narrow_label_is_wrapped_by_the_letters_that_are_read():
    title = "x < y & y < z in the models' and the papers' names"
    (row,) = rows(drawn(replace(answer(), title=title), is_narrow=True))
    assert [text.text for text in row.iter(f"{SVG}text")][0] == f"R1  {title}"


@pytest.mark.parametrize(("ratio", "low", "high"), [(LOW - 1, LOW - 2, 0.0), (HIGH + 9, HIGH + 8, HIGH + 10)])
def test_what_leaves_the_axis_is_an_arrow_and_its_number_stands_once(ratio, low, high):
    (row,) = rows(drawn(answer(ratio, low, high), is_standalone=True), alone=True)
    assert row.findall(f"{SVG}circle") == []
    assert len(row.findall(f"{SVG}polygon")) == 1
    number = (f"{ratio:.2f}" if abs(ratio) < 9.995 else f"{ratio:.0f}").replace("-", "−")
    assert sum(number in (text.text or "") for text in row.findall(f"{SVG}text")) == 1


def test_the_band_of_the_papers_mark_is_what_rounding_leaves_of_its_effect():
    """An effect of 1 that may be 0.5 to 2 reaches from half the paper's to twice."""
    answers = answer(0.0), answer(1.0), answer(2.0)
    tree = drawn(*answers)
    places = [float(row.find(f"{SVG}circle").get("cx")) for row in rows(tree)]
    band = rows(tree)[0].find(f"{SVG}rect")
    left, width = float(band.get("x")), float(band.get("width"))
    assert left == pytest.approx((places[0] + places[1]) / 2, abs=0.1)
    assert left + width == pytest.approx(places[2], abs=0.1)


def test_a_claim_is_answered_by_the_fullest_tier_that_ran_it():
    answers = {(a.paper, a.claim): a for a in collect_answers({t: contexts()[t] for t in ("paper", "reduced")})}
    keys = ("rrntn", "R1"), ("rrntn", "R3"), ("rrntn", "R9"), ("gso", "G1"), ("llrnn", "L1")
    r1, r3, r9, g1, l1 = (answers[key] for key in keys)
    assert (r1.is_full_tier, r1.cells.n, l1.is_full_tier, g1.plotted_comparison.ratio.value < 0) == (
        True,
        "3 seeds",
        False,
        True,
    )
    assert (r3.plotted_comparison, r9.plotted_comparison, r3.cells.size, r9.cells.size) == (None, None, "", "")
    assert (r3.is_contradicted, r3.cells.claim.startswith("R3* ")) == (True, True)
    assert answers["rrntn", "R13"].answer != NO_DATA  # the reduced tier has a text


def test_an_alternative_that_a_lesser_tier_judges_is_said_to_be_judged_there():
    """Document 004 at its best epoch: the same records, which the fullest tier does not have."""
    tiers = {tier: contexts()[tier]["llrnn"] for tier in ("paper", "reduced")}
    (full,), (reduced,) = (
        [o for o in list_alternative_results(claims_of_tier) if o.suffix == "stopping=best-epoch"]
        for claims_of_tier in tiers.values()
    )
    assert not full.has_runs
    assert reduced.has_runs
    assert describe_alternatives(tiers)["stopping=best-epoch"].endswith(reduced.state)
