"""Tables and figures of document 003, from made-up records of its own configuration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lecture_report_helpers import PAPER, PATHS, SURFACE, contexts, drawn, metric, reading
from matplotlib.colors import same_color

from reprise.errors import UserError
from reprise.report.parts import style
from reprise.report.papers.lecture import figures
from reprise.report.papers.lecture import figures
from reprise.report.papers.lecture import tables


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return contexts(tmp_path_factory.mktemp("project"))["lecture"]


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    return contexts(tmp_path_factory.mktemp("empty"), [], [])["lecture"]


def test_perplexity_is_infinite_where_a_word_has_no_probability(context):
    read = reading(tables.ngrams(context, "ngrams", {}), "experiment", "quantity")
    relative = read["ngram-relative", "perplexity"]
    assert (relative["n = 1"], relative["n = 2"], relative["n = 5"]) == ("600.0", "∞", "∞")
    assert read["ngram-relative", "share of words with probability 0"]["n = 2"] == "0.2500"
    assert read["ngram-relative", "share of words without a probability"]["n = 2"] == "0.1250"
    assert read["ngram-kneser-ney", "perplexity"]["n = 2"] == "200.0"
    assert read["ngram-kneser-ney@sentence-context=text", "perplexity"]["n = 2"] == "210.0"
    assert ("ngram-backoff", "not trained yet") in read
    assert ("ngram-backoff@sentence-context=text", "not trained yet") not in read


def test_a_model_of_fewer_orders_has_nothing_beyond_them(context):
    relative = context.resolved("ngram-relative")
    model = relative.config["model"]
    shorter = {**relative.config, "model": {**model, "options": {**model["options"], "order": 3}}}
    others = [e for e in context.experiments if e is not relative]
    there = replace(context, experiments=[*others, replace(relative, config=shorter)])
    row = reading(tables.ngrams(there, "ngrams", {}), "experiment", "quantity")["ngram-relative", "perplexity"]
    assert (row["n = 3"], row["n = 4"]) == ("∞", "–")


def test_scores_are_not_called_perplexities(context):
    read = reading(tables.ngrams(context, "ngrams", {}), "experiment", "quantity")
    assert ("ngram-stupid-backoff", "perplexity") not in read
    scores = read["ngram-stupid-backoff", "as a perplexity from scores, which it is not"]
    assert (scores["n = 2"], scores["n = 3"]) == ("170.0", "∞")
    assert read["ngram-stupid-backoff", "sum of the scores of all words"]["n = 2"] == "1.2500"


def test_storage_by_order_and_size(context, empty):
    table = tables.storage(context, "ngram-storage", {})
    assert table.reading().to_dict("records")[1] == {"n": "2", "100 words": "20", "200 words": "40"}
    assert tables.storage(empty, "ngram-storage", {}).notes == ["Not trained yet."]


def test_claims_stand_on_the_quantities_that_they_are_about(context):
    entry = {"verdict": "reproduced", "experiments": ["ngram-relative"], "alternatives": {}}
    judged = replace(context, claims={"C1": entry, "C2": entry})
    read = reading(tables.ngrams(judged, "ngrams", {}), "experiment", "quantity")
    said = {key: row["Claims"] for key, row in read.items() if row["Claims"] != "–"}
    assert {key[0] for key in said} == {"ngram-relative"}
    assert set(said.values()) == {"C1 reproduced"}
    assert set(tables.storage(judged, "ngram-storage", {}).reading().Claims) == {"C2 reproduced"}


PERPLEXITY = "Test perplexity ± 95 % interval"


def test_models_of_another_paper_are_cited_from_its_records(context, tmp_path):
    cited = {"cited": "rrntn/lstm-254 rrntn/gru-244"}
    read = reading(tables.language_models(context, "language-models", cited), "experiment")
    assert read[("lecture/window-direct",)] == {
        "Model": "Window-based model, direct connection",
        "From": "here",
        "Parameters": "10",
        PERPLEXITY: "151.00 ± 12.71",
        "Validation ± 95 % interval": "–",
        "Replicas": "2 of 3",
    }
    lstm = read[("rrntn/lstm-254",)]
    assert (lstm["Model"], lstm["From"], lstm["Parameters"]) == ("LSTM, H = 254", "document 001", "123")
    assert (lstm[PERPLEXITY], lstm["Replicas"]) == ("90.00", "1 of 3")
    assert read[("rrntn/gru-244",)][PERPLEXITY] == "not trained yet"
    with pytest.raises(UserError, match=r"tables\.language-models\.options\.cited: rrntn has no experiment 'lstm-245'"):
        tables.language_models(context, "language-models", {"cited": "rrntn/lstm-245"})
    alone = contexts(tmp_path / "alone", papers=("lecture",))["lecture"]
    table = tables.language_models(alone, "language-models", cited)
    assert "rrntn/lstm-254: the paper rrntn is not among the configured ones." in table.notes
    assert "document 001" not in set(table.reading()["From"])


def test_language_models_say_how_far_a_tier_trains_each_of_them(context, tmp_path):
    """At the tier "reduced" they have epochs of their own, whichever paper they are of."""
    options = {"cited": "rrntn/s-rnn-100 rrntn/gru-244 rrntn/gru-650 rrntn/lstm-254"}
    reduced = contexts(tmp_path, tier="reduced")["lecture"]
    notes = tables.language_models(reduced, "language-models", options).notes
    assert [note for note in notes if "at this tier" in note] == [
        "Window-based model; Window-based model, direct connection: at this tier 6 epochs at most in place of 30.",
        "s-RNN, H = 100: at this tier 6 epochs at most in place of 60.",
        "GRU, H = 244; LSTM, H = 254: at this tier 4 epochs at most in place of 60.",
    ]
    notes = tables.language_models(context, "language-models", options).notes
    assert not [note for note in notes if "at this tier" in note]
    quick = contexts(tmp_path / "quick", tier="quick")["lecture"]
    assert "At this tier 200 steps in place of 3,000." in tables.recall(quick, "recall", {}).notes


def test_what_the_configuration_cites_is_there(context):
    table = tables.language_models(context, "language-models", PAPER.tables["language-models"].options)
    assert {"s-RNN, H = 100", "GRU, H = 244", "LSTM, H = 254"} <= set(table.reading()["Model"])


def test_recall_by_sentence_and_norms(context):
    table = tables.recall(context, "recall", {})
    read = reading(table, "experiment")[("recall-gru",)]
    assert read["Recalled ± 95 % interval: sentence 1, 8 words"] == "0.950 (0.315–1.000)"
    assert (read["Sentence 2, 25 words"], read["72 words"]) == ("0.450 (0.000–1.000)", "0.200 (0.000–0.835)")
    assert (read["Norm over 72 words: before training"], read["after"], read["Replicas"]) == ("0.0001", "–", "2 of 5")
    assert reading(table, "experiment")[("recall-lstm",)]["Replicas"] == "not trained yet"
    assert table.notes[0].startswith("By guessing 0.10.")
    assert "Where the interval of a share would pass 0 or 1, it is given in brackets, cut there." in table.notes[-1]


def lines(axes, look):
    return [
        line.get_xydata().tolist()
        for line in axes.lines
        if same_color(line.get_color(), look["color"]) and line.get_linewidth() == look["linewidth"]
    ]


def test_the_panels_of_ngrams(context):
    left, middle, right = drawn(figures.ngrams, context, "ngram-orders").axes
    heights = {round(y, 6) for line in left.lines for y in line.get_ydata()}
    assert heights == {600.0, 200.0, 800.0}
    bars = [(bar.get_y(), bar.get_height()) for bar in middle.patches]
    assert sorted(bars) == [(0, 0), (0, 0.25), (0.25, 0.125)]
    assert [line.get_xydata().tolist() for line in right.lines][1] == [[100, 20], [200, 40]]


def test_recall_is_drawn_with_the_range_of_its_replicas(context):
    (axes,) = drawn(figures.recall, context, "recall-by-distance").axes
    ((gru),) = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) == 3]
    assert gru.tolist() == [[8, 0.95], [25, 0.45], [72, 0.2]]
    corners = {tuple(corner) for corner in axes.collections[0].get_paths()[0].vertices.round(6)}
    assert {(8, 1.0), (8, 0.9), (72, 0.25), (72, 0.15)} <= corners


def test_every_network_is_drawn_however_many_are_cited(context):
    entry = context.entry("recall-gru")
    more = {f"more-{i}": entry for i in range(3)}
    there = replace(context, paper=context.paper.model_copy(update={"experiments": {**PAPER.experiments, **more}}))
    (legend,) = drawn(figures.recall, there, "recall-by-distance").legends
    assert len(legend.texts) == len(there.cited_by("recall-by-distance")) > 6


def test_norms_and_bounds(context):
    """Of replicas with 10^-d and 10^-(d + 1), the geometric mean; where one has exactly 0, that of the others."""
    panels = {axes.get_title(loc="left"): axes for axes in drawn(figures.jacobians, context, "jacobians").axes}
    sigmoid = panels["RNN, sigmoid"]
    assert lines(sigmoid, style.OURS)[0] == pytest.approx(np.array([[d, 10 ** -(d + 0.5)] for d in (1, 2, 3)]))
    bounds = np.array([[[1, 0.5], [2, 0.25], [3, 0.125]], [[1, 2], [2, 4], [3, 8]]])
    assert lines(sigmoid, {"color": style.BLACK, "linewidth": 0.9}) == pytest.approx(bounds)
    assert panels["GRU"].get_title(loc="right") == "2 of 5 run"
    figure = drawn(figures.random_jacobians, context, "jacobians-random")
    panels = {a.get_title(loc="left"): a for a in figure.axes}
    assert len(panels["tanh, scale 3"].lines) == 2
    (norms,) = lines(panels["tanh, scale 3"], style.OURS)
    assert norms == pytest.approx(np.array([[1, 3], [2, 9]]))
    assert "before training" in [text.get_text() for text in figure.legends[0].texts]
    assert panels["ReLU, scale 2"].get_title(loc="right") == "0 of 5 run"


def test_both_paths_on_the_surface(context):
    left, right, *_ = drawn(figures.error_surface, context, "figure-7").axes
    assert [line.get_ydata().tolist() for line in right.lines] == [PATHS[path]["error"] for path in PATHS]
    paths = [line.get_xydata().tolist() for line in left.lines][:2]
    assert paths == [[list(p) for p in zip(c["weight"], c["bias"], strict=True)] for c in PATHS.values()]
    assert [text.get_text() for text in left.texts] == ["ends at w = 9.0, b = 7.0"]
    shades = left.collections[0].get_array().reshape(2, 2)
    assert shades.tolist() == [[SURFACE[w][b] for w in SURFACE] for b in (-2.0, -1.0)]
    assert (left.get_xlim(), left.get_ylim()) == ((4.0, 5.0), (-2.0, -1.0))


@pytest.mark.parametrize(
    ("function", "figure"),
    [
        (figures.ngrams, "ngram-orders"),
        (figures.recall, "recall-by-distance"),
        (figures.error_surface, "figure-7"),
        (figures.jacobians, "jacobians"),
        (figures.random_jacobians, "jacobians-random"),
    ],
)
def test_without_records_there_is_a_frame_that_says_so(empty, function, figure):
    (axes,) = drawn(function, empty, figure).axes
    assert [text.get_text() for text in axes.texts] == ["not trained yet"]


@pytest.mark.parametrize(
    ("function", "figure", "experiment"),
    [
        (figures.ngrams, "ngram-orders", "ngram-relative"),
        (figures.recall, "recall-by-distance", "recall-gru"),
        (figures.error_surface, "figure-7", "figure-7"),
    ],
)
def test_where_all_that_ran_diverged_the_frame_says_so(tmp_path, function, figure, experiment):
    diverged = metric(experiment, 0, "", None, "", status="diverged")
    (axes,) = drawn(function, contexts(tmp_path, [diverged], [])["lecture"], figure).axes
    assert [text.get_text() for text in axes.texts] == ["diverged"]


def test_records_that_have_lost_their_curves_leave_panels_empty(context):
    there = replace(context, curves=context.curves.iloc[:0])
    assert not any(axes.lines for axes in drawn(figures.ngrams, there, "ngram-orders").axes)
    (axes,) = drawn(figures.error_surface, there, "figure-7").axes
    assert not axes.lines
