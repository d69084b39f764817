"""An experiment's card: equation, settings, curve, numbers, replicas and the command; captions of what is drawn."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd
from markupsafe import Markup

from reprise.catalogue.models import find_model
from reprise.config.sections import Section
from reprise.evidence.statistics import clopper_pearson
from reprise.evidence.words.names import name_of
from reprise.records.resolved import Resolved
from reprise.report.parts import rounding
from reprise.report.parts.context import Context, of_experiment
from reprise.report.parts.rounding import fixed, integer, interval, significant, unit_symbol
from reprise.report.parts.spreads import measured

_OF_REPLICAS = {"reached_full_accuracy"}
"""Metrics that are 1 or 0 of a replica: their mean is a share of replicas, with its interval as in verdicts."""


def metrics(context: Context, experiment: Resolved, rows: pd.DataFrame) -> list[dict[str, str]]:
    """Every metric in `rows`, mean and its 95 % interval over the finished replicas, beside the paper's number."""
    comparable = not context.replaced_dataset(experiment.base)
    found = []
    named = rows.loc[rows.metric != "", ["metric", "split", "unit"]].drop_duplicates()
    for metric, split, unit in named.itertuples(index=False):
        values = measured(context, experiment.experiment, metric, split)
        # Numbers that are counted do not vary: nothing stands beside them.
        reach = values.reach if values.own or values.reach else None
        ours = rounding.even(values.mean, reach, share=unit == "share", least=rounding.least_of(metric))
        if metric in _OF_REPLICAS and values.n:
            ends = clopper_pearson(round(values.mean * values.n), values.n)
            ours = rounding.from_to(*(fixed(value, 2) for value in (values.mean, *ends)))
        paper = context.reported(experiment.base, metric, split)
        theirs = significant(paper.value, 5) if paper and comparable else ""
        found.append(
            {
                "metric": name_of(metric, split),
                "split": split,
                "paper": f"{theirs} (printed as {paper.unit})" if theirs and paper.unit else theirs,
                "ours": ours,
                "n": str(values.n),
                "unit": "" if unit == "1" else unit,
            }
        )
    return found


_PREFERRED = ("cross_entropy", "accuracy")
_POINTS, _REPLICAS = 60, 5
_WIDTH, _HEIGHT = 380, 130


