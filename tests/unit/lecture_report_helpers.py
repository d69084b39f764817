"""Made-up records of document 003's own configuration, which the tests of its tables and figures share."""

from __future__ import annotations

import math
from pathlib import Path

from test_report_case import row, write_collected

from reprise.config.project import PAPERS, Project, load_project, read_paper
from reprise.config.resolve import resolve_tier
from reprise.report.parts import style
from reprise.report.parts.context import load_contexts

REPOSITORY = Path(__file__).parents[2]
PAPER = read_paper(REPOSITORY / PAPERS / "lecture.yaml")[0]
OTHER = read_paper(REPOSITORY / PAPERS / "rrntn.yaml")[0]


def metric(experiment, replica, name, value, split, paper="lecture", **more):
    given = {"metric": name, "value": value, "split": split, "unit": "1", "n": 5, "parameters": 10, "paper": paper}
    return row(experiment, replica, **given | more)


def curve(experiment, replica, name, split, points, axis):
    common = {"metric": name, "split": split, "axis": axis, "paper": "lecture"}
    return [row(experiment, replica, x=x, value=y, **common) for x, y in points.items()]


def nats(*perplexities):
    return {n: math.log(p) for n, p in enumerate(perplexities, 1)}


RECALLED = {8: 1.0, 25: 0.5, 72: 0.25}
RELATIVE = {"zero_share": {1: 0.0, 2: 0.25}, "undefined_share": {1: 0.0, 2: 0.125}}
SURFACE = {4.0: {-2.0: 0.5, -1.0: 0.25}, 5.0: {-2.0: 0.125, -1.0: 0.0}}
PATHS = {
    "plain": {"weight": [5.0, 4.5, 9.0], "bias": [-1.0, -1.5, 7.0], "error": [0.2, 0.3, 0.09]},
    "clipped": {"weight": [5.0, 4.5, 4.6], "bias": [-1.0, -1.5, -1.25], "error": [0.2, 0.3, 0.1]},
}


def records():
    metrics, curves = [], []
    for name, points in RELATIVE.items():
        curves += curve("ngram-relative", 0, name, "test", points, "order")
    curves += curve("ngram-relative", 0, "cross_entropy", "test", nats(600), "order")
    for n in (1, 2):
        curves += curve("ngram-relative", 0, f"stored_order_{n}", "train", {100: 10.0 * n, 200: 20.0 * n}, "words")
    for name, perplexities in {"ngram-kneser-ney": (600, 200), "ngram-add-1": (600, 800)}.items():
        curves += curve(name, 0, "cross_entropy", "test", nats(*perplexities), "order")
    curves += curve("ngram-stupid-backoff", 0, "score_cross_entropy", "test", nats(600, 170), "order")
    curves += curve("ngram-stupid-backoff", 0, "score_sum", "test", {1: 1.0, 2: 1.25}, "order")
    curves += curve("ngram-stupid-backoff", 0, "zero_share", "test", {1: 0.0, 2: 0.0, 3: 0.5}, "order")
    counted = ("ngram-relative", "ngram-kneser-ney", "ngram-add-1", "ngram-stupid-backoff")
    metrics += [metric(name, 0, "stored", 1.0, "train") for name in counted]
    under = {"variant": "sentence-context=text"}
    curves += [
        point | under for point in curve("ngram-kneser-ney", 0, "cross_entropy", "test", nats(600, 210), "order")
    ]
    metrics.append(metric("ngram-kneser-ney", 0, "stored", 1.0, "train", **under))
    metrics += [metric("window-direct", i, "perplexity", p, "test") for i, p in enumerate((150.0, 152.0))]
    metrics.append(metric("lstm-254", 0, "perplexity", 90.0, "test", paper="rrntn", parameters=123))
    for replica, worse in enumerate((0.0, 0.1)):
        shares = {d: share - worse for d, share in RECALLED.items()}
        curves += curve("recall-gru", replica, "accuracy", "test", shares, "distance")
        metrics += [metric("recall-gru", replica, f"accuracy_at_{d}", share, "test") for d, share in shares.items()]
        metrics.append(metric("recall-gru", replica, "log10_jacobian_at_72", -3.0 - 2 * replica, "start"))
        norms = {d: 10.0 ** -(d + replica) for d in (1, 2, 3)}
        for split in ("start", "end"):
            curves += curve("recall-sigmoid", replica, "jacobian_norm", split, norms, "distance")
        curves += curve("recall-sigmoid", replica, "jacobian_bound", "start", {1: 0.5, 2: 0.25, 3: 0.125}, "distance")
        curves += curve("recall-sigmoid", replica, "jacobian_bound_1", "start", {1: 2.0, 2: 4.0, 3: 8.0}, "distance")
        metrics.append(metric("recall-sigmoid", replica, "log10_above_bound", -0.5, "start"))
        for bound in ("jacobian_bound", "jacobian_bound_1", "jacobian_norm"):
            last = 9.0 * (replica == 0 or bound != "jacobian_norm")
            curves += curve("random-tanh-3", replica, bound, "start", {1: 3.0, 2: last}, "distance")
        metrics.append(metric("random-tanh-3", replica, "log10_above_bound", -0.5, "start"))
    for w, errors in SURFACE.items():
        curves += curve("figure-7", 0, "error", f"w = {w:.6g}", errors, "bias")
    for path, columns in PATHS.items():
        for name, values in columns.items():
            curves += curve("figure-7", 0, name, path, dict(enumerate(values)), "update")
    metrics.append(metric("figure-7", 0, "final_error", 0.09, "plain"))
    return metrics, curves


def contexts(root, metrics=None, curves=None, papers=("lecture", "rrntn"), tier="paper"):
    made_up = records()
    rows = [made_up[i] if given is None else given for i, given in enumerate((metrics, curves))]
    write_collected(root / "results" / tier, *rows)
    there = {"lecture": PAPER, "rrntn": OTHER}
    project = Project(root, load_project(REPOSITORY, {"tier": tier}).config, {name: there[name] for name in papers})
    return load_contexts(project, resolve_tier(project))


def reading(table, *keys):
    """The rows as they are read, by raw values."""
    raw = (tuple(row[key] for key in keys) for row in table.rows.to_dict("records"))
    return dict(zip(raw, table.reading().to_dict("records"), strict=True))


def drawn(function, context, figure):
    with style.applied():
        return function(context, figure, {})
