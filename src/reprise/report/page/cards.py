"""Make an experiment's card: equation, settings, curve, metrics, replicas and command; and the captions of displays."""

import ast
import inspect
import math
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from shlex import quote
from typing import Any, get_args

from markupsafe import Markup

from reprise.catalogue.models import find_model
from reprise.catalogue.own import find_module_file, is_own
from reprise.config.sections import Section
from reprise.evidence.collect import describe_counted_tokens, is_over_tokens
from reprise.evidence.load import TIME
from reprise.evidence.runs import Curve
from reprise.evidence.statistics import compute_clopper_pearson_interval
from reprise.records.model import FormerEngine
from reprise.records.resolved import Resolved
from reprise.report.papers.shared import cells
from reprise.report.parts import rounding
from reprise.report.parts.context import Context
from reprise.report.parts.names import name_metric, name_split
from reprise.report.parts.rounding import format_fixed, format_integer, format_range, format_significant, format_unit
from reprise.report.parts.uncertainty import estimate_mean

_REPLICA_SHARES = {"reached_full_accuracy": "accuracy"}
"""Metrics that are 1 or 0 for a replica, and the curve that reaches 1 if so, which diverged replicas have too.

They are shown as a share of all replicas, with its interval as in verdicts.
"""


def list_metrics(context: Context, experiment: Resolved) -> list[dict[str, str]]:
    """List every metric: the mean over the finished replicas with its 95 % interval, and the paper's number."""
    is_comparable = not context.find_replaced_dataset(experiment.base)
    runs = context.runs[experiment.experiment]
    units = {quantity: unit for replica in runs.finished for quantity, unit in replica.units.items()}
    metrics = []
    for (metric, split), unit in units.items():
        estimate = estimate_mean(context, experiment.experiment, metric, split)
        # Numbers that are counted do not vary: they have no interval.
        low, high = estimate.interval or (None, None)
        if low == high and not estimate.sd:
            low = high = None
        ours = rounding.format_estimate(
            estimate.mean, low, high, is_share=unit == "share", lower_bound=rounding.find_lower_bound(metric)
        )
        n = estimate.n
        if curve := _REPLICA_SHARES.get(metric):
            n, course = len(runs.replicas), (curve, split)
            reached = sum(max(r.metrics.get((metric, split), 0), r.best.get(course, 0)) >= 1 for r in runs.replicas)
            interval = compute_clopper_pearson_interval(reached, n)
            ours = rounding.format_with_bounds(*(format_fixed(value, 2) for value in (reached / n, *interval)))
        paper = context.find_reported(experiment.base, metric, split)
        printed = format_significant(paper.value, 5) if paper and is_comparable else ""
        metrics.append(
            {
                "metric": name_metric(metric, split),
                "split": split,
                "paper": f"{printed} (printed as {paper.unit})" if printed and paper.unit else printed,
                "ours": ours,
                "n": str(n),
                "unit": "" if unit == "1" else unit,
            }
        )
    return sorted(metrics, key=lambda row: not row["paper"])


_PREFERRED_METRICS = ("cross_entropy", "accuracy")
_MAX_POINTS, _MAX_REPLICAS = 60, 5
_WIDTH, _HEIGHT, _LEFT = 380, 130, 62


def draw_training_curve(context: Context, experiment: str) -> str:
    """Draw the main training curve as an SVG, with a line per replica and split; "" without a curve."""
    curves = [curve for _, curve in context.iterate_curves(experiment) if curve.axis in TIME and curve.y]
    metric = next(
        (candidate for candidate in _PREFERRED_METRICS if any(curve.metric == candidate for curve in curves)), None
    )
    if metric is None:
        return ""
    curves = [curve for curve in curves if curve.metric == metric]
    axis, unit = curves[0].axis, curves[0].unit
    left, low = (min(min(getattr(curve, coordinate)) for curve in curves) for coordinate in "xy")
    right, high = (max(max(getattr(curve, coordinate)) for curve in curves) for coordinate in "xy")
    curves_by_split: dict[str, list[Curve]] = {}
    for curve in curves:
        curves_by_split.setdefault(curve.split, []).append(curve)
    elements = [
        _draw_polyline(curve, (left, right), (low, high))
        for replicas in curves_by_split.values()
        for curve in replicas[:_MAX_REPLICAS]
    ]
    for column, split in enumerate(curves_by_split):
        x = _LEFT + 90 * column
        elements.append(
            f'<line class="{escape(split)}" x1="{x}" x2="{x + 16}" y1="{_HEIGHT + 32}" y2="{_HEIGHT + 32}"/>'
        )
        elements.append(f'<text x="{x + 20}" y="{_HEIGHT + 36}">{escape(name_split(split))}</text>')
    label = escape(metric.replace("_", "-") + format_unit(unit))
    texts = [
        (_LEFT - 4, 12, "end", format_significant(high, 3)),
        (_LEFT - 4, _HEIGHT + 4, "end", format_significant(low, 3)),
        (_LEFT, _HEIGHT + 18, "start", format_significant(left, 3)),
        (_WIDTH + _LEFT, _HEIGHT + 18, "end", f"{axis} {format_significant(right, 3)}"),
    ]
    elements += [f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in texts]
    rotation = f'transform="translate(12,{_HEIGHT // 2 + 4}) rotate(-90)" text-anchor="middle"'
    return (
        f'<svg class="curve" viewBox="0 0 {_WIDTH + _LEFT + 10} {_HEIGHT + 42}" role="img" '
        f'aria-label="Training curve of {escape(context.get_title(experiment))}: {label}">'
        f'<rect x="{_LEFT}" y="4" width="{_WIDTH}" height="{_HEIGHT}"/>{"".join(elements)}'
        f"<text {rotation}>{label}</text></svg>"
    )


