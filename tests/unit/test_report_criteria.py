"""How a verdict is decided stands on the page: the key above the claims, and each claim's kind, margin and method."""

from __future__ import annotations

import json
import re

import claims_helpers
import pytest
from test_report_case import PAPER, TIER, make_project, resolve

from reprise.config.claims import Claim
from reprise.evidence.verdicts import VERDICTS
from reprise.report.page import criteria
from reprise.report.parts.context import load_contexts
from reprise.report.page.overview import claim_rows
from reprise.report.page.page import page

MARGIN = {"value": 0.02, "is": "relative", "from": "ours: small enough"}


def claim(kind, **statistic):
    return Claim.model_validate({"text": "It is so.", "place": "Table 1", "kind": kind, **statistic})


def test_the_key_tells_every_verdict_and_every_kind():
    words = [word for word, _ in criteria.key()]
    assert {w for word in words for w in word.split(", ")} >= set(VERDICTS)
    kinds = {"superiority", "ordering", "non-inferiority", "equivalence", "threshold", "identity", "unit"}
    assert {w.strip().lower() for word in words for w in word.split(",")} >= kinds
    text = " ".join(meaning for _, meaning in criteria.key())
    for said in ("2.5 %", "95 %", "Holm", "Welch", "Nadeau and Bengio", "10 % of the paper's", "Clopper and Pearson"):
        assert said in text
    assert 8 <= len(words) <= 12


def test_a_claim_says_its_kind_margin_method_and_criterion():
    compare = {"lower": "a", "higher": "b"}
    method = {"method": "independent replicas, degrees of freedom after Welch and Satterthwaite"}
    assert criteria.decided_by(claim("superiority", compare=compare), {}) == "Superiority."
    found = criteria.decided_by(claim("non-inferiority", compare=compare, margin=MARGIN, criterion="So."), method)
    assert found == (
        "Non-inferiority: up to 2 % higher allowed (ours: small enough). Independent replicas, degrees of freedom "
        "after Welch and Satterthwaite. Criterion: So."
    )
    share = claim("threshold", share={"experiments": ["a"], "reaches": 1.0, "at_least": 0.5})
    assert criteria.decided_by(share, {}) == "Threshold: share of replicas that reach 1 above 50 %."
    between = claim("threshold", share={"experiments": ["a"], "reaches": 1.0, "at_least": 0.5, "at_most": 0.9})
    assert criteria.decided_by(between, {}) == "Threshold: share of replicas that reach 1 from 50 % to 90 %."
    level = claim("threshold", level={"experiments": ["a"], "at_most": 1.5})
    assert criteria.decided_by(level, {}) == "Threshold: mean below 1.5."
    whole = claim("threshold", level={"experiments": ["a"], "equals": 10000})
    assert criteria.decided_by(whole, {}) == "Threshold: mean exactly 10,000."
    assert criteria.decided_by(claim(None, checks=["identity"]), {"method": "computed error"}) == (
        "Identity. Computed error."
    )


@pytest.mark.parametrize(
    ("kind", "statistic", "words"),
    [
        ("superiority", {"compare": {"lower": "a", "higher": "b"}}, "at least 2 % lower asked"),
        ("non-inferiority", {"compare": {"lower": "a", "higher": "b"}}, "up to 2 % higher allowed"),
        ("equivalence", {"equal": [["a", "b"]]}, "a difference of less than 2 % allowed"),
        ("ordering", {"order": ["a", "b"]}, "up to 2 % higher allowed between neighbours"),
    ],
)
def test_a_margin_is_the_same_words_beside_the_claim_and_in_what_the_records_say(kind, statistic, words):
    given = claims_helpers.claim(kind, **statistic, margin=MARGIN)
    assert criteria.decided_by(given, {}) == f"{kind.capitalize()}: {words} (ours: small enough)."
    found = claims_helpers.decide(given, claims_helpers.runs("a", [10.0, 11.0]), claims_helpers.runs("b", [10.0, 12.0]))
    assert f"), {words}. " in found.sentence


def test_both_stand_on_the_page(tmp_path):
    project = make_project(tmp_path)
    entry = {"verdict": "reproduced", "sentence": "Holds.", "experiments": ["identity"], "alternatives": {}}
    found = {key: entry | {"method": "computed error"} for key in PAPER.claims}
    (tmp_path / "results" / TIER / "claims.json").write_text(json.dumps({"toy": found}))
    contexts = load_contexts(project, resolve())
    assert [row["decided"] for row in claim_rows(contexts.values())] == ["Identity. Computed error."] * 2
    text = page(project, contexts)
    assert text[text.index('id="toy-claim-C1"') :].split("</tr>")[0].count("Identity. Computed error.") == 1
    key = re.search(r"<details class=\"key\">.*?</details>", text, re.DOTALL)[0]
    assert text.index('<h2 id="claims">') < text.index(key) < text.index('id="claims-table"')
    assert key.count("<dt>") == len(criteria.key())
