"""Figures: what is drawn against numbers worked out by hand, and the same bytes from run to run."""

from __future__ import annotations

import hashlib
import math
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
from reprise.evidence.statistics import clopper_pearson
from reprise.report.papers.palindromes.figures import first_steps, training_curves
from reprise.report.papers.palindromes.tables import convergence
from reprise.report.papers.rrntn.figures import perplexity_against_matrices
from reprise.report.parts import style

REPOSITORY = Path(__file__).parents[3]


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


def test_the_share_of_seeds_steps_up_where_each_first_makes_no_mistake(tmp_path):
    context = make_context(tmp_path)
    assert first_steps(context, "rnn-t10") == [5.0, 10.0, math.inf]  # the first of them diverged later
    share, _ = panel(draw(context), "T = 10")
    (line,) = [line for line in share.lines if same_color(line.get_color(), style.BLUE)]
    assert line.get_xdata().tolist() == [0, 5, 10, 15]
    assert line.get_ydata().tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    band = share.collections[0].get_paths()[0].vertices
    low, high = clopper_pearson(2, 3)
    assert {round(y, 9) for x, y in band if x == 15} >= {round(low, 9), round(high, 9)}


def test_losses_are_a_line_a_seed_over_the_original(tmp_path):
    _, loss = panel(draw(make_context(tmp_path)), "T = 10")
    seeds = [line for line in loss.lines if line.get_linewidth() == 0.5]
    assert [line.get_ydata().tolist() for line in seeds] == [
        pytest.approx([1.01, 0.51, 0.01, 0.01]),
        pytest.approx([0.76, 0.51, 0.76, 0.26]),
    ]
    assert any(line.get_xydata().tolist() == [[0, 2], [5, 1]] for line in loss.lines)


def test_a_diverged_replica_is_counted_and_drawn_to_its_end(tmp_path):
    figure = draw(make_context(tmp_path))
    above, below = panel(figure, "T = 10")
    assert "1 diverged" in above.get_title(loc="right")
    marked = [line.get_xydata().tolist() for line in below.lines if line.get_marker() == "X"]
    assert marked == [[[5, pytest.approx(0.01)]]]
    assert panel(figure, "T = 20")[0].get_title(loc="right") == "0 of 3 run"


def test_an_experiment_whose_replicas_all_diverged_is_drawn(tmp_path):
    metrics = [row("rnn-t10", i, status="diverged") for i in range(3)]
    curves = [point for i in range(3) for point in curve("rnn-t10", i, [0.5, 0.25], status="diverged")]
    _, below = panel(draw(make_context(tmp_path, metrics=metrics, curves=curves)), "T = 10")
    assert sum(line.get_marker() == "X" for line in below.lines) == 3


def test_smoothing_is_the_mean_of_the_last_points(tmp_path):
    _, loss = panel(draw(make_context(tmp_path), smooth=2), "T = 10")
    first = next(line for line in loss.lines if line.get_linewidth() == 0.5)
    assert first.get_ydata().tolist() == pytest.approx([1.01, 0.76, 0.26, 0.01])
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
    assert "at most 6 epochs (paper: 60)" in whole.legends[0].get_title().get_text()


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
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "100", "1000"]  # K = 10 was not run


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
