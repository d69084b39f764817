"""Make the page of results: one file without a server, from all run records and the figures already drawn.

The first screen is plain HTML. All else is folded: its HTML is stored compressed, and unpacked when a reader unfolds
it. No markup comes from a file under results/: tables are made anew, and drawings are images.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from markupsafe import Markup

from reprise.config.displays import Entry, list_entries
from reprise.config.project import Project
from reprise.config.schema import Paper
from reprise.errors import UserError
from reprise.evidence.stability import RISE
from reprise.evidence.verdicts import EQUIVALENCE_TAIL, JUDGED, TAIL
from reprise.evidence.verdicts.kinds import CLEAR
from reprise.files import write_atomically
from reprise.processes import read_output
from reprise.records.resolved import FULL
from reprise.report.page import cards
from reprise.report.page.forest import plot_summary, select_plotted
from reprise.report.page.readme import REPLICATION_WORDS, render_summary_notes, select_distance_marks, select_main_marks
from reprise.report.parts.answers import Answer, Tiers, select_judging_tiers
from reprise.report.parts.context import ABSENCES, Context
from reprise.report.parts.readings import READING_HEADERS, make_reading_rows
from reprise.report.parts.rows import (
    HEADERS,
    MARKS,
    make_claim_cells,
    make_co_primary_rows,
    make_comparison_rows,
)
from reprise.report.parts.summary import DISTANCE_HEADERS, Document, summarise
from reprise.report.parts.templates import load_environment, render_claim_notes
from reprise.report.parts.verdicts import list_alternative_results, list_decision_rules, name_alternative
from reprise.report.parts.wording import TIER_NAMES
from reprise.report.render import find_absence, make_table

TIERS = {
    FULL: "the papers' protocols, but for the deviations that we list",
    "reduced": "the papers' sizes with fewer epochs or folds, or less or other text",
    "quick": "minutes: every step of the pipeline on generated data; no replication",
}
"""The tiers with their descriptions, in the order in which a claim's answer is looked up."""
_APPENDIX_TABLES = ("shared.claims", "shared.assumptions", "shared.printed", "shared.errata", "shared.checks")
"""Tables about the reproduction itself; they stand at the end of a document's section."""
_URL_ESCAPES = str.maketrans({character: f"%{ord(character):02X}" for character in '"#%<>\\'})
"""Characters that an address may not contain, and their escapes."""
_NUMBERED = re.compile(r"(table|figure)-\d")
_GIT_SECONDS = 10.0


@dataclass(frozen=True)
class Origin:
    """Hold where a page comes from: date and commit of the clone, and the address of its repository."""

    date: str = ""
    commit: str = ""
    repository: str = ""

    @classmethod
    def read(cls, root: Path) -> Origin:
        """Read the origin from git; what it does not know is left out."""

        def run_git(*arguments: str) -> str:
            return (read_output(["git", "-C", str(root), *arguments], _GIT_SECONDS) or "").strip()

        address = urlsplit(run_git("remote", "get-url", "origin").removesuffix(".git"))
        host = address.netloc.rpartition("@")[2]  # before it may stand a password, which no page is to show
        return cls(
            date=run_git("log", "-1", "--format=%cs"),
            commit=run_git("log", "-1", "--format=%h"),
            repository=f"https://{host}{address.path}" if address.scheme == "https" else "",
        )


def write_page(project: Project, tiers: Tiers, origin: Origin = Origin()) -> Path:
    """Write results/report.html and return its path."""
    path = project.root / "results" / "report.html"
    write_atomically(path, make_page(project, tiers, origin))
    return path


def make_page(project: Project, tiers: Tiers, origin: Origin = Origin()) -> str:
    """Make the text of the page; equal inputs give equal text.

    Args:
        project: The clone.
        tiers: The contexts of every collected tier. Claims are answered by the paper and reduced tiers; by the quick
            one if there is no other.
        origin: What the footer says of the clone.
    """
    tiers = {tier: tiers[tier] for tier in TIERS if tier in tiers}
    summary = summarise(tiers)
    blocks: dict[str, str] = {}
    index: list[tuple[str, str]] = []
    for document in summary.documents:
        contexts = {tier: papers[document.id] for tier, papers in tiers.items()}
        document_blocks, document_index = make_blocks(project, document, contexts)
        blocks |= document_blocks
        index += document_index
    has_effects = bool(select_plotted({document.id: document.answers for document in summary.documents}))
    blocks["index"] = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    script = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
    style_sheets = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("forest.css", "page.css"))
    return _render_template(
        "page",
        summary=summary,
        main_marks=select_main_marks(summary),
        distance_headers=DISTANCE_HEADERS,
        distance_marks=select_distance_marks(summary),
        notes=render_summary_notes(summary),
        plots=[Markup(plot_summary(summary, is_narrow=narrow)) for narrow in (False, True)] if has_effects else [],
        blocks={name: Markup(compress_text(text)) for name, text in blocks.items()},
        tiers=list(select_judging_tiers(tiers)),
        origin=origin,
        style=Markup("\n".join(style_sheets)),
        script=Markup(script),
        script_hash=_hash_script(script),
    )


