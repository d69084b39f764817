"""The page of a tier: one file, without a network, from what was collected and the files already rendered."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reprise.config.displays import Entry, entries
from reprise.config.project import Project
from reprise.files import write_atomically
from reprise.records.resolved import Resolved
from reprise.report import assumptions, criteria, facts, interactive, overview, rounding
from reprise.report.context import NOT_RUN, Context, of_experiment
from reprise.report.equations import equation
from reprise.report.measured import metrics
from reprise.report.thumbnails import described, training_curve
from reprise.report.words import sentence

TEMPLATES = Path(__file__).with_name("templates")
TIERS = {
    "quick": "minutes and no network: every step of the pipeline, on small or generated data; no replication",
    "reduced": "hours on a small machine: the papers' sizes, cut down where an experiment says so",
    "paper": "the protocol of the papers",
}


def write_page(project: Project, contexts: Mapping[str, Context]) -> Path:
    """Writes results/<tier>/report.html from the files that are there; returns its path."""
    path = project.root / "results" / project.config.tier / "report.html"
    write_atomically(path, page(project, contexts))
    return path


def page(project: Project, contexts: Mapping[str, Context]) -> str:
    """The text of the page; equal inputs give equal text."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["sentence"] = sentence
    environment.filters["natural"] = natural
    folder = project.root / "results" / project.config.tier
    there = list(entries(project.papers, project.root).values())
    papers = [_paper(c, [e for e in there if e.paper == c.paper_id], folder) for c in contexts.values()]
    cards = [card for paper in papers for card in paper["experiments"]]
    totals = {
        k: sum(getattr(card["status"], k) for card in cards) for k in ("finished", "diverged", "missing", "wanted")
    }
    index = overview.experiment_rows(papers)
    return environment.get_template("page.html.j2").render(
        tier=project.config.tier,
        tier_text=TIERS[project.config.tier],
        papers=papers,
        experiments=len(cards),
        complete=sum(not card["status"].missing for card in cards),
        totals=totals,
        not_run=NOT_RUN,
        verdicts=overview.verdict_counts(contexts.values()),
        kinds=overview.KINDS,
        claims=overview.claim_rows(contexts.values()),
        criteria=criteria.key(),
        index=index,
        linked={row["anchor"] for row in index},
        table_styles=interactive.styles(),
        table_script=interactive.module_url(),
    )


def natural(name: str) -> str:
    """What a name with numbers is sorted by as text: "C3" before "C10"."""
    return re.sub(r"\d+", lambda number: number[0].zfill(6), name)


def _paper(context: Context, shown: list[Entry], folder: Path) -> dict[str, Any]:
    paper = context.paper
    return {
        "id": context.paper_id,
        "paper": paper,
        "figures": [_figure(context, e, folder) for e in shown if e.kind == "figures"],
        "tables": [_table(context, e, folder) for e in shown if e.kind == "tables"],
        "experiments": [_card(context, e) for e in context.experiments],
        "alternatives": {(o.assumption, o.alternative): o.state for o in assumptions.outcomes(context)},
        "consequences": assumptions.sentence(context),
        "absent": [name for name in paper.experiments if context.resolved(name) is None],
    }


def _figure(context: Context, entry: Entry, folder: Path) -> dict[str, Any]:
    file = folder / "figures" / f"{entry.name}.svg"
    # As an image, not inline: identifiers inside one drawing cannot meet those of another.
    source = None
    if file.is_file():
        source = "data:image/svg+xml;base64," + base64.b64encode(file.read_bytes()).decode()
    return {**_display(context, entry), "source": source, "formats": ("svg", "png", "pdf")}


def _table(context: Context, entry: Entry, folder: Path) -> dict[str, Any]:
    file = folder / "tables" / f"{entry.name}.html"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    table, end, notes = text.partition("</table>")  # what stands after it does not scroll with it
    table, columns = re.subn(r"<th(?=[ >])", '<th scope="col"', table)
    return {
        **_display(context, entry),
        "content": Markup(table + end) if text else None,
        "notes": Markup(notes),
        "columns": columns,
        "formats": ("csv", "md"),
    }


def _display(context: Context, entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.display.title,
        "place": entry.display.place,
        "caption": entry.display.caption.strip(),
        "facts": facts.replicas(context, entry.id),
        "empty": context.of_experiments(entry.id) and not context.total(context.cited_by(entry.id)).run,
    }


def _card(context: Context, experiment: Resolved) -> dict[str, Any]:
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
        "curve": training_curve(context, experiment.experiment),
        "curve_words": described(context, experiment.experiment),
        "parameters": next((rounding.integer(p) for p in replicas.parameters.dropna()), None),
        "settings": list(_settings(experiment)),
        "metrics": metrics(context, experiment, rows),
        "counted": next((text for text in rows.counted if text), None),
        "replicas": [_replica(row, experiment) for row in replicas.to_dict("records")],
        "command": _command(experiment, replicas.to_dict("records")),
        "cited_by": [f"{context.paper_id}-{display}" for display in entry.cited_by],
    }


def _command(experiment: Resolved, replicas: list[dict[str, Any]]) -> str:
    """What trains a replica that has a record again, on the engine that made it; where none has one, the first."""
    train = f"python -m reprise train {experiment.id} --tier {experiment.tier} --replica"
    if not replicas:
        return f"{train} 0"
    # Without --output nothing would be trained: the record is where the pipeline puts it.
    return f"{train} {replicas[0]['replica']} --engine {replicas[0]['engine']} --output again.json"


def _settings(experiment: Resolved) -> Any:
    """(name, value, origin, assumption or deviation to link to) of everything that decides the numbers."""
    config = experiment.config
    if experiment.is_check:
        yield "check", config["check"], "", ""
        yield "tolerance", rounding.significant(config["tolerance"]), "", ""
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
    return f"{kind}-{name}" if kind in {"assumption", "deviation"} else ""


def _replica(row: Mapping[str, Any], experiment: Resolved) -> dict[str, str]:
    record = experiment.record_path(row["replica"])
    return {
        "record": record.removeprefix(f"results/{experiment.tier}/"),
        "replica": str(row["replica"]),
        "seed": rounding.integer(row["seed"]),
        "fold": row["fold"] or rounding.NONE,
        "status": row["status"],
        "engine": row["engine"],
        "device": row["device"],
        "seconds": rounding.fixed(row["seconds"], 1),
    }
