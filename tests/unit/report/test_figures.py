"""Figures: what is drawn against numbers worked out by hand, and the same bytes from run to run."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from report_case import PAPER, curve, make_context, metric, row, setting

import reprise
from reprise.errors import UserError
from reprise.report.papers.palindromes.figures import training_curves
from reprise.report.papers.palindromes.tables import convergence
from reprise.report.papers.rrntn.figures import perplexity_against_matrices
from reprise.report.parts import style

REPOSITORY = Path(__file__).parents[3]


def lines(axes: Axes, look: dict) -> list[np.ndarray]:
    """The points (n, 2) of every line of a panel that has this look's colour and width."""
    return [
        line.get_xydata()
        for line in axes.lines
        if same_color(line.get_color(), look["color"]) and line.get_linewidth() == look["linewidth"]
    ]


def panel(figure: Figure, title: str) -> tuple[Axes, Axes]:
    """The accuracy and the loss panel under a title."""
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    columns = sum(1 for axes in figure.axes if axes.get_subplotspec().rowspan.start == 0)
    index = titles.index(title)
    return figure.axes[index], figure.axes[index + columns]


def draw(context, smooth=1) -> Figure:
    with style.applied():
        return training_curves(context, "figure-1", {"smooth": smooth})


def texts(figure: Figure) -> str:
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    return " | ".join(found + [axes.get_title(loc="right") for axes in figure.axes])


def test_mean_and_band_are_over_the_replicas_that_finished(tmp_path):
    accuracy, loss = panel(draw(make_context(tmp_path)), "T = 10")
    (mean,) = lines(accuracy, style.OURS)
    assert mean.tolist() == [[0, 0.125], [5, 0.5], [10, 0.625], [15, 0.875]]
    (mean,) = lines(loss, style.OURS)
    assert mean[:, 1] == pytest.approx([0.885, 0.51, 0.385, 0.135])
    corners = accuracy.collections[0].get_paths()[0].vertices
    assert {(0, 0), (0, 0.25), (10, 0.25), (10, 1), (15, 0.75)} <= {tuple(c) for c in corners}
    assert len(lines(accuracy, style.ONE_OF_OURS)) == 2


def test_the_original_is_drawn_and_where_it_ends_is_marked(tmp_path):
    accuracy, loss = panel(draw(make_context(tmp_path)), "T = 10")
    assert [points.tolist() for points in lines(accuracy, style.ORIGINAL)] == [[[0, 0], [5, 0.25]]]
    assert [points.tolist() for points in lines(loss, style.ORIGINAL)] == [[[0, 2], [5, 1]]]
    assert [points[:, 0].tolist() for points in lines(accuracy, style.DOTTED)] == [[5, 5]]
    as_long = [*curve("rnn-t10", 0, [0.5, 0.5])]
    accuracy, _ = panel(draw(make_context(tmp_path, curves=as_long)), "T = 10")
    assert lines(accuracy, style.DOTTED) == []


def test_a_diverged_replica_is_counted_and_drawn_to_its_end(tmp_path):
    figure = draw(make_context(tmp_path))
    accuracy, _ = panel(figure, "T = 10")
    assert lines(accuracy, style.DIVERGED)[0].tolist() == [[0, 0.5], [5, 1.0]]
    assert accuracy.get_title(loc="right") == "1 of 3 diverged"
    marked = [line.get_xydata().tolist() for line in accuracy.lines if line.get_marker() == "X"]
    assert marked == [[[5, 1.0]]]
    assert panel(figure, "T = 20")[0].get_title(loc="right") == "0 of 3 run"
    assert panel(figure, "T = 30")[0].get_title(loc="right") == "not run at this tier"


def test_an_experiment_whose_replicas_all_diverged_is_drawn(tmp_path):
    metrics = [row("rnn-t10", i, status="diverged") for i in range(3)]
    curves = [point for i in range(3) for point in curve("rnn-t10", i, [0.5, 0.25], status="diverged")]
    accuracy, _ = panel(draw(make_context(tmp_path, metrics=metrics, curves=curves)), "T = 10")
    assert len(lines(accuracy, style.DIVERGED)) == 3
    assert accuracy.get_title(loc="right") == "3 of 3 diverged"


def test_smoothing_is_the_mean_of_the_last_points(tmp_path):
    accuracy, _ = panel(draw(make_context(tmp_path), smooth=2), "T = 10")
    (mean,) = lines(accuracy, style.OURS)
    assert mean.tolist() == [[0, 0.125], [5, 0.3125], [10, 0.5625], [15, 0.75]]
    assert lines(accuracy, style.ORIGINAL)[0].tolist() == [[0, 0], [5, 0.125]]
    # Every fourth point of a mean of sixteen is drawn, and the last.
    long = curve("rnn-t10", 0, [i / 20 for i in range(15)])
    accuracy, _ = panel(draw(make_context(tmp_path, curves=long), smooth=16), "T = 10")
    assert lines(accuracy, style.OURS)[0][:, 0].tolist() == [0, 20, 40, 60, 70]
    assert lines(accuracy, style.OURS)[0][-1, 1] == pytest.approx(7 / 20)
    with pytest.raises(UserError, match=r"toy\.yaml: key figures\.figure-1\.options\.smooth: 0 is not"):
        draw(make_context(tmp_path), smooth=0)


def test_a_figure_without_data_is_an_empty_frame_that_says_so(tmp_path):
    context = make_context(tmp_path, metrics=[], curves=[])
    assert "not trained yet" in texts(draw(context))
    with style.applied():
        assert "not trained yet" in texts(perplexity_against_matrices(context, "figure-2", {}))