def _render_template(name: str, **values: Any) -> str:
    """Render a template of the page with the values that all of them share."""
    shared_values = {
        "headers": HEADERS,
        "tier_names": TIER_NAMES,
        "tier_descriptions": TIERS,
        "replication_words": REPLICATION_WORDS,
        "distance_headers": READING_HEADERS,
        "marks": MARKS,
    }
    shared_values |= {"tail": TAIL, "equivalence_tail": EQUIVALENCE_TAIL, "clear": CLEAR, "rise": RISE}
    return load_environment(True).get_template(f"{name}.html.j2").render({**shared_values, **values})


def compress_text(text: str) -> str:
    """Compress a text for a browser's DecompressionStream("deflate"), in base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode()


def make_blocks(
    project: Project, document: Document, tiers: Mapping[str, Context]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Make the folded parts of a document, by name, and its entries of the index, as address and text."""
    paper, name = document.context.paper, document.id
    blocks: dict[str, str] = {}
    index: list[tuple[str, str]] = []
    parts = [_make_part(context, project.root / "results" / tier) for tier, context in tiers.items()]
    parts = [part for part in parts if part["run_count"] or part["displays"] or part["appendix"]]
    for part in parts:
        address, tier = part["address"], part["tier"]
        if part is not parts[0]:  # the fullest tier stands open in the document's section
            blocks[address] = _render_template("tier", part=part)
        blocks[f"{address}/experiments"] = _render_template(
            "experiments", address=address, paper=name, cards=part["cards"]
        )
        entries = [display["entry"] for display in part["displays"] + part["appendix"]]
        index += [(f"{address}/{entry.id}", _describe_display(entry, name, tier)) for entry in entries]
        run_cards = part["cards"][: part["run_count"]]
        index += [(_link_card(part, card), _describe_card(card, tier)) for card in run_cards]
    index += [(a.link, f"{a.claim}: {a.title} · {paper.claims[a.claim].tested} · {name}") for a in document.answers]
    states = describe_alternatives(tiers)
    assumptions_with_runs = _list_assumptions_with_runs(paper, states)
    tier_distances = ((TIER_NAMES[tier], _list_setting_distances(context)) for tier, context in tiers.items())
    blocks[name] = _render_template(
        "paper",
        document=document,
        paper=paper,
        claims=_list_claims(document, tiers),
        parts=parts,
        linked={_link_card(part, card) for part in parts for card in part["cards"]},
        distances_by_tier=[(name, rows) for name, rows in tier_distances if rows],
        alternative_states=states,
        assumptions_with_runs=assumptions_with_runs,
        assumptions_without_runs=[key for key in paper.assumptions if key not in assumptions_with_runs],
    )
    return blocks, index


def _make_part(context: Context, folder: Path) -> dict[str, Any]:
    """Make the displays and cards of a document at one tier, those with results first."""
    entries = list(list_entries({context.paper_id: context.paper}).values())
    displays = list(filter(None, (_make_display(context, entry, folder) for entry in entries)))
    displays.sort(key=lambda display: not _NUMBERED.match(display["entry"].id))
    all_cards = [cards.make_card(context, experiment) for experiment in context.experiments]
    all_cards.sort(key=lambda card: not card["status"].recorded)
    return {
        "tier": context.tier,
        "paper": context.paper_id,
        "address": f"{context.paper_id}/{context.tier}",
        "cards": all_cards,
        "run_count": sum(bool(card["status"].recorded) for card in all_cards),
        "complete_count": sum(not card["status"].missing for card in all_cards),
        "experiment_count": len(all_cards),
        "absences": [(entry, absence) for entry in entries if (absence := find_absence(context, entry))],
        **_group_displays(displays),
    }


def _link_card(part: Mapping[str, Any], card: Mapping[str, Any]) -> str:
    """Return the address of an experiment's card on the page."""
    return f"{part['address']}/experiments/{card['experiment'].experiment}"


