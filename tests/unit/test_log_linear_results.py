"""Document 004's file, and its tables of results: their numbers and sentences against ones worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from test_report_case import row, write_collected

from reprise.catalogue.displays import of_experiments
from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import UserError
from reprise.report.context import load_contexts
from reprise.report.render import find_function
from reprise.report.tables.log_linear_results import controls, perplexities
from reprise.report.tables.log_linear_words import agreement, generated

ROOT = Path(__file__).parents[2]
SAMPLES = "results/reduced/samples.jsonl"


@pytest.fixture(scope="module")
def project():
    return load_project(ROOT, {"papers": ["llrnn"], "tier": "reduced"})


BELOW = {"rnn": 0.3, "c-baseline-log-b": 0.25}
"""By how much the loss of the best epoch is below that of the last, 0.05 of other models."""


def metrics(experiment, train, test1, test2, replica=0, variant="", **more):
    """The rows of a finished replica; `more` are other metrics of the split "tests" or, by name, of theirs."""
    common = {"paper": "llrnn", "variant": variant, "n": 100, "parameters": 1000, "unit": "nats/token"}
    found = {("train", "cross_entropy"): train, ("test1", "cross_entropy"): test1, ("test2", "cross_entropy"): test2}
    found |= {("tests", "cross_entropy"): (test1 + test2) / 2, ("test1", "cross_entropy_best"): test1 - 0.01}
    found |= {("tests", "cross_entropy_best"): (test1 + test2) / 2 - BELOW.get(experiment, 0.05)}
    found |= {("train", "cross_entropy_evaluated"): train - 0.1, ("train", "epochs"): 9, ("valid", "best_epoch"): 6}
    found |= {("tests", name): value for name, value in more.items()}
    return [row(experiment, replica, split=s, metric=m, value=v, **common) for (s, m), v in found.items()]


def context(project, root, rows, samples=(), tier="reduced"):
    write_collected(root / "results" / tier, rows, [])
    (root / "results" / tier / "samples.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples))
    config = project.config.model_copy(update={"tier": tier})
    made = Project(root, config, project.papers)
    return load_contexts(made, resolve_tier(project, tier))["llrnn"]


def by(table, column="experiment"):
    return dict(zip(table.rows[column], table.reading().to_dict("records"), strict=True))


RESULTS = [
    *metrics("rnn", 4.0, 6.0, 6.2),
    *metrics("rnn", 4.1, 6.2, 6.2, replica=1),
    *metrics("ll-m2500", 4.7, 5.0, 5.1),
    *metrics("ll-m500", 4.9, 5.2, 5.2),
    *metrics("c-baseline-log-b", 4.2, 5.5, 5.6),
    *metrics("c-one-hot-input", 4.6, 5.2, 5.3),
    *metrics("c-softmax-feature-input", 4.0, 6.2, 6.3),
]


def test_every_tier_resolves_and_every_table_has_its_function(project):
    names = {tier: {e.experiment for e in resolve_tier(project, tier)} for tier in ("quick", "reduced", "paper")}
    assert {"rnn", "ll-m10000", "c-small-softmax", "sequoia-rnn", "rnn@batch-size=batch-32"} <= names["reduced"]
    assert names["reduced"] == names["paper"]
    assert names["quick"] < names["paper"]
    replicas = {e.experiment: e.replicas for e in resolve_tier(project, "reduced")}
    assert [replicas[name] for name in ("rnn", "ll-m2500", "ll-m500", "rnn@batch-size=batch-32")] == [3, 3, 1, 1]
    paper = project.papers["llrnn"]
    for name, table in paper.tables.items():
        assert find_function("tables", table.function)
        cited = any(name in e.cited_by for e in paper.experiments.values())
        assert cited is of_experiments(table.function), name
    assert list(paper.claims) == [f"L{i}" for i in range(1, 14)]


def test_perplexities_stand_beside_those_of_the_paper(project, tmp_path):
    table = perplexities(context(project, tmp_path, RESULTS), "table-4", {})
    read = by(table)
    assert read["rnn"]["Test1: paper"] == "6.07"
    # 0.2 apart with one degree of freedom, which the family lends to models of one replica.
    std = 0.2 / math.sqrt(2)
    assert read["rnn"]["Test1: ours ± 95 % interval"] == f"6.100 ± {12.7062 * 0.1:.3f}"
    assert read["ll-m2500"]["Test1: ours ± 95 % interval"] == f"5.000 ± {12.7062 * std:.3f}"
    assert read["rnn"]["Test1: gap (in deviations)"] == f"+0.030 ({0.03 / std:.1f})"
    assert read["ll-m2500"]["Test1: gap (in deviations)"] == f"−0.080 (−{0.08 / std:.1f})"
    reread = read["rnn"]["Train: ours, reread with the last weights"]
    assert (reread, read["rnn"]["Test1, best epoch"]) == ("3.950", "6.090")
    assert (read["rnn"]["Epochs (best)"], read["rnn"]["Replicas"]) == ("9 (6)", "2 of 3")
    assert read["ll-m2500"]["Parameters"] == "1,000"
    assert read["ll-m10"]["Test2: ours ± 95 % interval"] == "not trained yet"
    factor = math.exp(6.1) / math.exp(5.0)
    (sentence,) = (n for n in table.notes if "factor" in n)
    assert f"a factor of {factor:.2f} (paper: 2.69)" in sentence
    assert "LL-RNN, M = 2500, the best of 2: a factor" in sentence
    two = [*metrics("sequoia-rnn", 4.0, 5.3, 5.3), *metrics("sequoia-ll-m2500", 4.1, 4.6, 4.6)]
    alone = perplexities(context(project, tmp_path, two), "sequoia", {})
    assert "of LL-RNN, M = 2500, Sequoia: a factor of" in alone.notes[1], "of one model there is no best"
    assert "release 2.5" in table.notes[0]
    assert "Paper: UD French (GSD), release 1.3" in table.notes[0]


def test_on_generated_text_the_papers_numbers_are_left_out(project, tmp_path):
    rows = [*metrics("rnn", 2.0, 2.5, 2.5), *metrics("ll-m2500", 2.0, 2.4, 2.4)]
    table = perplexities(context(project, tmp_path, rows, tier="quick"), "table-4", {})
    read = by(table)
    assert (read["rnn"]["Test1: paper"], read["ll-m5000"]["Test1: paper"]) == ("–", "5.13")
    assert not any("paper:" in note for note in table.notes)


def test_controls_say_what_they_change_and_by_how_much(project, tmp_path):
    options = {"base": "rnn", "full": "ll-m2500"}
    table = controls(context(project, tmp_path, RESULTS), "controls", options)
    rows, read = table.rows.set_index("experiment"), by(table)
    assert rows.beside["c-baseline-log-b"] == "RNN"
    assert read["c-baseline-log-b"]["Difference"] == "b of the entire corpus instead of no background b"
    assert read["c-one-hot-input"]["Difference"] == "one-hot input instead of feature input"
    assert read["c-softmax-feature-input"]["Difference"] == "feature input instead of one-hot input"
    assert read["c-small-softmax"]["Difference"] == (
        "embeddings of size 27 instead of 256; states of size 27 instead of 256"
    )
    assert read["c-no-identity"]["Difference"] == (
        "no feature of a word's own instead of a feature of its own for each frequent word"
    )
    assert rows.change["c-baseline-log-b"] == pytest.approx(5.55 - 6.15)
    assert (read["c-baseline-log-b"]["Change"], read["c-one-hot-input"]["Change"]) == ("−0.600", "+0.200")
    # rnn 6.15 over both replicas and tests, ll-m2500 5.05: 1.1 in all; at the best epochs 5.85 and 5.00
    assert rows.change_best["c-baseline-log-b"] == pytest.approx(5.30 - 5.85)
    assert read["c-baseline-log-b"]["Change, best epochs"] == "−0.550"
    assert (read["rnn"]["Change, best epochs"], read["c-train-only"]["Change, best epochs"]) == ("–", "–")
    assert table.notes[1] == (
        "LL-RNN, M = 2500 is 1.100 nats per token better than RNN on both tests together at the last epochs, and 0.850 "
        "better at the best ones."
    )
    assert table.notes[2:5:2] == [
        "RNN with b: 0.600 nats per token better than RNN, 55 % of that gain; at the best epochs 0.550 better, 65 % of "
        "the gain there.",
        "RNN with feature input: 0.100 nats per token worse than RNN, as much as 9 % of that gain; at the best "
        "epochs 0.350 worse, as much as 41 % of the gain there.",
    ]
    assert pd.isna(rows.change["c-train-only"])


def test_what_a_control_is_not_stands_under_the_table(project, tmp_path):
    """Issue 5: "features from training data alone" is not claimed of the rebuilt treebank."""
    for rows in (RESULTS, []):
        table = controls(context(project, tmp_path, rows), "controls", {"base": "rnn", "full": "ll-m2500"})
        start = (
            'LL-RNN, b and features from training data: At the tier "reduced", on the rebuilt treebank, the features'
        )
        assert table.notes[-1].startswith(start)


@pytest.mark.parametrize("option", ["base", "full"])
def test_a_control_that_is_set_beside_no_model_of_the_table_is_told(project, tmp_path, option):
    options = {"base": "rnn", "full": "ll-m2500", option: "ll-m25000"}
    with pytest.raises(UserError, match=rf"llrnn\.yaml: key tables\.controls\.options\.{option}: 'll-m25000' is"):
        controls(context(project, tmp_path, []), "controls", options)


def test_controls_without_results_have_no_sentences(project, tmp_path):
    table = controls(context(project, tmp_path, []), "controls", {"base": "rnn", "full": "ll-m2500"})
    assert len(table.notes) == 2  # the corpora, and a control's own note
    assert set(table.reading()["Test1 ± 95 % interval"]) == {"not trained yet"}


def sample(text, replica=0):
    words = text.split()
    features = ["TOPFORM:@notTop, POS:NOUN" if len(word) > 4 else f"TOPFORM:{word}, POS:X" for word in words]
    keys = {
        "paper": "llrnn",
        "experiment": "ll-m2500",
        "variant": "",
        "status": "finished",
        "replica": replica,
        "epoch": 7,
    }
    return keys | {"kind": "generated", "words": words, "features": features}


def test_a_generated_sentence_is_the_first_whole_one(project, tmp_path):
    first = "la fin @nil @nil @nil trop court @nil elle est très souvent représentée en image . @nil @nil"
    made = [sample(first, 1), sample("@nil a b @nil"), {**sample("x"), "experiment": "rnn"}]
    table = generated(context(project, tmp_path, RESULTS, made), "table-5", {})
    assert " ".join(table.rows.word) == "elle est très souvent représentée en image ."
    assert table.reading().iloc[0].to_dict() == {"Word": "elle", "Features": "TOPFORM:elle, POS:X"}
    assert table.notes == [
        "LL-RNN, M = 2500, replica 1, epoch 7: 8 words, 3 of them outside the most frequent ones (@notTop)."
    ]
    plain = [sample("mot " * 40)]
    assert len(generated(context(project, tmp_path, RESULTS, plain), "table-5", {}).rows) == 30
    none = generated(context(project, tmp_path, []), "table-5", {})
    assert (len(none.rows), none.notes) == (0, ["LL-RNN, M = 2500: not trained yet."])


def test_damaged_samples_are_told(project, tmp_path):
    made = context(project, tmp_path, RESULTS)
    (tmp_path / SAMPLES).write_text('{"paper": ')
    with pytest.raises(UserError, match=r"samples\.jsonl.*reprise collect"):
        generated(made, "table-5", {})


def judged(experiment, near, far, **more):
    names = {"all/all/all": (near + far) / 2, "all/all/1": near, "all/all/3-8": far, "Gender/all/all": near}
    shares = {f"agreement/{name}": value for name, value in names.items()} | {"agreement/all/subject-verb/all": 0.1}
    return metrics(experiment, 4.0, 6.0, 6.0, **shares, **{f"agreement_by_frequency/{n}": 0.5 for n in names}, **more)


def test_agreement_is_shown_by_feature_and_distance(project, tmp_path):
    rows = [*judged("rnn", 0.8, 0.6), *judged("ll-m2500", 0.9, 0.75), *judged("sequoia-rnn", 0.7, 0.5)]
    table = agreement(context(project, tmp_path, rows), "agreement", {})
    read = {(r["Model"], r["Feature"]): r for r in table.reading().to_dict("records")}
    assert read["RNN", "all"]["Distance 3-8"] == "60.0 % of 100"
    assert read["LL-RNN, M = 2500", "Gender"] == {
        "Model": "LL-RNN, M = 2500",
        "Feature": "Gender",
        "All": "90.0 % of 100",
        "Distance 1": "–",
        "Distance 3-8": "–",
    }
    assert read["LL-RNN, M = 10", "all"]["All"] == "not trained yet"
    frequent = [model for model, feature in read if model.startswith("the more frequent form") and feature == "all"]
    assert len(frequent) == 2, "one a corpus"
    assert "Sequoia" in frequent[1], "in the order of the models"
    assert read[frequent[0], "all"]["All"] == "50.0 % of 100"
    assert table.notes == [
        "LL-RNN, M = 2500 against RNN, percentage points: 12.5 of all pairs, 10.0 at distance 1, 15.0 at distance 3-8."
    ]


def test_the_claim_about_agreement_stands_beside_its_numbers(project, tmp_path):
    found = {"verdict": "direction only", "experiments": ["rnn", "ll-m2500"], "alternatives": {}}
    rows = [*judged("rnn", 0.8, 0.6), *judged("ll-m2500", 0.9, 0.75)]
    made = replace(context(project, tmp_path, rows), claims={"L10": found})
    read = {
        (r["Model"], r["Feature"]): r["Claims"] for r in agreement(made, "agreement", {}).reading().to_dict("records")
    }
    assert {key for key, claims in read.items() if claims != "–"} == {("RNN", "all"), ("LL-RNN, M = 2500", "all")}
    assert read["RNN", "all"] == "L10 direction only"
