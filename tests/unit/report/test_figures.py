"""Figures: what is drawn against numbers worked out by hand."""

import math
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from report_case import curve, make_context, metric, project, row

from reprise.config.displays import list_entries
from reprise.errors import UserError
from reprise.evidence.statistics import compute_clopper_pearson_interval
from reprise.report import render
from reprise.report.papers.palindromes.figures import training_curves
from reprise.report.papers.palindromes.tables import list_first_steps
from reprise.report.papers.rrntn.figures import perplexity_against_matrices
from reprise.report.parts import style


def draw(context, smooth: int = 1) -> Figure:
    with style.apply_style():
        return training_curves(context, "figure-1", {"smooth": smooth})


def sweep(folder, runs, tier: str = "paper") -> Figure:
    """Figure 1 of document 001, drawn, from one perplexity of each of these experiments."""
    metrics = [metric(f"rrntn/{name}", 0, "perplexity", y, "test") for name, y in runs.items()]
    context = make_context(folder, "rrntn", tier, metrics=metrics, curves=[])
    with style.apply_style():
        figure = perplexity_against_matrices(context, "figure-1", {})
        figure.canvas.draw()
    return figure


def panel(figure: Figure, title: str) -> tuple[Axes, Axes]:
    """The accuracy and the loss panel under a title."""
    index = next(i for i, axes in enumerate(figure.axes) if axes.get_title(loc="left") == title)
    return figure.axes[index], figure.axes[index + len(figure.axes) // 2]


@pytest.mark.parametrize("title", [r"at $\frac{$", "from $5 to $6"])
def test_a_dollar_sign_in_a_title_begins_no_formula(title):
    with style.apply_style():
        figure, axes = style.make_panels(1.0)
        axes.set_title(title)
        axes.set_yscale("log")
        style.add_legend(figure, [style.make_handle({}, title)], ncols=2)
        style.show_dollar_signs(figure)
        figure.canvas.draw()
    assert axes.title.get_parse_math() is False
    assert all(tick.label1.get_parse_math() for tick in axes.yaxis.get_major_ticks())


def test_the_share_of_seeds_steps_up_where_each_first_makes_no_mistake(tmp_path):
    context = make_context(tmp_path)
    assert list_first_steps(context, "rnn-t10") == [5.0, 10.0, math.inf]  # the first of them diverged later
    share, _ = panel(draw(context), "T = 10")
    (line,) = [line for line in share.lines if same_color(line.get_color(), style.BLUE)]
    assert line.get_xdata().tolist() == [0, 5, 10, 15]
    assert line.get_ydata().tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    band = share.collections[0].get_paths()[0].vertices
    low, high = compute_clopper_pearson_interval(2, 3)
    assert {round(y, 9) for x, y in band if x == 15} >= {round(low, 9), round(high, 9)}


@pytest.mark.parametrize(
    ("smooth", "first", "second"),
    [
        (1, [1.01, 0.51, 0.01, 0.01], [0.76, 0.51, 0.76, 0.26]),
        (2, [1.01, 0.76, 0.26, 0.01], [0.76, 0.635, 0.635, 0.51]),
    ],
)
def test_losses_are_a_line_a_seed_each_the_mean_of_the_last_points(tmp_path, smooth, first, second):
    _, loss = panel(draw(make_context(tmp_path), smooth), "T = 10")
    seeds = [line.get_ydata().tolist() for line in loss.lines if line.get_linewidth() == 0.5]
    assert seeds == [pytest.approx(first), pytest.approx(second)]


def test_a_diverged_replica_is_counted_and_drawn_to_its_end(tmp_path):
    figure = draw(make_context(tmp_path))
    above, below = panel(figure, "T = 10")
    assert "1 diverged" in above.get_title(loc="right")
    (mark,) = [line for line in below.lines if line.get_marker() == "X"]
    assert (mark.get_xdata().tolist(), mark.get_ydata().tolist()) == ([5], [pytest.approx(0.01)])
    assert panel(figure, "T = 20")[0].get_title(loc="right") == "0 of 20 run"
    before = dict(mpl.rcParams)
    style.save_figure(figure, tmp_path / "figure")
    assert dict(mpl.rcParams) == before, "drawing leaves matplotlib as it was"
    # All of them may have.
    metrics = [row("rnn-t10", i, status="diverged") for i in range(3)]
    curves = [point for i in range(3) for point in curve("rnn-t10", i, [0.5, 0.25], status="diverged")]
    _, below = panel(draw(make_context(tmp_path, metrics=metrics, curves=curves)), "T = 10")
    assert sum(line.get_marker() == "X" for line in below.lines) == 3


def test_a_figure_of_which_nothing_has_run_is_not_drawn_and_an_earlier_one_goes(tmp_path):
    entry = list_entries(project().papers)["palindromes-figure-1"]
    drawn = render.write_display(make_context(tmp_path), entry, tmp_path)
    assert {path.suffix for path in drawn} == {".svg", ".png", ".pdf"}
    assert all(path.is_file() for path in drawn)
    (tmp_path / "empty").mkdir()
    empty = make_context(tmp_path / "empty", metrics=[], curves=[])
    assert render.write_display(empty, entry, tmp_path) == []
    assert not any(path.exists() for path in drawn)
    assert render.find_absence(empty, entry) == "not trained yet"


def test_a_figure_of_another_text_than_the_papers_says_so(tmp_path):
    """Of the quick tier all are trained on another text."""
    figure = sweep(tmp_path, {"s-rnn-100": 30.0}, "quick")
    assert any("another corpus" in text.get_text() for axes in figure.axes for text in axes.texts)


def test_the_line_breaks_where_a_k_was_not_run_and_each_seed_and_printed_number_is_drawn(tmp_path):
    runs = {"s-rnn-100": 140.0, "r-rntn-100-k100": 126.0, "rntn-100": 125.0}
    (axes,) = sweep(tmp_path, runs).axes
    drawn = next(line for line in axes.lines if len(line.get_xdata()) > 1)
    assert drawn.get_xdata().tolist() == [1, 10, 30, 100, 300, 1000, 3000, 10000]
    gap = [np.nan] * 2
    np.testing.assert_array_equal(drawn.get_ydata().astype(float), [140.0, *gap, 126.0, *gap, np.nan, 125.0])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "100", "10000"]
    heights = {y for line in axes.lines for y in line.get_ydata()}
    assert heights >= {140.0, 126.0, 125.0, 146.7, 131.2, 128.8}
    # At another budget the levels are not the paper's, which are left out.
    (axes,) = sweep(tmp_path, runs, "reduced").axes
    heights = {y for line in axes.lines for y in line.get_ydata()}
    assert heights >= {140.0, 126.0}
    assert not heights & {146.7, 131.2, 128.8}


def test_a_model_without_a_line_is_refused(tmp_path):
    context = make_context(tmp_path, "rrntn")
    entry = context.paper.experiments["s-rnn-100"]
    other = entry.model_copy(update={"model": entry.model.model_copy(update={"name": "new-lm"})})
    paper = context.paper.model_copy(update={"experiments": {**context.paper.experiments, "s-rnn-100": other}})
    message = r"key experiments\.s-rnn-100\.cited_by: figure-1 has no line for the model new-lm with the map f; leave "
    with pytest.raises(UserError, match=message):
        perplexity_against_matrices(replace(context, paper=paper), "figure-1", {})