def _group_displays(displays: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group figures and tables: those of the document, and those about the reproduction itself."""
    groups: dict[str, list[dict[str, Any]]] = {"displays": [], "appendix": []}
    for display in displays:
        is_appendix = display["entry"].display.function in _APPENDIX_TABLES
        groups["appendix" if is_appendix else "displays"].append(display)
    return groups


def _describe_display(entry: Entry, paper: str, tier: str) -> str:
    """Write the text by which the search finds a figure or table: id, title and place."""
    return f"{entry.id.replace('-', ' ').capitalize()}: {entry.display.title} · {entry.display.place} · {paper}, {tier}"


def _describe_card(card: Mapping[str, Any], tier: str) -> str:
    """Write the text by which the search finds an experiment: title, id, model, data and settings."""
    words = [str(value) for name, value, _ in card["settings"] if name in ("model", "data", "training")]
    words += [
        f"{name.rpartition('.')[2].replace('_', ' ')} {value if isinstance(value, str) else ''}".strip()
        for name, value, _ in card["settings"]
        if isinstance(value, str) or "dropout" in name
    ]
    key = card["experiment"].experiment
    return f"{card['entry'].title} {card['variant']} · {key} · {', '.join(dict.fromkeys(words))} · {tier}"


def _list_claims(document: Document, tiers: Mapping[str, Context]) -> list[dict[str, Any]]:
    """List every claim with its row and its decisions by tier; judged claims come first."""
    claims = []
    for answer in document.answers:
        claim = document.context.paper.claims[answer.claim]
        decisions = [_describe_decision(tier, context, answer) for tier, context in tiers.items()]
        claims.append(
            {
                "answer": answer,
                "claim": claim,
                "decisions": [decision for decision in decisions if decision],
                "rules": list_decision_rules(claim, answer.decision),
            }
        )
    return sorted(claims, key=lambda row: not row["decisions"])


def _describe_decision(tier: str, context: Context, answer: Answer) -> dict[str, Any] | None:
    """Return what one tier says of a claim; None if it did not judge it."""
    decision = context.claims.get(answer.claim)
    if decision is None or (decision.answer not in JUDGED and tier != answer.tier):
        return None
    name_setting = partial(name_alternative, context.paper)
    return {
        "tier": tier,
        "row": make_claim_cells(answer.claim, answer.title, decision),
        "co_primary_rows": make_co_primary_rows(decision, name_setting),
        "rows": make_comparison_rows(decision),
        "notes": render_claim_notes(decision),
        "alternatives": [
            (name_setting(name), alternative)
            for name, alternative in decision.alternatives.items()
            if (alternative.answer in JUDGED or alternative.flips) and name not in decision.co_primary
        ],
        "experiments": decision.experiments,
    }


def _list_setting_distances(context: Context) -> list[tuple[str, ...]]:
    """List the distance of each setting from the paper's numbers; none without alternatives."""
    settings = context.readings
    return make_reading_rows(settings) if len(settings) > 1 else []


def describe_alternatives(tiers: Mapping[str, Context]) -> dict[str, str]:
    """Describe the state of every alternative of the paper's assumptions, at the fullest tier that ran it."""
    results = [(tier, result) for tier, context in tiers.items() for result in list_alternative_results(context)]
    states = {result.suffix: result.state for _, result in reversed(results)}
    for tier, result in reversed(results):
        if result.has_runs:
            state = result.state
            states[result.suffix] = state if tier == FULL else f"{TIER_NAMES[tier].lower()}: {state}"
    return states


def _list_assumptions_with_runs(paper: Paper, states: Mapping[str, str]) -> list[str]:
    """List the assumptions with an alternative that was run."""
    return [
        key
        for key, entry in paper.assumptions.items()
        if any(states[f"{key}={name}"] not in ABSENCES for name in entry.alternatives)
    ]


def _make_display(context: Context, entry: Entry, folder: Path) -> dict[str, Any] | None:
    """Make a figure or table; None if its file is missing or none of its experiments was run."""
    if entry.display.function == "shared.claims" or find_absence(context, entry):
        return None
    is_figure = entry.kind == "figures"
    file = folder / entry.kind / f"{entry.name}.{'svg' if is_figure else 'csv'}"
    if not file.is_file():
        return None
    values = {
        "entry": entry,
        "facts": cards.describe_replicas(context, entry.id),
        "image": None,
        "table": None,
        "notes": "",
    }
    if is_figure:
        return values | {"image": _embed_image(file, context.tier)}
    # Made anew: a file may hold anything, and markup on the page is what wrote it, the project alone.
    table, closing_tag, notes = make_table(context, entry).to_html().rpartition("</table>")
    return values | {"table": Markup(table + closing_tag), "notes": Markup(notes)}


def _embed_image(file: Path, tier: str) -> Markup:
    """Write a drawing as the address of an image, in which a browser runs nothing.

    Inline, the identifiers of two drawings would collide. The address stays readable, since it then compresses well.
    """
    try:
        text = file.read_text(encoding="utf-8")
        if not ElementTree.fromstring(text).tag.endswith("svg"):
            raise ValueError
    except (ValueError, ElementTree.ParseError):
        raise UserError(f"{file}: not a drawing; run `python -m reprise render --tier {tier}`") from None
    return Markup(escape("data:image/svg+xml," + text.translate(_URL_ESCAPES)))


def _hash_script(script: str) -> str:
    """Return the hash that a Content-Security-Policy uses for a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
