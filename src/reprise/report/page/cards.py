"""An experiment's card: equation, settings, curve, numbers, replicas and the command; captions of what is drawn."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from reprise.catalogue.models import MODELS
from reprise.evidence.statistics import clopper_pearson
from reprise.evidence.words import name_of
from reprise.records.resolved import Resolved
from reprise.report.parts import rounding
from reprise.report.parts.context import NOT_RUN, NOT_RUN_YET, NOT_TRAINED, Context, of_experiment
from reprise.report.parts.rounding import NONE, fixed, integer, interval, mean, plural, significant, unit_words
from reprise.report.parts.spreads import measured

_OF_REPLICAS = {"reached_full_accuracy"}
"""Metrics that are 1 or 0 of a replica: their mean is a share of replicas, with its interval as in verdicts."""


def metrics(context: Context, experiment: Resolved, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Every metric in `rows`, mean and its 95 % interval over the finished replicas, beside the paper's number.

    `paper_unit` and `ours_unit` are those numbers with their units, for where no column says them; `paper_value` and
    `ours_value` the numbers themselves, None where there is none.
    """
    comparable = not context.replaced_dataset(experiment.base)
    found = []
    named = rows.loc[rows.metric != "", ["metric", "split", "unit"]].drop_duplicates()
    for metric, split, unit in named.itertuples(index=False):
        values = measured(context, experiment.experiment, metric, split)
        # Numbers that are counted do not vary: nothing stands beside them.
        reach = values.reach if values.own or values.reach else None
        ours = rounding.even(values.mean, reach, share=unit == "share", least=rounding.least_of(metric))
        if metric in _OF_REPLICAS and values.n:
            low, high = (rounding.fixed(end, 2) for end in clopper_pearson(round(values.mean * values.n), values.n))
            ours = rounding.from_to(rounding.fixed(values.mean, 2), low, high)
        given, paper = context.reported(experiment.base, metric, split)
        theirs = rounding.significant(paper, 5) if given and comparable else ""
        stated = context.printed_unit(experiment.base, metric, split)
        words = unit_words(unit)
        shown = f"{theirs}{words}" if theirs not in ("", rounding.NONE) and not stated else theirs
        if theirs and stated:  # beside the unit of ours it would look as if it were in that one
            theirs += f" (printed as {stated})"
            shown = theirs
        found.append(
            {
                "metric": name_of(metric, split),
                "split": split,
                "paper": theirs,
                "ours": ours,
                "n": str(values.n),
                "unit": "" if unit == "1" else unit,
                "paper_unit": shown,
                "ours_unit": ours if ours == rounding.NONE else f"{ours}{words}",
                "paper_value": paper if comparable else None,
                "ours_value": values.mean,
            }
        )
    return found


_PREFERRED = ("cross_entropy", "accuracy")
_POINTS, _REPLICAS = 60, 5
_WIDTH, _HEIGHT = 380, 130


