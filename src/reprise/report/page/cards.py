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

from markupsafe import Markup

from reprise.catalogue.models import find_model
from reprise.config.sections import Section
from reprise.evidence.collect import counted_by, is_over_tokens
from reprise.evidence.runs import TIME, Curve
from reprise.evidence.statistics import clopper_pearson
from reprise.records.resolved import Resolved
from reprise.report.papers.shared import cells
from reprise.report.parts import rounding
from reprise.report.parts.context import Context
from reprise.report.parts.names import name_of, split_words
from reprise.report.parts.rounding import fixed, integer, interval, significant, unit_symbol
from reprise.report.parts.spreads import measured

_OF_REPLICAS = {"reached_full_accuracy"}
"""Metrics that are 1 or 0 of a replica: their mean is a share of replicas, with its interval as in verdicts."""


def metrics(context: Context, experiment: Resolved) -> list[dict[str, str]]:
    """Collect every metric, mean and its 95 % interval over the finished replicas, and the paper's number."""
    comparable = not context.replaced_dataset(experiment.base)
    runs = context.runs[experiment.experiment]
    units = {quantity: unit for replica in runs.finished for quantity, unit in replica.units.items()}
    made = []
    for (metric, split), unit in units.items():
        values = measured(context, experiment.experiment, metric, split)
        # Numbers that are counted do not vary: they have no interval.
        low, high = values.interval or (None, None)
        if low == high and not values.own:
            low = high = None
        ours = rounding.even(values.mean, low, high, share=unit == "share", least=rounding.least_of(metric))
        if metric in _OF_REPLICAS and values.n:
            ends = clopper_pearson(round(values.mean * values.n), values.n)
            ours = rounding.from_to(*(fixed(value, 2) for value in (values.mean, *ends)))
        paper = context.reported(experiment.base, metric, split)
        printed = significant(paper.value, 5) if paper and comparable else ""
        made.append(
            {
                "metric": name_of(metric, split),
                "split": split,
                "paper": f"{printed} (printed as {paper.unit})" if printed and paper.unit else printed,
                "ours": ours,
                "n": str(values.n),
                "unit": "" if unit == "1" else unit,
            }
        )
    return sorted(made, key=lambda row: not row["paper"])


_PREFERRED = ("cross_entropy", "accuracy")
_POINTS, _REPLICAS = 60, 5
_WIDTH, _HEIGHT, _LEFT = 380, 130, 62


def training_curve(context: Context, experiment: str) -> str:
    """Draw the training's main curve as an SVG, a line a replica and split, with its legend; "" without a curve."""
    curves = [curve for _, curve in context.curves(experiment) if curve.axis in TIME and curve.y]
    metric = next((m for m in _PREFERRED if any(curve.metric == m for curve in curves)), None)
    if metric is None:
        return ""
    curves = [curve for curve in curves if curve.metric == metric]
    axis, unit = curves[0].axis, curves[0].unit
    left, low = (min(min(getattr(curve, along)) for curve in curves) for along in "xy")
    right, high = (max(max(getattr(curve, along)) for curve in curves) for along in "xy")
    across, up = (right - left) or 1.0, (high - low) or 1.0
    lines: dict[str, list[Curve]] = {}
    for curve in curves:
        lines.setdefault(curve.split, []).append(curve)
    drawn = []
    for split, replicas in lines.items():
        for curve in replicas[:_REPLICAS]:
            step = max(1, len(curve.y) // _POINTS)
            points = " ".join(
                f"{_LEFT + _WIDTH * (x - left) / across:.4g},{4 + _HEIGHT * (1 - (y - low) / up):.4g}"
                for x, y in zip(curve.x[::step], curve.y[::step], strict=True)
            )
            drawn.append(f'<polyline class="{escape(split)}" points="{points}"/>')
    for place, split in enumerate(lines):
        x = _LEFT + 90 * place
        drawn.append(f'<line class="{escape(split)}" x1="{x}" x2="{x + 16}" y1="{_HEIGHT + 32}" y2="{_HEIGHT + 32}"/>')
        drawn.append(f'<text x="{x + 20}" y="{_HEIGHT + 36}">{escape(split_words(split))}</text>')
    label = escape(metric.replace("_", "-") + unit_symbol(unit))
    texts = [
        (_LEFT - 4, 12, "end", significant(high, 3)),
        (_LEFT - 4, _HEIGHT + 4, "end", significant(low, 3)),
        (_LEFT, _HEIGHT + 18, "start", significant(left, 3)),
        (_WIDTH + _LEFT, _HEIGHT + 18, "end", f"{axis} {significant(right, 3)}"),
    ]
    drawn += [f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in texts]
    turned = f'transform="translate(12,{_HEIGHT // 2 + 4}) rotate(-90)" text-anchor="middle"'
    return (
        f'<svg class="curve" viewBox="0 0 {_WIDTH + _LEFT + 10} {_HEIGHT + 42}" role="img" '
        f'aria-label="Training curve of {escape(context.title(experiment))}: {label}">'
        f'<rect x="{_LEFT}" y="4" width="{_WIDTH}" height="{_HEIGHT}"/>{"".join(drawn)}'
        f"<text {turned}>{label}</text></svg>"
    )


_PACKAGE = Path(__file__).resolve().parents[2]
_FORMULA = re.compile(r" {4}| *(\S+|\w+\(.* \| .*\)) += ")
"""A line of prose has words before its equals sign; a formula has one name, or a probability as P(x | y)."""


def equations(model: Section) -> str:
    """Return the model's equation, and that of the gated unit that takes the place of its f; "" without any."""
    unit = model.settings.get("unit")
    gates = (
        _equation("reprise.models.recurrences", unit.value.upper()) if unit and unit.value in {"gru", "lstm"} else ""
    )
    return "\n".join(filter(None, (_equation(*find_model(model.name).target.split(":")), gates)))


@cache
def _equation(module: str, name: str = "") -> str:
    """Return the indented lines of the docstrings of the class, else of its file, that hold a `=`."""
    if not module:
        return ""
    own = not module.startswith("reprise.")
    path = Path(*module.split(".")) if own else _PACKAGE.joinpath(*module.split(".")[1:])
    path = path.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in (*(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), tree):
        lines = inspect.cleandoc(ast.get_docstring(node, clean=False) or "").splitlines()
        if formulas := [line.strip() for line in lines if " = " in line and _FORMULA.match(line)]:
            return "\n".join(formulas)
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
    """Return what an experiment's card shows, by the names of the template."""
    entry = context.paper.experiments[experiment.base]
    replicas = context.replicas(experiment.experiment)
    parameters = cells.parameters(context, experiment.experiment)
    over_tokens = any(
        is_over_tokens(metric, unit) for replica in replicas for (metric, _), unit in replica.units.items()
    )
    preparations = {name: dataset.prepare for name, dataset in context.datasets.items()}
    return {
        "experiment": experiment,
        "entry": entry,
        "variant": f"{experiment.assumption}: {experiment.alternative}" if experiment.assumption else "",
        "status": context.status(experiment.experiment),
        "equation": equations(entry.model) if entry.model else "",
        "curve": Markup(training_curve(context, experiment.experiment)),
        "parameters": None if parameters is None else integer(parameters),
        "settings": list(settings(experiment)),
        "metrics": metrics(context, experiment),
        "counted": counted_by(experiment, preparations) if over_tokens else None,
        "replicas": replicas,
        "command": command(experiment, next(((r.number, r.made.engine) for r in replicas), None)),
    }


def command(experiment: Resolved, first: tuple[int, str] | None) -> str:
    """Return what trains the `first` replica with a record again and compares; replica 0 where none has."""
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
