"""A small paper with made-up records, which the tests of the report share; and how it is loaded."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reprise.config.project import Project
from reprise.config.schema import Config, Paper
from reprise.records.resolved import Resolved
from reprise.report.parts.collected import CURVE_COLUMNS, METRIC_COLUMNS
from reprise.report.parts.context import Context, load_contexts

TIER = "paper"
FIRST, LAST = "first_full_accuracy_step", "last_ten_accuracy"
SMALL_LIMITS = {"mem_mb": 1000, "runtime": 5}


def setting(value: Any) -> dict[str, Any]:
    return {"value": value, "from": "paper §4"}


def digits(model: str, length: int, tiers: dict[str, Any], **author: float | None) -> dict[str, Any]:
    return {
        "title": f"{model.upper()}, T = {length}",
        "model": {"name": model, "hidden_size": setting(8)},
        "data": {"dataset": "palindromes", "length": setting(length)},
        "training": {"protocol": "final-digit", "steps": setting(21)},
        "precision": setting("float32"),
        "tiers": tiers,
        "cited_by": ["figure-1", "convergence"],
        "reported": [reported(metric, value) for metric, value in author.items()],
    }


def words(title: str, tiers: dict[str, Any], paper: float) -> dict[str, Any]:
    return {
        "title": title,
        "model": {"name": "r-rntn", "matrices": setting(1), "mapping": setting("f")},
        "data": {"dataset": "ptb"},
        "training": {"protocol": "subsequence-sgd", "max_epochs": {"value": 60, "from": "assumption epochs"}},
        "precision": setting("float32"),
        "tiers": tiers,
        "cited_by": ["perplexity", "figure-2"],
        "reported": [{"metric": "perplexity", "split": "test", "value": paper, "from": "paper Table 1"}],
    }


def reported(metric: str, value: float | None) -> dict[str, Any]:
    return {"metric": metric, "split": "train", "value": value, "from": "author's log"}


def check(title: str, tolerance: float) -> dict[str, Any]:
    entry = {"name": "lstm-parameter-count", "tolerance": tolerance}
    return {"title": title, "check": entry, "tiers": {TIER: {"replicas": 1}}, "cited_by": ["checks"]}


def display(function: str) -> dict[str, str]:
    return {"title": f"Title of <{function}>", "place": "Table 1", "function": function, "caption": "Caption."}


ALTERNATIVE = {"settings": {"hidden_size": 9}, "experiments": ["rnn-t10"], "tiers": {TIER: {"replicas": 1}}}
PAPER = Paper.model_validate(
    {
        "paper": "toy",
        "document": "002",
        "title": "A toy paper",
        "authors": "Nobody",
        "year": 2017,
        "summary": "A summary.",
        "experiments": {
            "rnn-t10": digits("elman", 10, {TIER: {"replicas": 3}}, **{FIRST: 90, LAST: 1.0}),
            "rnn-t20": digits("elman", 20, {TIER: {"replicas": 3}}, **{FIRST: None, LAST: 0.5}),
            "lstm-t30": digits("lstm", 30, {"reduced": {"replicas": 3}}),
            "ptb-a": words("A", {TIER: {"replicas": 3, "max_epochs": 6}}, 146.7),
            "ptb-b": words("B | b", {TIER: {"replicas": 1, "dataset": "synthetic"}}, 133.7),
            "ptb-c": words("C", {TIER: {"replicas": 2}}, 131.2),
            "identity": check("An identity", 1e-6),
            "erratum": check("An erratum", 1e-6),
            "waiting": check("Not run yet", 0.0),
        },
        "figures": {
            "figure-1": display("palindromes.training_curves"),
            "figure-2": display("rrntn.perplexity_against_matrices"),
        },
        "tables": {
            "convergence": display("palindromes.convergence"),
            "perplexity": display("shared.perplexity"),
            "checks": display("shared.checks"),
        },
        "assumptions": {
            "epochs": {"title": "Epochs", "choice": "sixty", "why": "Guess.", "source": "ours"},
            "width": {"title": "W", "choice": "8", "why": "W.", "source": "s", "alternatives": {"nine": ALTERNATIVE}},
        },
        "deviations": {"corpus": {"title": "Another corpus", "why": "Licence."}},
        "claims": {
            "C1": {"text": "It holds.", "place": "§1", "checks": ["identity", "erratum"]},
            "C2": {"text": "It holds too.", "place": "§2", "checks": ["identity"]},
        },
    }
)


def dataset(title: str) -> dict[str, str]:
    return {"title": title, "licence": "none", "homepage": "", "prepare": "synthetic"}


CONFIG = Config.model_validate(
    {
        "tier": TIER,
        "papers": ["toy"],
        "engine": "auto",
        "device": "auto",
        "datasets": {"ptb": dataset("The treebank"), "synthetic": dataset("Markov text")},
        "resources": dict.fromkeys(("fetch", "prepare", "train", "report"), SMALL_LIMITS),
    }
)


def resolve(paper: Paper = PAPER) -> list[Resolved]:
    """The tier's experiments, as `resolve_tier` would give them, but without a look into any registry."""
    found = []
    for name, entry in paper.experiments.items():
        if TIER not in entry.tiers:
            continue
        tier, origins = entry.tiers[TIER], {"precision": "paper §4"}
        if entry.check:
            config: dict[str, Any] = {"check": entry.check.name, "tolerance": entry.check.tolerance}
        else:
            config = {"precision": "float32"}
            for section, key in (("model", "name"), ("data", "dataset"), ("training", "protocol")):
                content = getattr(entry, section)
                options = {k: v.value for k, v in content.settings.items()}
                origins |= {f"{section}.{k}": v.origin for k, v in content.settings.items()}
                config[section] = {key: getattr(content, key), "options": options}
            config["data"]["dataset"] = tier.dataset or config["data"]["dataset"]
        found.append(Resolved("toy", name, TIER, entry.title, tier.replicas, config, origins, None))
    return [*found, *_variants(paper, found)]