def test_perplexity_over_matrices_leaves_other_corpora_out(tmp_path):
    context = make_context(tmp_path)
    with style.applied():
        (axes,) = perplexity_against_matrices(context, "figure-2", {}).axes
    heights = {y for line in axes.lines for y in line.get_ydata()}
    assert {141.0, 146.7, 131.2} <= heights
    assert not heights & {30.0, 133.7}
    only_other = make_context(tmp_path, metrics=[metric("ptb-b", 0, "perplexity", 30.0, "test")])
    with style.applied():
        assert "another corpus" in texts(perplexity_against_matrices(only_other, "figure-2", {}))


def test_what_the_tier_changes_stands_beside_the_numbers_of_the_paper(tmp_path):
    with style.applied():
        whole = perplexity_against_matrices(make_context(tmp_path, **sweep({"f-1": 140.0})), "figure-2", {})
        assert whole.legends[0].get_title().get_text() == "At this tier 6 epochs at most in place of 60."
        part = perplexity_against_matrices(make_context(tmp_path), "figure-2", {})
    assert part.legends[0].get_title().get_text() == "A: at this tier 6 epochs at most in place of 60."


def sweep(runs):
    """A paper with the s-RNN and K = 10, 100 and 1000 under either map, and a context with records of `runs`."""
    entries = {}
    for matrices in (1, 10, 100, 1000):
        for mapping in ("f", "f_mod") if 1 < matrices < 1000 else ("f",):
            entry = PAPER.experiments["ptb-a"].model_dump(by_alias=True) | {"title": f"{mapping} {matrices}"}
            entry["model"] |= {"matrices": setting(matrices), "mapping": setting(mapping)}
            entries[f"{mapping.replace('_', '-')}-{matrices}"] = type(PAPER.experiments["ptb-a"]).model_validate(entry)
    paper = PAPER.model_copy(update={"experiments": {"rnn-t10": PAPER.experiments["rnn-t10"], **entries}})
    return {"paper": paper, "metrics": [metric(name, 0, "perplexity", y, "test") for name, y in runs.items()]}


def with_model(experiment: str, model: str):
    entry = PAPER.experiments[experiment]
    other = entry.model_copy(update={"model": entry.model.model_copy(update={"name": model})})
    return PAPER.model_copy(update={"experiments": {**PAPER.experiments, experiment: other}})


def test_a_model_without_a_line_is_refused(tmp_path):
    context = make_context(tmp_path, paper=with_model("ptb-a", "new-lm"))
    said = r"key experiments\.ptb-a\.cited_by: figure-2 has no line for the model new-lm with the map f; leave figure-2"
    with pytest.raises(UserError, match=said):
        perplexity_against_matrices(context, "figure-2", {})


def test_a_model_that_the_original_had_not_is_drawn_and_named_without_it(tmp_path):
    context = make_context(tmp_path, paper=with_model("rnn-t10", "new-cell"))
    panel = training_curves(context, "figure-1", {"smooth": 1}).axes[0]
    drawn = [line for line in panel.lines if len(line.get_xdata()) > 2]
    assert drawn
    assert not any(same_color(line.get_color(), style.ORIGINAL["color"]) for line in drawn)
    assert convergence(context, "convergence", {"variant": ""}).reading().Model[0] == "new-cell"


def test_the_line_breaks_where_a_k_was_not_run_and_the_legend_says_so(tmp_path):
    context = make_context(tmp_path, **sweep({"f-1": 140.0, "f-100": 126.0, "f-1000": 125.0}))
    with style.applied():
        figure = perplexity_against_matrices(context, "figure-2", {})
        figure.canvas.draw()
    (axes,) = figure.axes
    drawn = next(line for line in axes.lines if len(line.get_xdata()) == 4)
    assert drawn.get_xdata().tolist() == [1, 10, 100, 1000]
    np.testing.assert_array_equal(drawn.get_ydata().astype(float), [140.0, np.nan, 126.0, 125.0])
    said = {text.get_text() for text in figure.legends[0].texts}
    assert {"ours, f: the most frequent words (3 of 4 K)", "ours, f_mod: rank modulo K: not run"} <= said
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "10\nnot run", "100", "1000"]


def test_drawing_leaves_matplotlib_as_it_was(tmp_path):
    before = dict(mpl.rcParams)
    style.save(draw(make_context(tmp_path)), tmp_path / "figure")
    assert dict(mpl.rcParams) == before


SCRIPT = """
import sys
from pathlib import Path
from report_case import make_project, resolve
from reprise.report.page.page import write_page
from reprise.report.parts.context import load_contexts
from reprise.report.render import render
project = make_project(Path(sys.argv[1]))
contexts = load_contexts(project, resolve())
render(project, contexts)
write_page(project, {"paper": contexts})
"""


@pytest.mark.slow
def test_every_file_has_the_same_bytes_in_another_process(tmp_path):
    path = os.pathsep.join([str(Path(reprise.__file__).parents[1]), str(Path(__file__).parent)])
    running, found = [], []
    for seed in ("1", "2"):
        # Another hash seed and another time zone: neither may show.
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed, "TZ": f"UTC{seed}"}
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / seed)]
        running.append(subprocess.Popen(command, env=environment))
    assert [process.wait() for process in running] == [0, 0]
    for root in (tmp_path / "1", tmp_path / "2"):
        files = sorted(p for p in (root / "results").rglob("*") if p.is_file())
        found.append({str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files})
    assert found[0] == found[1]
    kinds = [Path(name).suffix for name in found[0]]
    assert {kind: kinds.count(kind) for kind in (".svg", ".png", ".pdf", ".csv", ".md", ".html")} == {
        ".svg": 2,
        ".png": 2,
        ".pdf": 2,
        ".csv": 4,
        ".md": 3,
        ".html": 4,
    }
