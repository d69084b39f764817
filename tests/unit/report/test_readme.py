"""README's results are what the committed files say; the command it names trains a committed record again."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from report_case import ROOT, contexts, experiments, make_project

from reprise import cli
from reprise.config.schema import Deviation
from reprise.errors import UserError
from reprise.records.resolved import FULL
from reprise.report.page.readme import BEGIN, END, render_results, write_results
from reprise.report.parts.answers import DECIDED_ANSWERS
from reprise.report.parts.context import load_contexts
from reprise.report.parts.summary import summarise

DEVIATION = Deviation(title="other text", why="licence", data=True)


def test_what_stands_around_the_results_is_kept(tmp_path):
    project = make_project(tmp_path)
    tiers = {"paper": load_contexts(project, experiments())}
    path = tmp_path / "README.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    write_results(project, tiers)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n{render_results(summarise(tiers))}\n")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "\nold\n" not in text
    assert (tmp_path / "results/forest.svg").is_file()
    path.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"README\.md: no lines"):
        write_results(project, tiers)
    assert path.read_text(encoding="utf-8") == "no marks\n"


def test_the_results_are_short():
    """A line a document and 34 others, six notes, and 25 words in a sentence; a reader has half a minute."""
    summary = summarise(contexts())
    text = render_results(summary)
    assert len(text.splitlines()) <= 34 + len(summary.documents)
    assert len([line for line in text.splitlines() if line.startswith("- ")]) <= 6
    prose = " ".join(line for line in text.splitlines() if not line.startswith("|"))
    assert [s for s in re.split(r"(?<=[.:;]) |- ", prose) if len(s.split()) > 25] == []


def test_distances_from_printed_numbers_are_those_of_the_full_protocol():
    summary = summarise(contexts())
    assert {row.document.number for row in summary.number_distances} >= {"000", "001", "002"}
    for row in summary.number_distances:
        assert row.document.context.tier == "paper"
        assert 0 <= row.distance.covered <= row.distance.predicted <= row.distance.rows == len(row.distance.gaps)
        assert all(gap <= row.distance.gaps[row.distance.farthest] for gap in row.distance.gaps.values())
    assert summarise({"reduced": contexts()["reduced"]}).number_distances == []


def test_every_claim_on_trained_models_is_counted_once():
    summary = summarise(contexts())
    counted = sum(int(n) for d in summary.documents for n in [*d.counts_text.split(" / "), d.unanswered_count])
    trained = [
        c for context in contexts()["paper"].values() for c in context.claims.values() if c.evidence == "trained"
    ]
    assert counted == summary.trained_count == len(trained)
    text = render_results(summary)
    for document in summary.documents:
        assert document.counts_links in text
        tiers = Counter(answer.tier for answer in document.trained_answers if answer.answer in DECIDED_ANSWERS)
        main_tier = document.main_answer.tier if document.main_answer else FULL
        assert document.counts_links.count("](") == len({main_tier, *tiers})
        for tier, count in tiers.items():
            text_of_tier = document.counts_text if tier == main_tier else f"{count} at the tier {tier}"
            assert f"[{text_of_tier}](results/{tier}/tables/{document.id}-claims.md)" in document.counts_links


@pytest.mark.parametrize("paper", ["gso", "palindromes"])
def test_a_remark_stands_while_its_claims_have_the_answers_that_it_rests_on(paper):
    (document,) = (d for d in summarise(contexts()).documents if d.id == paper)
    remark = document.context.paper.headline.remark
    document = replace(document, answers=[answer_as(a, remark.while_) for a in document.answers])
    assert document.remark == remark.words
    for key, answer in remark.while_.items():
        other = "agrees" if answer == "undecided" else "undecided"
        changed = [answer_as(a, {key: other}) for a in document.answers]
        assert replace(document, answers=changed).remark == ""


def test_claims_in_the_text_have_the_answers_that_stand_behind_them():
    answers = {
        answer.claim: answer.answer for document in summarise(contexts()).documents for answer in document.answers
    }
    stated = re.findall(r"([A-Z]\d+[\w-]*) \((agrees|disagrees|undecided)\)", (ROOT / "README.md").read_text("utf-8"))
    assert stated
    assert [claim for claim, answer in stated if answers[claim] != answer] == []


def test_claims_and_data_of_two_papers_of_one_document_are_all_listed():
    summary = summarise(contexts())
    first, second = (d for d in summary.documents if d.number == "002")

    def contradict(document):
        answers = document.trained_answers
        opposite = [
            replace(answer_as(a, {a.claim: "agrees"}), lower_decisions=(answer_as(a, {a.claim: "disagrees"}).decision,))
            for a in answers[:1]
        ]
        return replace(document, answers=opposite + answers[1:])

    keys = [document.trained_answers[0].claim for document in (first, second)]
    documents = [contradict(first), contradict(second)]
    assert replace(summary, documents=documents).contradicted_claims == {"002": keys}
    deviations = {"one": DEVIATION, "two": DEVIATION.model_copy(update={"title": "other words"})}
    papers = [
        replace(d, context=replace(d.context, paper=d.context.paper.model_copy(update={"deviations": deviations})))
        for d in documents
    ]
    titles = [("002", "other text"), ("002", "other words")]
    assert replace(summary, documents=papers).replaced_data == titles * 2


def answer_as(answer, stated):
    """Return an answer with those that are stated of its claim, as chosen ("C1") and of a setting ("C1@a=b")."""
    decision = answer.decision
    alternatives = {
        name: one.model_copy(update={"answer": stated.get(f"{answer.claim}@{name}", one.answer)})
        for name, one in decision.alternatives.items()
    }
    chosen = stated.get(answer.claim, decision.answer)
    decision = decision.model_copy(update={"answer": chosen, "alternatives": alternatives})
    # A lower tier's settings count only where its answer is the same.
    return replace(answer, decision=decision, lower_decisions=())


def test_a_unit_that_the_papers_numbers_may_not_have_is_said_to_be_in_doubt():
    summary = summarise(contexts())
    units = [a for d in summary.documents for a in d.answers if a.decision and a.decision.kind == "unit"]
    assert units
    assert len(summary.doubtful_units) == sum(a.answer != "agrees" for a in units)
    assert all(f"({a.claim})" in " ".join(summary.doubtful_units) for a in units if a.answer != "agrees")


def test_corrections_and_unstable_training_runs_are_those_of_the_answers_that_are_shown():
    summary = summarise(contexts())
    sensitivity = summary.sensitivity
    assert len(sensitivity.agree) == summary.trained_counts["agrees"]
    assert set(sensitivity.holm) <= set(sensitivity.benjamini_hochberg) <= set(sensitivity.agree)
    decisions = {
        f"{d.number} {a.claim}": a.decision for d in summary.documents for a in d.trained_answers if a.decision
    }
    assert sensitivity.own_sds == {
        name: one.own_sds for name, one in decisions.items() if one.own_sds not in (None, one.answer)
    }
    assert sum(one.diverged for _, one in summary.failed_runs) == sum(summary.diverged_runs.values())
    assert sum(one.unstable for _, one in summary.failed_runs) == summary.unstable_count


def test_the_replica_that_one_may_doubt_has_a_record_of_the_engine_that_trains_it_again():
    """Replicas of one experiment may have been trained by several engines, whose numbers differ."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"python -m reprise train (.*again\.json)", text)
    arguments = cli.make_command_parser("train").parse_args(command.split())
    (experiment,) = [e for e in experiments(arguments.tier) if e.id == arguments.experiment]
    record = json.loads((ROOT / experiment.get_record_path(arguments.replica)).read_text(encoding="utf-8"))
    assert record["run"]["engine"] == arguments.engine == "fused"