def training_curve(context: Context, experiment: str) -> str:
    """An SVG of the training's main curve, a line a replica and split; "" where there is no curve."""
    rows = of_experiment(context.curves, experiment)
    rows = rows[rows.axis.isin(("epoch", "step"))]
    metric = next((m for m in _PREFERRED if (rows.metric == m).any()), None)
    if metric is None:
        return ""
    rows = rows[rows.metric == metric].dropna(subset="value")
    ends = rows.x.min(), rows.x.max(), rows.value.min(), rows.value.max()
    lines = []
    for split, of_split in rows.groupby("split", sort=False):
        for _, line in [*of_split.groupby("replica")][:_REPLICAS]:
            shown = line.iloc[:: max(1, len(line) // _POINTS)]
            points = " ".join(f"{x:.4g},{y:.4g}" for x, y in _placed(shown.x, shown.value, ends))
            lines.append(f'<polyline class="{escape(split)}" points="{points}"/>')
    labels = [significant(end, 3) for end in ends]
    unit = unit_words(rows.unit.iloc[0])
    return (
        f'<svg class="curve" viewBox="0 0 {_WIDTH + 60} {_HEIGHT + 24}" role="img" '
        f'aria-label="{escape(described(context, experiment))}">'
        f'<rect x="46" y="4" width="{_WIDTH}" height="{_HEIGHT}"/>{"".join(lines)}'
        f'<text x="42" y="12" text-anchor="end">{labels[3]}</text>'
        f'<text x="42" y="{_HEIGHT + 4}" text-anchor="end">{labels[2]}</text>'
        f'<text x="46" y="{_HEIGHT + 18}">{labels[0]}</text>'
        f'<text x="{_WIDTH + 46}" y="{_HEIGHT + 18}" text-anchor="end">{rows.axis.iloc[0]} {labels[1]}</text>'
        f'<text x="{_WIDTH / 2 + 46}" y="{_HEIGHT + 18}" text-anchor="middle">'
        f"{escape(metric.replace('_', ' ') + unit)}</text></svg>"
    )


def _placed(x: pd.Series, y: pd.Series, ends: tuple[float, float, float, float]) -> Iterator[tuple[float, float]]:
    left, right, low, high = ends
    across, up = (right - left) or 1.0, (high - low) or 1.0
    for a, b in zip(x, y, strict=True):
        yield 46 + _WIDTH * (a - left) / across, 4 + _HEIGHT * (1 - (b - low) / up)


def described(context: Context, experiment: str) -> str:
    """What that curve shows, in words: model and variant, where each split ends on the mean over the replicas that
    finished, how many these are, and how many diverged.
    """
    base, _, variant = experiment.partition("@")
    text = f"Training curve of {context.entry(base).title}{f' ({variant})' if variant else ''}"
    rows = of_experiment(context.curves, experiment)
    rows = rows[rows.axis.isin(("epoch", "step")) & rows.metric.isin(_PREFERRED)]
    diverged = rows[rows.status == "diverged"].replica.nunique()
    rows = rows[rows.status == "finished"]
    if rows.empty:
        return f"{text}: {plural(diverged, 'replica')}, diverged" if diverged else text
    said = []
    rows = rows[rows.metric == next(m for m in _PREFERRED if (rows.metric == m).any())]
    for split, of_split in rows.groupby("split", sort=False):
        last = of_split.sort_values("x", kind="stable").groupby("replica").tail(1)
        end, at = significant(mean(last.value.to_numpy()), 3), interval(last.x.min(), last.x.max())
        name, unit = name_of(rows.metric.iloc[0], split), unit_words(last.unit.iloc[0])
        said.append(f"{name} {end}{unit} at {last.axis.iloc[0]} {at}")
    count = rows.replica.nunique()
    text += f": at its end {', '.join(said)}{f', means over {count} replicas' if count > 1 else ', 1 replica'}"
    return text + (f"; {diverged} more diverged" if diverged else "")


_PACKAGE = Path(__file__).resolve().parents[2]


@cache
def equation(model: str) -> str:
    """The indented lines of the docstrings of the model's class and file that hold a `=`; "" where there are none.

    The class speaks first: a file may hold several models.
    """
    if model not in MODELS:
        return ""
    module, _, name = MODELS[model].target.partition(":")
    path = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    for node in (*classes, tree):
        found = _equations(ast.get_docstring(node, clean=False) or "")
        if found:
            return found
    return ""


def _equations(docstring: str) -> str:
    lines = inspect.cleandoc(docstring).splitlines()
    chosen = [line.strip() for line in lines if " = " in line and (line.startswith("    ") or _is_formula(line))]
    return "\n".join(chosen)


def _is_formula(line: str) -> bool:
    """A line of prose has words before its equals sign; a formula has one name, or a probability as P(x | y)."""
    left = line.partition(" = ")[0].strip()
    return re.fullmatch(r"\S+|\w+\(.* \| .*\)", left) is not None


_NAMED_EACH = 4
"""So many experiments are called by name; of more, the table or figure itself says which."""
_WITHIN = {"Diverged", "Replicas still missing"}
"""What happens to replicas within an experiment, not to all of it."""


def replicas_of(context: Context, display_id: str) -> str:
    """A few sentences on the replicas behind a display: how many ran, diverged and are missing."""
    if not context.of_experiments(display_id):
        return ""
    names = context.cited_by(display_id)
    states = {name: context.status(name) for name in names}
    run = [state for state in states.values() if state.run]
    if not run:
        return f"{context.total(names).absence.capitalize()}."
    counts = {state.run for state in run}
    each = f"{interval(min(counts), max(counts))} replica{'' if max(counts) == 1 else 's'}"
    sentences = [f"{plural(len(run), 'experiment')}, {each}{' each' if len(run) > 1 else ''}."]
    titles = {name: context.paper.experiments[name].title for name in names}
    kinds = {
        "Diverged": {n: f"{s.diverged} of {s.run}" for n, s in states.items() if s.diverged},
        "Replicas still missing": {n: f"{s.missing} of {s.wanted}" for n, s in states.items() if s.run and s.missing},
        NOT_TRAINED.capitalize(): {n: "" for n, s in states.items() if s.wanted and not s.run and s.trains},
        NOT_RUN_YET.capitalize(): {n: "" for n, s in states.items() if s.wanted and not s.run and not s.trains},
        NOT_RUN.capitalize(): {n: "" for n, s in states.items() if not s.wanted},
        "On another corpus": {n: "" for n, s in states.items() if s.run and context.replaced_dataset(n)},
    }
    for words, found in kinds.items():
        if len(found) > _NAMED_EACH:
            joined = f"{words} in" if words in _WITHIN else f"{words}:"
            sentences.append(f"{joined} {plural(len(found), 'experiment')}.")
        elif found:
            named = (f"{titles[name]} ({count})" if count else titles[name] for name, count in found.items())
            sentences.append(f"{words}: {'; '.join(named)}.")
    return " ".join(sentences)


def card(context: Context, experiment: Resolved) -> dict[str, Any]:
    entry = context.paper.experiments[experiment.base]
    rows = of_experiment(context.metrics, experiment.experiment)
    replicas = rows.drop_duplicates("replica").sort_values("replica", kind="stable")
    return {
        "id": experiment.experiment,
        "title": entry.title,
        "note": entry.note.strip() if entry.note else None,
        "variant": f"{experiment.assumption}: {experiment.alternative}" if experiment.assumption else None,
        "hash": experiment.config_hash,
        "status": context.status(experiment.experiment),
        "equation": equation(entry.model.name) if entry.model else "",
        "curve": Markup(training_curve(context, experiment.experiment)),
        "parameters": next((integer(p) for p in replicas.parameters.dropna()), None),
        "settings": list(_settings(experiment)),
        "metrics": metrics(context, experiment, rows),
        "counted": next((text for text in rows.counted if text), None),
        "replicas": [_replica(row, experiment) for row in replicas.to_dict("records")],
        "command": _command(experiment, replicas.to_dict("records")),
        "cited_by": entry.cited_by,
    }


def _command(experiment: Resolved, replicas: list[dict[str, Any]]) -> str:
    """What trains a replica that has a record again, on the engine that made it, and compares; where none has one, the
    first.
    """
    train = f"python -m reprise train {experiment.id} --tier {experiment.tier} --replica"
    if not replicas:
        return f"{train} 0"
    # Without --output nothing would be trained: the record is where the pipeline puts it.
    first = replicas[0]["replica"]
    diff = f"python -m reprise diff again.json {experiment.record_path(first)}"
    return f"{train} {first} --engine {replicas[0]['engine']} --output again.json\n{diff}"


def _settings(experiment: Resolved) -> Any:
    """(name, value, origin, assumption or deviation to link to) of everything that decides the numbers."""
    config = experiment.config
    if experiment.is_check:
        yield "check", config["check"], "", ""
        yield "tolerance", significant(config["tolerance"]), "", ""
        return
    for section, key in (("model", "name"), ("data", "dataset"), ("training", "protocol")):
        yield section, config[section][key], "", ""
        for option, value in sorted(config[section]["options"].items()):
            origin = experiment.origins.get(f"{section}.{option}", "")
            yield f"{section}.{option}", str(value), origin, _anchor(origin)
    origin = experiment.origins["precision"]
    yield "precision", config["precision"], origin, _anchor(origin)


def _anchor(origin: str) -> str:
    kind, _, name = origin.partition(" ")
    return f"{kind}s/{name}" if kind in {"assumption", "deviation"} else ""


def _replica(row: Mapping[str, Any], experiment: Resolved) -> dict[str, str]:
    record = experiment.record_path(row["replica"])
    return {
        "record": record.removeprefix("results/"),
        "replica": str(row["replica"]),
        "seed": integer(row["seed"]),
        "fold": row["fold"] or NONE,
        "status": row["status"],
        "engine": row["engine"],
        "device": row["device"],
        "seconds": fixed(row["seconds"], 1),
    }
