"""Figures of document 000, against numbers worked out by hand from made-up records."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from gso_report_helpers import POSITIONS, losses, make_context, project_of, row

from reprise.report.page import facts
from reprise.report.parts import style
from reprise.report.papers.gso.figures import loss_against_ratio, loss_by_position


@pytest.fixture
def context(tmp_path):
    return partial(make_context, tmp_path)


def drawn(function, context, figure_id):
    with style.applied():
        return function(context, figure_id, {})


def series(axes):
    return [container.lines[0].get_xydata() for container in axes.containers]


def words(figure):
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return labels + [text.get_text() for axes in figure.axes for text in axes.texts]


def test_loss_against_ratio_marks_the_lowest_and_pairs_folds(context):
    # the mean of both folds of the ratio 1 is the lowest of all; on the fold that all have it is not
    metrics = [*losses("t1-tanh-none", 0, 1.2), *losses("t1-tanh-none", 1, 0.8), *losses(POSITIONS, 0, 1.1)]
    metrics += [*losses("f1-bigram-r2", 0, 1.5, characters=2), *losses("f1-bigram-r20", 0, 1.75, characters=2)]
    metrics += [row("f1-bigram-r20", 0, split="train", metric="diverged_epoch", value=9)]
    metrics += [row("f1-bigram-r20", 0, split="valid", metric="best_epoch", value=8)]
    figure = drawn(loss_against_ratio, context(metrics), "figure-1")
    by_token, by_character, above = (series(axes) for axes in figure.axes)
    assert by_token[0] == pytest.approx(np.array([[1, 1.2], [2, 1.1]]))
    assert by_character[0] == pytest.approx(by_token[0])
    assert by_token[1] == pytest.approx(np.array([[2, 3.0], [20, 3.5]]))
    assert by_character[1] == pytest.approx(np.array([[2, 1.5], [20, 1.75]]))
    assert above[0] == pytest.approx(np.array([[1, 0.1], [2, 0.0]]))
    assert above[1][:, 1] == pytest.approx([0.0, 0.5])
    rings = [line.get_xydata().tolist() for line in figure.axes[0].lines if line.get_markersize() == 9]
    assert rings == [[[2, pytest.approx(1.1)]], [[2, 3.0]]]
    crosses = [line.get_xydata().tolist() for line in figure.axes[1].lines if line.get_marker() == "X"]
    assert [points for points in crosses if points] == [[[20, 1.75]]]
    labels = [
        "characters (2 of 8 ratios run; n = 1)",
        "bigrams (2 of 8 ratios run; n = 1)",
        "lowest",
        "a fold diverged",
    ]
    assert words(figure) == labels


def test_the_caption_promises_no_bars_where_one_fold_is_drawn(context):
    one = [*losses("t1-tanh-none", 0, 1.2), *losses("t1-tanh-none", 1, 0.8), *losses(POSITIONS, 0, 1.1)]
    two = [*losses("f1-bigram-r2", 0, 1.5, characters=2), *losses("f1-bigram-r2", 1, 1.6, characters=2)]
    said = "characters of 1 fold (n = 1), without bars"
    assert facts.replicas(context(one), "figure-1").endswith(f"Points: {said}.")
    both = facts.replicas(context([*one, *two]), "figure-1")
    assert both.endswith(f"Points: {said}; bigrams means over 2 folds, bars ± one standard deviation of folds.")
    for name, figure in project_of("paper").papers["gso"].figures.items():
        assert "±" not in figure.caption
        assert "deviation figures-without-numbers" in " ".join(figure.caption.split()), name
    assert "figures-without-numbers" in project_of("paper").papers["gso"].deviations


def test_loss_against_ratio_without_a_fold_that_all_have(context):
    metrics = [*losses("t1-tanh-none", 0, 1.2), *losses("t1-tanh-none", 1, 1.4)]
    metrics += [*losses(POSITIONS, 0, 1.1), *losses(POSITIONS, 1, 1.2), *losses("f1-unigram-r5", 2, 1.5)]
    figure = drawn(loss_against_ratio, context(metrics), "figure-1")
    by_token, _, above = (series(axes)[0] for axes in figure.axes)
    assert by_token == pytest.approx(np.array([[1, 1.3], [2, 1.15], [5, 1.5]]))
    assert above == pytest.approx(np.array([[1, 0.15], [2, 0.0], [5, np.nan]]), nan_ok=True)


def test_figures_without_data_say_so(context):
    for function, figure_id in ((loss_against_ratio, "figure-1"), (loss_by_position, "figure-3")):
        assert "not trained yet" in words(drawn(function, context(), figure_id))
    lost = context([row(POSITIONS, fold, status="diverged") for fold in range(5)])
    assert "diverged" in words(drawn(loss_by_position, lost, "figure-3"))


def position(fold, x, loss, count, suffix=""):
    fixed = {"split": "test", "axis": "position_in_word", "x": x}
    values = (("cross_entropy", loss), ("count", count))
    return [row(POSITIONS, fold, metric=f"{metric}{suffix}", value=value, **fixed) for metric, value in values]


def test_loss_by_position_weighs_folds_by_their_characters(context):
    curves = [*position(0, 1, 3.0, 30), *position(1, 1, 2.0, 10), *position(0, 2, 1.0, 5), *position(1, 14, 4.0, 5)]
    curves += position(1, 2, 0.5, 8, "_of_space")
    figure = drawn(
        loss_by_position, context([*losses(POSITIONS, 0, 1.1), *losses(POSITIONS, 1, 1.1)], curves), "figure-3"
    )
    above, below = (
        [line.get_xydata().tolist() for line in axes.lines if line.get_marker() in "os"] for axes in figure.axes
    )
    assert above == [[[1, 2.75], [2, 1.0], [14, 4.0]], [[2, 0.5]]]
    assert below == [[[1, 40], [2, 5], [14, 5]], [[2, 8]]]
    assert words(figure) == ["letters", "spaces after words", "one of 2 folds", "letters beyond the 13th:\n10 % of all"]
    short = drawn(loss_by_position, context(losses(POSITIONS, 0, 1.1), position(0, 1, 3.0, 30)), "figure-3")
    assert words(short) == ["letters", "spaces after words"]