def _draw_polyline(curve: Curve, x_ends: tuple[float, float], y_ends: tuple[float, float]) -> str:
    """Draw a curve as a line of at most `_MAX_POINTS` points and the last in a panel with axes from end to end."""
    (left, right), (low, high) = x_ends, y_ends
    x_range, y_range = (right - left) or 1.0, (high - low) or 1.0
    drawn = sorted({*range(0, len(curve.x), math.ceil(len(curve.x) / _MAX_POINTS)), len(curve.x) - 1})
    points = " ".join(
        f"{_LEFT + _WIDTH * (x - left) / x_range:.4g},{4 + _HEIGHT * (1 - (y - low) / y_range):.4g}"
        for x, y in ((curve.x[i], curve.y[i]) for i in drawn)
    )
    return f'<polyline class="{escape(curve.split)}" points="{points}"/>'


_PACKAGE = Path(__file__).resolve().parents[2]
_FORMULA = re.compile(r" {4}| *(\S+|\w+\(.* \| .*\)) += ")
"""Matches a formula: one name before the equals sign, or a probability as P(x | y). Prose has words there."""


def find_equations(model: Section) -> str:
    """Return the model's equation, followed by that of its gated unit; "" without any.

    A model of one's own has no unit of ours, whatever its options are called.
    """
    unit = None if is_own(model.name) else model.settings.get("unit")
    gate_equation = (
        _read_equation("reprise.models.recurrent_layers", unit.value.upper())
        if unit and unit.value in {"gru", "lstm"}
        else ""
    )
    return "\n".join(filter(None, (_read_equation(*find_model(model.name).target.split(":")), gate_equation)))


@cache
def _read_equation(module: str, name: str = "") -> str:
    """Return the indented formulas in the docstring of a class, or else of its module."""
    if not module:
        return ""
    is_ours = module.startswith("reprise.")
    path = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py") if is_ours else find_module_file(module)
    if path is None:
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in (*(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), tree):
        lines = inspect.cleandoc(ast.get_docstring(node, clean=False) or "").splitlines()
        if formulas := [line.strip() for line in lines if " = " in line and _FORMULA.match(line)]:
            return "\n".join(formulas)
    return ""


def describe_replicas(context: Context, display_id: str) -> str:
    """Count the experiments and replicas of a display, and those diverged, missing or not run."""
    if not context.has_experiments(display_id):
        return ""
    names = context.list_cited_experiments(display_id)
    statuses = {name: status for name in names if (status := context.get_status(name)).recorded}
    if not statuses:
        return f"{context.sum_status(names).missing_reason.capitalize()}."
    counts = [status.recorded for status in statuses.values()]
    counts_by_name = {
        "experiments": len(statuses),
        "replicas of each": format_range(min(counts), max(counts)),
        "replicas diverged": sum(status.diverged for status in statuses.values()),
        "replicas still missing": sum(status.missing for status in statuses.values()),
        "experiments not run": len(names) - len(statuses),
        "experiments on another corpus": sum(context.find_replaced_dataset(name) is not None for name in statuses),
    }
    text = "; ".join(f"{description}: {count}" for description, count in counts_by_name.items() if count)
    return f"{text}.".capitalize()


def make_card(context: Context, experiment: Resolved) -> dict[str, Any]:
    """Return the values that the template of an experiment's card needs."""
    entry = context.paper.experiments[experiment.base]
    replicas = context.list_replicas(experiment.experiment)
    parameters = cells.find_parameter_count(context, experiment.experiment)
    over_tokens = any(
        is_over_tokens(metric, unit) for replica in replicas for (metric, _), unit in replica.units.items()
    )
    preparations = {name: dataset.prepare for name, dataset in context.datasets.items()}
    return {
        "experiment": experiment,
        "entry": entry,
        "variant": f"{experiment.assumption}: {experiment.alternative}" if experiment.assumption else "",
        "status": context.get_status(experiment.experiment),
        "equation": find_equations(entry.model) if entry.model else "",
        "curve": Markup(draw_training_curve(context, experiment.experiment)),
        "parameters": None if parameters is None else format_integer(parameters),
        "settings": list(list_settings(experiment)),
        "metrics": list_metrics(context, experiment),
        "tokens": describe_counted_tokens(experiment, preparations) if over_tokens else None,
        "replicas": replicas,
        "command": make_command(experiment, next(((r.number, r.made.engine) for r in replicas), None)),
    }


def make_command(experiment: Resolved, first_replica: tuple[int, str] | None) -> str:
    """Return the command that trains the `first_replica` with a record again and compares; replica 0 without one."""
    train = f"python -m reprise train {quote(experiment.id)} --tier {experiment.tier} --replica"
    if first_replica is None:
        return f"{train} 0"
    number, engine = first_replica
    engine = "reference" if engine in get_args(FormerEngine) else engine
    # Without --output nothing would be trained: the record is where the pipeline puts it.
    diff = f"python -m reprise diff again.json {quote(experiment.get_record_path(number))}"
    return f"{train} {number} --engine {quote(engine)} --output again.json\n{diff}"


def list_settings(experiment: Resolved) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and origin of every setting that affects the results."""
    config, origins = experiment.config, experiment.origins
    if experiment.is_check:
        yield "check", config["check"], ""
        yield "tolerance", format_significant(config["tolerance"]), ""
        return
    for section, key in (("model", "name"), ("data", "dataset"), ("training", "protocol")):
        yield section, config[section][key], ""
        for option, value in sorted(config[section]["options"].items()):
            yield f"{section}.{option}", value, origins.get(f"{section}.{option}", "")
    yield "precision", config["precision"], origins["precision"]
