"""Made-up records of document 000, and the context that its figures and tables read."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.report.collected import CURVE_COLUMNS, METRIC_COLUMNS
from reprise.report.context import Context, load_contexts
from reprise.units import bits

ROOT = Path(__file__).parents[2]
POSITIONS = "f1-unigram-r2"


@cache
def project_of(tier: str) -> Project:
    return load_project(ROOT, {"papers": ["gso"], "tier": tier})


def make_context(root: Path, metrics=(), curves=(), samples=(), tier="paper") -> Context:
    folder = root / "results" / tier
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(metrics, columns=list(METRIC_COLUMNS)).to_csv(folder / "metrics.csv", index=False)
    pd.DataFrame(curves, columns=list(CURVE_COLUMNS)).to_csv(folder / "curves.csv.gz", index=False)
    (folder / "samples.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples), encoding="utf-8")
    return load_contexts(replace(project_of(tier), root=root), resolve_tier(project_of(tier)))["gso"]


def row(experiment, fold, **values):
    fixed = {"paper": "gso", "experiment": experiment, "replica": fold, "seed": fold, "fold": fold}
    return dict.fromkeys(CURVE_COLUMNS, "") | fixed | {"status": "finished"} | values


def losses(experiment, fold, nats, characters=1.0):
    """The metrics of a fold of so many nats per character, its tokens having so many characters."""
    values = {
        "cross_entropy": nats * characters,
        "cross_entropy_per_character": nats,
        "cross_entropy_per_character_macro": nats + 0.5,
        "bits_per_character": bits(nats),
    }
    return [row(experiment, fold, split="test", metric=m, value=v, parameters=498187) for m, v in values.items()]


def sample(fold, line, prediction):
    found = {"paper": "gso", "experiment": POSITIONS, "variant": "", "replica": fold, "status": "finished"}
    return found | {"split": "test", "line": line, "prediction": prediction}
