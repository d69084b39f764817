"""Made-up records of the books beside the original's curves and texts, which the tests of the report share."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.report.parts.collected import CURVE_COLUMNS, METRIC_COLUMNS
from reprise.report.parts.context import load_contexts

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "config" / "reference"
ORIGINAL = pd.read_csv(REFERENCE / "uva_text_loss_curves.csv")


def row(experiment, replica, **values):
    fixed = {"paper": "books", "experiment": experiment, "replica": replica, "seed": replica, "status": "finished"}
    return dict.fromkeys(CURVE_COLUMNS, "") | fixed | values


def losses(experiment, replica, higher):
    """The original's own curve, so much higher."""
    curve = ORIGINAL[(ORIGINAL.book == experiment) & (ORIGINAL.step <= 15000)]
    common = {"metric": "cross_entropy", "split": "train", "axis": "step", "unit": "nats/character"}
    points = zip(curve.step, curve.train_loss_nats, strict=True)
    return [row(experiment, replica, x=x, value=y + higher, **common) for x, y in points]


def text(experiment, kind, step, decoder, prompt, written, replica=0):
    named = {"paper": "books", "experiment": experiment, "variant": "", "replica": replica, "status": "finished"}
    return named | {"kind": kind, "step": step, "decoder": decoder, "prompt": prompt, "text": written}


METRICS = [
    row("grimm", 0, metric="words_in_book", split="sample", value=0.93),
    row("grimm", 1, metric="words_in_book", split="sample", value=0.95),
    row("grimm", 0, metric="words_in_licence", split="hamlet", value=0.25),
    row("grimm", 0, metric="stops_before_capitals", split="sample", value=0.9, n=40),
    row("grimm", 1, metric="stops_before_capitals", split="sample", value=0.8, n=20),
    row("grimm", 0, metric="expected_log_probability", split="hansel", value=math.log(0.8)),
    row("grimm", 1, metric="expected_log_probability", split="hansel", value=math.log(0.2)),
    row("quijote", 0, metric="expected_log_probability", split="hansel", value=math.log(1e-4)),
    row("grimm", 0, metric="final_cross_entropy", split="train", value=1.08),
    row("grimm", 1, metric="final_cross_entropy", split="train", value=1.10),
    row("grimm", 0, metric="final_cross_entropy", split="train", value=1.20, variant="cell-activation=tanh"),
]
CURVES = [
    *losses("grimm", 0, 0.0),
    *losses("grimm", 1, 0.02),
    *losses("quijote", 0, 0.2),
    *(
        row("grimm", 0, x=float(s), value=s / 1000, metric="spaces", split="sample", axis="step")
        for s in (250, 500, 750)
    ),
    *(row("grimm", r, x=3000.0, value=0.5 + r, metric="distinct_2", split="argmax", axis="step") for r in range(2)),
]
TEXTS = [
    text("grimm", "start", 3000, "sample", "Q", "ueen | king"),
    text("grimm", "start", 3000, "argmax", "Q", "ueen the the"),
    text("grimm", "start", 3000, "sample", "X", "of another replica", replica=1),
    text("grimm", "hansel", 15000, "sample", "Hansel and Gr", "etel slept."),
    text("grimm", "hansel", 15000, "argmax", "Hansel and Gr", "etel and the"),
]


def make_context(tmp_path, tier="paper", metrics=METRICS, curves=CURVES, texts=TEXTS):
    shutil.copytree(REFERENCE, tmp_path / "config" / "reference")
    folder = tmp_path / "results" / tier
    folder.mkdir(parents=True)
    pd.DataFrame(metrics, columns=list(METRIC_COLUMNS)).to_csv(folder / "metrics.csv", index=False)
    pd.DataFrame(curves, columns=list(CURVE_COLUMNS)).to_csv(folder / "curves.csv.gz", index=False)
    lines = (json.dumps(line, ensure_ascii=False) + "\n" for line in texts)
    (folder / "samples.jsonl").write_text("".join(lines), encoding="utf-8")
    project = load_project(ROOT, {"papers": ["books"], "tier": tier})
    return load_contexts(replace(project, root=tmp_path), resolve_tier(project))["books"]
