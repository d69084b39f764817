"""The figure that papers of one's own draw: a metric over epochs or steps, a line an experiment."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from report_case import contexts

from reprise.report.papers.shared.figures import curves
from reprise.report.parts import style


def test_a_line_is_the_mean_over_the_replicas_and_papers_numbers_stand_beside_it():
    context, name = contexts()["paper"]["rrntn"], "s-rnn-100"
    (axes,) = curves(context, "figure-1", {"metric": "perplexity", "split": "test"}).axes
    lines = {line.get_label(): line for line in axes.lines}
    perplexities = np.exp(context.get_curve_points(name, "cross_entropy", "test").dropna())
    assert perplexities.shape[1] == 3
    epochs, means = lines[context.get_title(name)].get_data()
    assert list(epochs) == list(perplexities.index)
    assert means == pytest.approx(perplexities.mean(axis=1))
    paper = context.find_reported(name, "perplexity", "test").value
    assert set(lines[f"{context.get_title(name)}, paper"].get_ydata()) == {paper}


@pytest.mark.parametrize(
    "titles", [["RNN"] * 3, ["A recurrent network with a title of some length"] * 3, ["word " * 60]]
)
def test_a_legend_is_as_wide_as_the_figure_at_most(titles):
    with style.apply_style():
        figure, _ = style.make_panels(3.0)
        style.add_legend(figure, [Line2D([], [], label=title.strip()) for title in titles], ncols=3)
        figure.canvas.draw()
        (legend,) = figure.legends
        assert legend.get_window_extent(FigureCanvasAgg(figure).get_renderer()).width <= figure.bbox.width
        rows = {round(text.get_window_extent().y0) for text in legend.get_texts()}
        assert (len(rows) == 1) == (titles[0] != "A recurrent network with a title of some length")


@pytest.mark.parametrize("ends", [(1, 1), (1, 2), (1, 12)])
def test_an_axis_that_counts_has_whole_numbers(ends):
    with style.apply_style():
        figure, axes = style.make_panels(3.0)
        axes.plot(ends, [0.0, 1.0], marker="o")
        style.set_integer_ticks(axes.xaxis)
        figure.canvas.draw()
        places = axes.get_xticks()
    assert len(places) > 0
    assert all(place == round(place) for place in places)
