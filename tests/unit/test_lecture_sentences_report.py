"""Tables and the figure of document 003's taggers, sentences and word orders, from made-up records."""

from __future__ import annotations

import pytest
from lecture_report_helpers import contexts, drawn, metric, reading

from reprise.report.papers.lecture import figures
from reprise.report.papers.lecture import tables


def tagged(name, replica, accuracy, unseen, **more):
    found = {"accuracy": accuracy, "accuracy_ambiguous": accuracy - 0.02, "accuracy_unseen": unseen}
    found |= {"guessing": 0.875, "guessing_ambiguous": 0.75, "guessing_unseen": 0.5, "log_loss": 0.25}
    rows = [metric(name, replica, key, value, "test", **more) for key, value in found.items()]
    rows.append(metric(name, replica, "best_epoch", 3 + replica, "valid", **more))
    return [*rows, metric(name, replica, "parameters_without_vectors", 43_617, "train", **more)]


def labelled(name, replica, accuracy):
    found = {"accuracy": accuracy, "accuracy_short": 0.95, "accuracy_long": 0.85, "log_loss": 0.125}
    found |= {"guessing": 0.5835, "guessing_short": 0.54, "guessing_long": 0.63}
    return [metric(name, replica, key, value, "test") for key, value in found.items()]


def scored(name, replica, above):
    rows = []
    for n, share in enumerate((0.0, above), 1):
        for change in ("shuffled", "swapped"):
            rows.append(metric(name, replica, f"above_{change}_order_{n}", share, "test"))
            rows.append(metric(name, replica, f"tied_with_{change}_order_{n}", float(n == 1), "test"))
        rows.append(metric(name, replica, f"the_cat_is_small_order_{n}", -30.5, "phrases"))
    return rows


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    rows = tagged("tag-forward", 0, 0.9375, 0.625) + tagged("tag-forward", 1, 0.9425, 0.63)
    rows += tagged("tag-both-2", 0, 0.96, 0.75)
    rows += tagged("tag-both-2", 0, 0.95, 0.7, variant="lower-layer=own")
    rows += labelled("sentence-max", 0, 0.96) + labelled("sentence-max", 1, 0.94)
    rows += scored("order-kneser-ney", 0, 0.99) + scored("order-kneser-ney", 1, 0.98)
    return contexts(tmp_path_factory.mktemp("project"), rows, [])["lecture"]


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    return contexts(tmp_path_factory.mktemp("empty"), [], [])["lecture"]


def test_taggers_by_group_of_words(context):
    table = tables.taggers(context, "tagging", {})
    read = reading(table, "experiment")
    assert read[("tag-forward",)] == {
        "Network": "RNN, left to right, H = 100",
        "Parameters": "43,617",
        "All words": "0.9400 ± 0.0318",
        "Words with several tags": "0.9200 ± 0.0318",
        "Words unseen in training": "0.6275 ± 0.0318",
        "Nats a tag": "0.250 ± 0.000",
        "Best epoch": "3.5",
        "Replicas": "2 of 3",
    }
    assert read[("tag-both-3",)]["Replicas"] == "not trained yet"
    own = read[("tag-both-2@lower-layer=own",)]
    assert own["Network"] == "Bidirectional, L = 2, H = 100 (each direction reads its own below)"
    assert own["All words"] == "0.9500 ± 0.0449"
    assert ("tag-both-3@lower-layer=own",) not in read
    guessing = read[("guessing",)]
    assert (guessing["All words"], guessing["Words unseen in training"]) == ("0.8750", "0.5000")
    assert (guessing["Parameters"], guessing["Replicas"]) == ("–", "–")
    assert list(read)[-1] == ("guessing",)


def test_poolings_beside_guessing(context):
    table = tables.pooling(context, "pooling", {})
    read = reading(table, "experiment")[("sentence-max",)]
    assert (read["Accuracy"], read["Short sentences"], read["Long"]) == (
        "0.9500 (0.8229–1.0000)",
        "0.9500 ± 0.0000",
        "0.8500 ± 0.0000",
    )
    assert (
        table.notes[0] == "By guessing the more frequent label 0.5835; of short sentences 0.5400, of long ones 0.6300."
    )


def test_a_tier_with_fewer_epochs_says_so(context, tmp_path):
    reduced = contexts(tmp_path, [], [], tier="reduced")["lecture"]
    for function, name in ((tables.taggers, "tagging"), (tables.pooling, "pooling")):
        assert "At this tier 10 epochs at most in place of 20." in function(reduced, name, {}).notes
        assert not [note for note in function(context, name, {}).notes if "At this tier" in note]


def test_word_orders_with_their_ties(context):
    table = tables.word_order(context, "word-order", {})
    read = reading(table, "experiment", "quantity")
    random = read["order-kneser-ney", "share above a random order"]
    assert (random["n = 1"], random["n = 2"], random["n = 3"]) == ("0.000 (1.000)", "0.985", "–")
    assert read["order-kneser-ney", "“the cat is small”"]["n = 2"] == "−30.50"
    assert read["order-kneser-ney", "“small the is cat”"]["n = 2"] == "–"
    assert ("order-backoff", "not trained yet") in read


def test_taggers_are_drawn_replica_by_replica(context):
    panels = drawn(figures.taggers, context, "taggers").axes
    titles = [axes.get_title(loc="left") for axes in panels]
    assert titles == ["all words", "words with several tags", "words unseen in training"]
    lines = [line.get_xydata().tolist() for line in panels[0].lines]
    assert [[0.9375, 0.0], [0.9425, 0.0]] in lines
    assert [pytest.approx([0.94, 0.0])] in lines
    labels = [label.get_text() for label in panels[0].get_yticklabels()]
    assert labels[0] == "RNN, left to right, H = 100 (2 of 3 run)"
    assert labels[5].startswith("Bidirectional, L = 3")


def test_without_records_it_is_said(empty):
    (axes,) = drawn(figures.taggers, empty, "taggers").axes
    assert [text.get_text() for text in axes.texts] == ["not trained yet"]
    for function, table in ((tables.taggers, "tagging"), (tables.pooling, "pooling")):
        assert set(function(empty, table, {}).reading()["Replicas"]) == {"not trained yet"}
    assert set(tables.word_order(empty, "word-order", {}).reading()["Quantity"]) == {"not trained yet"}