def _variants(paper: Paper, found: list[Resolved]) -> Iterator[Resolved]:
    bases = {e.experiment: e for e in found}
    for key, assumption in paper.assumptions.items():
        for alternative, choice in assumption.alternatives.items():
            tier = choice.tiers.get(TIER)
            for base in (bases[name] for name in choice.experiments if tier and name in bases):
                named = {"experiment": f"{base.experiment}@{key}={alternative}", "replicas": tier.replicas}
                yield Resolved(**{**vars(base), **named, "assumption": key, "alternative": alternative})


def row(experiment: str, replica: int, **values: Any) -> dict[str, Any]:
    """A row of metrics.csv or curves.csv.gz; "" where nothing is given."""
    fixed = {"paper": "toy", "experiment": experiment, "replica": replica, "seed": replica, "status": "finished"}
    made = {"device": "cpu (a chip)", "engine": "reference", "seconds": 1.5, "config_hash": "0" * 12}
    return dict.fromkeys(CURVE_COLUMNS, "") | fixed | made | values


def metric(experiment: str, replica: int, name: str, value: float, split: str, unit: str = "1") -> dict[str, Any]:
    return row(experiment, replica, metric=name, value=value, split=split, unit=unit, n=64, parameters=1000)


def curve(experiment: str, replica: int, accuracy: list[float], status: str = "finished") -> list[dict[str, Any]]:
    """Accuracy and a loss of 1 - accuracy + 0.01 at the steps 0, 5, 10, …"""
    common = {"split": "train", "axis": "step", "status": status}
    made = []
    for i, y in enumerate(accuracy):
        made.append(row(experiment, replica, metric="accuracy", value=y, x=5 * i, **common))
        made.append(row(experiment, replica, metric="cross_entropy", value=1.01 - y, x=5 * i, **common))
    return made


METRICS = [
    metric("rnn-t10", 0, "first_full_accuracy_step", 10, "train"),
    metric("rnn-t10", 0, "last_ten_accuracy", 1.0, "train"),
    metric("rnn-t10", 1, "last_ten_accuracy", 0.1 + 0.2, "train"),
    row("rnn-t10", 2, status="diverged"),
    metric("rnn-t10", 0, "last_ten_accuracy", 0.25, "train") | {"variant": "width=nine"},
    metric("ptb-a", 0, "perplexity", 140.0, "test"),
    metric("ptb-a", 1, "perplexity", 142.0, "test"),
    metric("ptb-a", 0, "perplexity", 150.0, "valid"),
    metric("ptb-a", 1, "perplexity", 150.0, "valid"),
    metric("ptb-b", 0, "perplexity", 30.0, "test"),
    metric("identity", 0, "max_error", 1e-9, "left = right", "relative"),
    metric("erratum", 0, "max_error", 0.25, "as printed", "parameters"),
]
CURVES = [
    *curve("rnn-t10", 0, [0.0, 0.5, 1.0, 1.0]),
    *curve("rnn-t10", 1, [0.25, 0.5, 0.25, 0.75]),
    *curve("rnn-t10", 2, [0.5, 1.0], status="diverged"),
]
ORIGINAL = "model,sequence_length,learning_rate,step,train_loss_nats,train_accuracy\n"
ORIGINAL += "".join(f"rnn,{t},0.1,{5 * i},{2 - i},{i / 4}\n" for t in (10, 20) for i in range(2))


def write_collected(folder: Path, metrics: list[dict[str, Any]], curves: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(metrics, columns=list(METRIC_COLUMNS)).astype(object)
    frame.to_csv(folder / "metrics.csv", index=False)
    text = pd.DataFrame(curves, columns=list(CURVE_COLUMNS)).astype(object).to_csv(index=False)
    (folder / "curves.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def make_project(root: Path, metrics: Any = METRICS, curves: Any = CURVES, paper: Paper = PAPER) -> Project:
    write_collected(root / "results" / TIER, metrics, curves)
    (root / "config/reference").mkdir(parents=True, exist_ok=True)
    (root / "config/reference/uva_palindrome_curves.csv").write_text(ORIGINAL)
    return Project(root, CONFIG, {"toy": paper})


def make_context(root: Path, **given: Any) -> Context:
    return load_contexts(make_project(root, **given), resolve(given.get("paper", PAPER)))["toy"]