def training_curve(context: Context, experiment: str) -> str:
    """An SVG of the training's main curve, a line a replica and split; "" where there is no curve."""
    rows = of_experiment(context.curves, experiment)
    rows = rows[rows.axis.isin(("epoch", "step"))].dropna(subset="value")
    metric = next((m for m in _PREFERRED if (rows.metric == m).any()), None)
    if metric is None:
        return ""
    rows = rows[rows.metric == metric]
    left, right, low, high = rows.x.min(), rows.x.max(), rows.value.min(), rows.value.max()
    across, up = (right - left) or 1.0, (high - low) or 1.0
    x, y = 46 + _WIDTH * (rows.x - left) / across, 4 + _HEIGHT * (1 - (rows.value - low) / up)
    rows = rows.assign(point=[f"{a:.4g},{b:.4g}" for a, b in zip(x, y, strict=True)])
    lines = []
    for split, of_split in rows.groupby("split", sort=False):
        for _, line in [*of_split.groupby("replica")][:_REPLICAS]:
            points = " ".join(line.point.iloc[:: max(1, len(line) // _POINTS)])
            lines.append(f'<polyline class="{escape(split)}" points="{points}"/>')
    axis, unit = rows.axis.iloc[0], unit_symbol(rows.unit.iloc[0])
    texts = [
        (42, 12, "end", significant(high, 3)),
        (42, _HEIGHT + 4, "end", significant(low, 3)),
        (46, _HEIGHT + 18, "start", significant(left, 3)),
        (_WIDTH + 46, _HEIGHT + 18, "end", f"{axis} {significant(right, 3)}"),
        (_WIDTH / 2 + 46, _HEIGHT + 18, "middle", escape(metric.replace("_", " ") + unit)),
    ]
    labels = "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in texts)
    return (
        f'<svg class="curve" viewBox="0 0 {_WIDTH + 60} {_HEIGHT + 24}" role="img" '
        f'aria-label="Training curve of {escape(context.title(experiment))}">'
        f'<rect x="46" y="4" width="{_WIDTH}" height="{_HEIGHT}"/>{"".join(lines)}{labels}</svg>'
    )


_PACKAGE = Path(__file__).resolve().parents[2]
_FORMULA = re.compile(r" {4}| *(\S+|\w+\(.* \| .*\)) += ")
"""A line of prose has words before its equals sign; a formula has one name, or a probability as P(x | y)."""


def equations(model: Section) -> str:
    """The model's equation, and that of the gated unit that takes the place of its f; "" without any."""
    unit = model.settings.get("unit")
    gates = (
        _equation("reprise.models.recurrences", unit.value.upper()) if unit and unit.value in {"gru", "lstm"} else ""
    )
    return "\n".join(filter(None, (_equation(*find_model(model.name).target.split(":")), gates)))


@cache
def _equation(module: str, name: str = "") -> str:
    """The indented lines of the docstrings of the class, else of its file, that hold a `=`."""
    if not module:
        return ""
    own = not module.startswith("reprise.")
    path = Path(*module.split(".")) if own else _PACKAGE.joinpath(*module.split(".")[1:])
    path = path.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in (*(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), tree):
        lines = inspect.cleandoc(ast.get_docstring(node, clean=False) or "").splitlines()
        if found := [line.strip() for line in lines if " = " in line and _FORMULA.match(line)]:
            return "\n".join(found)
    return ""


def replicas_of(context: Context, display_id: str) -> str:
    """How many experiments and replicas stand behind a display, and how many diverged, are missing or not run."""
    if not context.of_experiments(display_id):
        return ""
    names = context.cited_by(display_id)
    run = {name: status for name in names if (status := context.status(name)).run}
    if not run:
        return f"{context.total(names).absence.capitalize()}."
    counts = [status.run for status in run.values()]
    counted = {
        "experiments": len(run),
        "replicas of each": interval(min(counts), max(counts)),
        "replicas diverged": sum(status.diverged for status in run.values()),
        "replicas still missing": sum(status.missing for status in run.values()),
        "experiments not run": len(names) - len(run),
        "experiments on another corpus": sum(context.replaced_dataset(name) is not None for name in run),
    }
    return f"{'; '.join(f'{what}: {count}' for what, count in counted.items() if count)}.".capitalize()


def card(context: Context, experiment: Resolved) -> dict[str, Any]:
    """What an experiment's card shows, by the names of the template."""
    entry = context.paper.experiments[experiment.base]
    rows = of_experiment(context.metrics, experiment.experiment)
    replicas = rows.drop_duplicates("replica").sort_values("replica", kind="stable")
    records = replicas.to_dict("records")
    return {
        "experiment": experiment,
        "entry": entry,
        "variant": f"{experiment.assumption}: {experiment.alternative}" if experiment.assumption else "",
        "status": context.status(experiment.experiment),
        "equation": equations(entry.model) if entry.model else "",
        "curve": Markup(training_curve(context, experiment.experiment)),
        "parameters": next((integer(p) for p in replicas.parameters.dropna()), None),
        "settings": list(settings(experiment)),
        "metrics": metrics(context, experiment, rows),
        "counted": next((text for text in rows.counted if text), None),
        "replicas": records,
        "command": command(experiment, next(((r["replica"], r["engine"]) for r in records), None)),
    }


def command(experiment: Resolved, first: tuple[int, str] | None) -> str:
    """What trains the `first` replica with a record again, with its engine, and compares; replica 0 where none has."""
    train = f"python -m reprise train {quote(experiment.id)} --tier {experiment.tier} --replica"
    if first is None:
        return f"{train} 0"
    replica, engine = first
    # Without --output nothing would be trained: the record is where the pipeline puts it.
    diff = f"python -m reprise diff again.json {quote(experiment.record_path(replica))}"
    return f"{train} {replica} --engine {quote(engine)} --output again.json\n{diff}"


def settings(experiment: Resolved) -> Iterator[tuple[str, Any, str]]:
    """(name, value, origin) of everything that decides the numbers."""
    config, origins = experiment.config, experiment.origins
    if experiment.is_check:
        yield "check", config["check"], ""
        yield "tolerance", significant(config["tolerance"]), ""
        return
    for section, key in (("model", "name"), ("data", "dataset"), ("training", "protocol")):
        yield section, config[section][key], ""
        for option, value in sorted(config[section]["options"].items()):
            yield f"{section}.{option}", value, origins.get(f"{section}.{option}", "")
    yield "precision", config["precision"], origins["precision"]
