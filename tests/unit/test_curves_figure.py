"""The figure of a metric over training: what is drawn, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from matplotlib.figure import Figure
from test_report_case import PAPER, display, make_context, metric, row

from reprise.catalogue.displays import FIGURES
from reprise.errors import UserError
from reprise.report import style
from reprise.report.figures.language_models import curves

FIGURES_OF = {"figure-2": display("language_models.curves")}
DEFAULTS = FIGURES["language_models.curves"]


def course(experiment: str, replica: int, losses: list[float], status: str = "finished") -> list[dict]:
    """Validation losses at epochs 1, 2, …"""
    common = {"metric": "cross_entropy", "split": "valid", "unit": "nats/token", "axis": "epoch", "status": status}
    return [row(experiment, replica, x=epoch, value=loss, **common) for epoch, loss in enumerate(losses, 1)]


COURSES = [
    *course("ptb-a", 0, [4.0, 3.0, 2.5]),
    *course("ptb-a", 1, [5.0, 4.0]),
    *course("ptb-b", 0, [2.0, 1.0]),
    *course("ptb-c", 0, [6.0, 9.0], status="diverged"),
]
RUN = [
    *(metric("ptb-a", replica, "perplexity", 140.0, "test") for replica in (0, 1)),
    metric("ptb-b", 0, "perplexity", 30.0, "test"),
    row("ptb-c", 0, status="diverged"),
]


def context_of(tmp_path, **reported):
    experiments = dict(PAPER.experiments)
    for name in ("ptb-a", "ptb-b"):
        entry = experiments[name].model_dump(by_alias=True)
        entry["reported"] = [{"metric": "cross_entropy", "split": "valid", "value": 4.5, "from": "paper §4"} | reported]
        experiments[name] = type(experiments[name]).model_validate(entry)
    figures = {**PAPER.figures, "figure-2": PAPER.figures["figure-2"].model_validate(FIGURES_OF["figure-2"])}
    paper = PAPER.model_copy(update={"experiments": experiments, "figures": figures})
    return make_context(tmp_path, paper=paper, metrics=RUN, curves=COURSES)


def draw(context, **options) -> Figure:
    with style.applied():
        return curves(context, "figure-2", {**DEFAULTS, **options})


def drawn(figure: Figure) -> dict[str, list[list[float]]]:
    """The lines that the legend names."""
    return {
        line.get_label(): line.get_xydata().tolist()
        for line in figure.axes[0].lines
        if not line.get_label().startswith("_")
    }


def test_a_line_an_experiment_with_its_band_and_the_papers_number(tmp_path):
    figure = draw(context_of(tmp_path))
    lines = drawn(figure)
    assert list(lines) == [
        "A (2 of 3 run)",
        "A, paper",
        "B | b (other corpus)",
        "C (1 of 2 run) (1 diverged)",
    ]
    # As far as all replicas go; one more epoch of one of them would make a step.
    assert lines["A (2 of 3 run)"] == [[1, 4.5], [2, 3.5]]
    assert [y for _, y in lines["A, paper"]] == [4.5, 4.5]
    assert lines["B | b (other corpus)"] == [[1, 2], [2, 1]]
    (band,) = figure.axes[0].collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert {(1, 4), (1, 5), (2, 3), (2, 4)} <= corners
    unnamed = [line.get_xydata().tolist() for line in figure.axes[0].lines if line.get_label().startswith("_")]
    assert unnamed == [[[1, 6], [2, 9]]]
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "validation cross-entropy (nats/token)")


def test_a_perplexity_is_worked_out_of_each_replica(tmp_path):
    figure = draw(context_of(tmp_path, metric="perplexity"), metric="perplexity")
    lines = drawn(figure)
    assert lines["A (2 of 3 run)"][0] == pytest.approx([1, (math.exp(4) + math.exp(5)) / 2])
    assert lines["A, paper"][0][1] == 4.5
    assert figure.axes[0].get_ylabel() == "validation perplexity"


def test_a_number_of_the_paper_in_another_unit_is_not_drawn(tmp_path):
    assert "A, paper" not in drawn(draw(context_of(tmp_path, unit="bits/character")))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metric": "acuracy"}, "metric: no curve of ptb-a, ptb-b, ptb-c has 'acuracy'; known are cross_entropy, perp"),
        ({"split": "valdi"}, "split: no curve of ptb-a, ptb-b, ptb-c has 'valdi'; did you mean 'valid'?"),
    ],
)
def test_what_no_curve_has_is_told(tmp_path, options, says):
    with pytest.raises(UserError) as caught:
        draw(context_of(tmp_path), **options)
    assert f"toy.yaml: key figures.figure-2.options.{says}" in str(caught.value)


def test_without_replicas_a_frame_says_so(tmp_path):
    (axes,) = draw(make_context(tmp_path, metrics=[], curves=[])).axes
    assert [text.get_text() for text in axes.texts] == ["not trained yet"]
