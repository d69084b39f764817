"""Verdicts beside the numbers of other tables; tables of claims, of errata, and what a tier reduces."""

from __future__ import annotations

import json

import pandas as pd
from report_claims_helpers import TURNED, claim, judged, with_claims
from test_report_case import CONFIG, PAPER, TIER, make_context, setting, write_collected

from reprise.config.project import Project
from reprise.config.schema import Erratum
from reprise.report.parts import words, verdicts
from reprise.report.parts.context import load_contexts
from reprise.report.page.overview import claim_rows
from reprise.report.page.readme import section
from reprise.report.parts.tables import Table
from reprise.report.papers.shared.tables import errata
from reprise.report.papers.shared.tables import claims as claims_table
from reprise.report.papers.rrntn.tables import perplexity


def test_claims_stand_beside_the_experiments_they_rest_on(tmp_path):
    claims = {**TURNED, "C2": claim("not run", ["ptb-c", "ptb-a"])}
    context = with_claims(tmp_path, claims)
    table = perplexity(context, "perplexity", {})
    read = dict(zip(table.rows.experiment, table.reading().Claims, strict=True))
    assert read == {"ptb-a": "C1 reproduced; C2 not run", "ptb-b": "–", "ptb-c": "C1 reproduced; C2 not run"}
    assert verdicts.of_experiments(context, ["ptb-a@width=nine"]) == "C1 inconclusive"
    nothing = {"C1": claim("reproduced", ["identity"])}
    assert perplexity(with_claims(tmp_path, nothing), "perplexity", {}).notes[-1] == (
        "No claim of the paper is about these numbers."
    )
    assert "Claims" not in perplexity(with_claims(tmp_path, {}), "perplexity", {}).reading()


def test_rows_under_another_choice_say_whose_verdicts_stand_there(tmp_path):
    def noted(claims, *experiments):
        table = Table([], pd.DataFrame({"experiment": experiments}), [])
        return verdicts.beside(with_claims(tmp_path, claims), table, lambda row: ("*",)).notes

    (under,) = noted(TURNED, "ptb-a", "ptb-a@width=nine")
    assert under.startswith("Claims of a row under another choice have the verdicts")
    assert noted(TURNED, "ptb-a") == []
    # What this tier does not look at under the choice has claims at others.
    assert noted({"C1": claim("not run", ["ptb-a"])}, "ptb-a@width=nine") == []
    assert noted({"C1": claim("not run", ["ptb-c"])}, "ptb-a@width=nine") == [
        "No claim of the paper is about these numbers."
    ]


def test_the_claims_table_says_that_comparisons_are_tested_together(tmp_path):
    """1 of 10, at most 45 % by its interval, stood in an inconclusive claim of more than 50 %."""
    part = {"interval": [0.0, 0.45]}
    for parts, noted in (([part, part], True), ([part], False), ([{"interval": None}] * 2, False), ([{}, {}], False)):
        table = claims_table(with_claims(tmp_path, {k: TURNED[k] | {"parts": parts} for k in TURNED}), "checks", {})
        assert any("after Holm" in note for note in table.notes) is noted


def test_the_claims_table_tells_none_turns_it_from_none_run(tmp_path):
    claims = {**TURNED, "C2": claim("not run", ["ptb-a"], {"width=nine": judged("not run", "reproduced")})}
    read = claims_table(with_claims(tmp_path, claims), "checks", {}).reading().set_index("Claim")
    assert list(read.columns)[0] == "Verdict"
    assert read["Changes under"].to_dict() == {
        "C1": "width=nine (inconclusive); 1 of 2 alternatives run",
        "C2": "0 of 1 alternative run",
    }
    alone = {key: claim("reproduced", ["ptb-a"]) for key in PAPER.claims}
    read = claims_table(with_claims(tmp_path, alone), "checks", {}).reading()
    assert set(read["Changes under"]) == {"–"}


def test_another_verdict_of_the_tier_paper_stands_beside_a_reduced_one(tmp_path):
    """A claim that six epochs seem to refute may be open, or hold, after sixty: no reader is to take one for both."""
    full = with_claims(tmp_path, {"C1": claim("inconclusive", []), "C2": claim("reproduced", [])})
    assert full.in_full == {}
    write_collected(tmp_path / "results/reduced", [], [])
    here = {"C1": claim("not reproduced", []), "C2": claim("not run", [])}
    (tmp_path / "results/reduced/claims.json").write_text(json.dumps({"toy": here}), encoding="utf-8")
    config = CONFIG.model_copy(update={"tier": "reduced"})
    contexts = load_contexts(Project(tmp_path, config, {"toy": PAPER}), [])
    read = claims_table(contexts["toy"], "checks", {}).reading().set_index("Claim")["What the run records say"]
    assert read.to_dict() == {"C1": "So. At the tier paper: inconclusive.", "C2": "So. At the tier paper: reproduced."}
    assert [row["sentence"] for row in claim_rows(contexts.values())] == read.tolist()
    said = section(contexts).splitlines()[-1]
    assert said == "At the tier `paper` other verdicts: of document 002, C1 inconclusive."
    assert "other verdicts" not in section({"toy": full})


def test_reductions_are_said_with_what_they_stand_for(tmp_path):
    entry = PAPER.experiments["ptb-a"].model_dump(by_alias=True)
    entry["data"] |= {"lower_case": setting(True), "folds": setting(5)}
    entry["tiers"] = {TIER: {"replicas": 1, "max_epochs": 6, "matrices": 1, "lower_case": False, "seed": 3}}
    made = type(PAPER.experiments["ptb-a"]).model_validate(entry)
    paper = PAPER.model_copy(update={"experiments": {**PAPER.experiments, "ptb-a": made}})
    context = make_context(tmp_path, paper=paper)
    # One recurrence matrix is what the paper has, and no reduction; the seed is no setting of its file.
    said = "6 epochs at most in place of 60 and lower case False in place of True"
    assert words.reduced(context, "ptb-a") == said
    assert words.reductions(context, ["ptb-a"]) == [f"At this tier {words.reduced(context, 'ptb-a')}."]
    assert words.reductions(context, ["ptb-c"]) == []


def test_errata_are_a_table(tmp_path):
    found = Erratum(place="equation 4", says="K < |V|", right="K = |V| too", source="Figure 1")
    context = make_context(tmp_path, paper=PAPER.model_copy(update={"errata": [found]}))
    assert errata(context, "checks", {}).reading().to_dict("records") == [
        {
            "Place": "equation 4",
            "The paper says": "K < |V|",
            "What is right, or meant": "K = |V| too",
            "Known from": "Figure 1",
        }
    ]
