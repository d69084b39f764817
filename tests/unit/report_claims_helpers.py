"""The toy paper of the reports with claims, alternatives of one assumption and their verdicts."""

from __future__ import annotations

import json

from test_report_case import PAPER, TIER, make_context, metric


def judged(verdict, before, experiments=("ptb-a",)):
    return {
        "verdict": verdict,
        "before": before,
        "flips": verdict != before and "not run" not in (verdict, before),
        "experiments": list(experiments),
        "parts": [1, 1] if experiments else [0, 1],
        "same": False,
    }


def claim(verdict, experiments, alternatives=None):
    base = {"kind": "superiority", "records": None, "sentence": "So.", "replicas": None, "method": None, "parts": []}
    return base | {"verdict": verdict, "experiments": experiments, "alternatives": alternatives or {}}


def with_claims(root, claims, **given):
    """A context of the toy paper, the variants of its assumption on ptb-a, and these claims."""
    entry = PAPER.assumptions["width"].alternatives["nine"]
    there = {
        "nine": entry.model_copy(update={"experiments": ["ptb-a", "ptb-c"]}),
        "eight": entry.model_copy(
            update={"settings": {"hidden_size": 8}, "experiments": ["ptb-a"], "tiers": {"reduced": entry.tiers[TIER]}}
        ),
    }
    width = PAPER.assumptions["width"].model_copy(update={"alternatives": there})
    paper = PAPER.model_copy(update={"assumptions": {"epochs": PAPER.assumptions["epochs"], "width": width}})
    (root / "results" / TIER).mkdir(parents=True, exist_ok=True)
    (root / "results" / TIER / "claims.json").write_text(json.dumps({"toy": claims}))
    return make_context(root, paper=given.pop("paper", paper), **given)


UNDER = [metric("ptb-a", 0, "perplexity", 145.0, "test") | {"variant": "width=nine"}]
TURNED = {
    "C1": claim(
        "reproduced",
        ["ptb-a", "ptb-c"],
        {"width=nine": judged("inconclusive", "reproduced"), "width=eight": judged("not run", "reproduced")},
    ),
    "C2": claim("not run", ["ptb-a"], {"width=nine": judged("reproduced", "reproduced")}),
}
