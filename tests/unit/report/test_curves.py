"""The figure that papers of one's own draw: a metric over epochs or steps, a line an experiment."""

import numpy as np
import pytest
from report_case import contexts

from reprise.report.papers.shared.figures import curves


def test_a_line_is_the_mean_over_the_replicas_and_papers_numbers_stand_beside_it():
    context, name = contexts()["paper"]["rrntn"], "s-rnn-100"
    (axes,) = curves(context, "figure-1", {"metric": "perplexity", "split": "test"}).axes
    drawn = {line.get_label(): line for line in axes.lines}
    perplexities = np.exp(context.points(name, "cross_entropy", "test").dropna())
    assert perplexities.shape[1] == 3
    epochs, means = drawn[context.title(name)].get_data()
    assert list(epochs) == list(perplexities.index)
    assert means == pytest.approx(perplexities.mean(axis=1))
    paper = context.reported(name, "perplexity", "test").value
    assert set(drawn[f"{context.title(name)}, paper"].get_ydata()) == {paper}
