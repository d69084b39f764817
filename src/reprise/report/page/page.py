"""The page: one file without a server, from the run records of every tier and the figures already drawn.

The first screen is plain HTML. All else is folded: its HTML stands compressed in the file and is unpacked where a
reader unfolds it. No markup comes from a file under results/: tables are made anew, drawings are images.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from reprise.config.displays import Entry, entries
from reprise.config.project import Project
from reprise.config.schema import Paper
from reprise.errors import UserError
from reprise.evidence.readings import HEAD, distances, lines
from reprise.evidence.stability import RISE
from reprise.evidence.verdicts import EQUIVALENCE_TAIL, JUDGED, TAIL
from reprise.evidence.verdicts.kinds import CLEAR
from reprise.files import write_atomically
from reprise.records.resolved import FULL
from reprise.report.page import cards
from reprise.report.page.forest import plot
from reprise.report.page.readme import REPLICATES, notes
from reprise.report.parts.answers import Answer, Tiers, judging
from reprise.report.parts.context import ABSENCES, Context
from reprise.report.parts.rows import HEADS, MARKS, claim_cells, judged_cells, rows_of
from reprise.report.parts.summary import Document, summarise
from reprise.report.parts.templates import environment, note_lines
from reprise.report.parts.verdicts import outcomes, rule, setting_words
from reprise.report.parts.words import PROTOCOLS
from reprise.report.render import find_absence, make_table

TIERS = {
    FULL: "the papers' own protocol",
    "reduced": "the papers' sizes at fewer epochs, folds or less text, as each experiment says",
    "quick": "minutes: every step of the pipeline on generated data; no replication",
}
"""In the order in which a claim's answer is looked for."""
_ASIDE = ("shared.claims", "shared.assumptions", "shared.printed", "shared.errata", "shared.checks")
"""Tables that are not the paper's own: the claims stand as rows, the others at the end of a document's section."""
_UNSAFE = str.maketrans({character: f"%{ord(character):02X}" for character in '"#%<>\\'})
"""What an address may not hold as it stands."""
_OWN = re.compile(r"(table|figure)-\d")


@dataclass(frozen=True)
class Origin:
    """Where a page comes from: the date and commit of the clone, and the address of its repository."""

    date: str = ""
    commit: str = ""
    repository: str = ""

    @classmethod
    def of(cls, root: Path) -> Origin:
        """Ask git; what it does not know is left out."""

        def ask(*words: str) -> str:
            done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
            return done.stdout.strip() if done.returncode == 0 else ""

        repository = ask("remote", "get-url", "origin")
        return cls(
            date=ask("log", "-1", "--format=%cs"),
            commit=ask("log", "-1", "--format=%h"),
            repository=repository.removesuffix(".git") if repository.startswith("https://") else "",
        )


def write_page(project: Project, tiers: Tiers, origin: Origin = Origin()) -> Path:
    """Write results/report.html and return its path."""
    path = project.root / "results" / "report.html"
    write_atomically(path, page(project, tiers, origin))
    return path


def page(project: Project, tiers: Tiers, origin: Origin = Origin()) -> str:
    """Make the text of the page; equal inputs give equal text.

    Args:
        project: The clone.
        tiers: The contexts of every tier that was collected. Claims are answered by the tiers of the papers' protocol
            and the reduced one; by the quick one where there is no other.
        origin: What the footer says of the clone.
    """
    tiers = {tier: tiers[tier] for tier in TIERS if tier in tiers}
    summary = summarise(tiers)
    blocks: dict[str, str] = {}
    index: list[tuple[str, str]] = []
    for document in summary.documents:
        blocks |= _blocks(project, document, {tier: contexts[document.id] for tier, contexts in tiers.items()}, index)
    blocks["index"] = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    script = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
    styles = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("forest.css", "page.css"))
    return _render(
        "page",
        summary=summary,
        notes=notes(summary),
        plots=[Markup(plot(summary, narrow=narrow)) for narrow in (False, True)],
        blocks={name: Markup(packed(text)) for name, text in blocks.items()},
        tiers=list(judging(tiers)),
        origin=origin,
        style=Markup("\n".join(styles)),
        script=Markup(script),
        script_hash=_script_hash(script),
    )


def _render(name: str, **values: Any) -> str:
    shared = {
        "heads": HEADS,
        "protocols": PROTOCOLS,
        "about": TIERS,
        "replicates": REPLICATES,
        "settings_head": HEAD,
        "marks": MARKS,
    }
    shared |= {"tail": TAIL, "equivalence_tail": EQUIVALENCE_TAIL, "clear": CLEAR, "rise": RISE}
    return environment(True).get_template(f"{name}.html.j2").render({**shared, **values})


def packed(text: str) -> str:
    """Pack a text as a browser's DecompressionStream("deflate") takes it, in base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode()


def _blocks(
    project: Project, document: Document, tiers: Mapping[str, Context], index: list[tuple[str, str]]
) -> dict[str, str]:
    """Make the folded parts of a document by name, and add its entries to the index: address, words."""
    paper, name = document.context.paper, document.id
    blocks: dict[str, str] = {}
    parts: list[dict[str, Any]] = []
    linked: set[str] = set()
    for tier, context in tiers.items():
        made = [
            d for e in entries({name: paper}).values() if (d := _display(context, e, project.root / "results" / tier))
        ]
        made.sort(key=lambda display: not _OWN.match(display["entry"].id))
        every = [cards.card(context, experiment) for experiment in context.experiments]
        every.sort(key=lambda card: not card["status"].run)
        ran = [card for card in every if card["status"].run]
        if not ran and not made:
            continue
        address = f"{name}/{tier}"
        part = {"tier": tier, "address": address, "ran": len(ran), "of": len(every), "paper": name}
        part["own"] = [d for d in made if d["entry"].display.function not in _ASIDE]
        part["absent"] = [(e, a) for e in entries({name: paper}).values() if (a := find_absence(context, e))]
        part["aside"] = [d for d in made if d["entry"].display.function in _ASIDE]
        parts.append(part)
        if parts[1:]:  # the fullest tier stands open in the document's section
            blocks[address] = _render("tier", part=part)
        blocks[f"{address}/experiments"] = _render("experiments", address=address, paper=name, cards=every)
        linked |= {f"{address}/experiments/{card['experiment'].experiment}" for card in every}
        index += [(f"{address}/{d['entry'].id}", _display_words(d["entry"], name, tier)) for d in made]
        index += [(f"{address}/experiments/{c['experiment'].experiment}", _card_words(c, tier)) for c in ran]
    index += [(a.link, f"{a.claim}: {a.title} · {paper.claims[a.claim].tested} · {name}") for a in document.answers]
    blocks[name] = _render(
        "paper",
        document=document,
        paper=paper,
        claims=_claims(document, tiers),
        parts=parts,
        linked=linked,
        settings=[(PROTOCOLS[tier], rows) for tier, context in tiers.items() if (rows := _settings(context))],
        outcomes=(states := _outcomes(tiers)),
        tried=(tried := _with_runs(paper, states)),
        untried=[key for key in paper.assumptions if key not in tried],
    )
    return blocks


def _display_words(entry: Entry, paper: str, tier: str) -> str:
    """Write what the search finds a figure or table by: its id as people say it, its title and its place."""
    return f"{entry.id.replace('-', ' ').capitalize()}: {entry.display.title} · {entry.display.place} · {paper}, {tier}"


def _card_words(card: Mapping[str, Any], tier: str) -> str:
    """Write what the search finds an experiment by: its title, id, model, data and settings that are words."""
    stated = [str(value) for name, value, _ in card["settings"] if name in ("model", "data", "training")]
    stated += [
        f"{name.rpartition('.')[2].replace('_', ' ')} {value if isinstance(value, str) else ''}".strip()
        for name, value, _ in card["settings"]
        if isinstance(value, str) or "dropout" in name
    ]
    key = card["experiment"].experiment
    return f"{card['entry'].title} {card['variant']} · {key} · {', '.join(dict.fromkeys(stated))} · {tier}"


def _claims(document: Document, tiers: Mapping[str, Context]) -> list[dict[str, Any]]:
    """Collect every claim with its row, and per tier its comparisons, notes and settings; those judged first."""
    made = []
    for answer in document.answers:
        claim = document.context.paper.claims[answer.claim]
        judged = [_judged(tier, context, answer) for tier, context in tiers.items()]
        made.append(
            {
                "answer": answer,
                "claim": claim,
                "judged": [part for part in judged if part],
                "rule": rule(claim, answer.decision),
            }
        )
    return sorted(made, key=lambda row: not row["judged"])


def _judged(tier: str, context: Context, answer: Answer) -> dict[str, Any] | None:
    """Collect what one tier says of a claim; None where it did not judge it."""
    decision = context.claims.get(answer.claim)
    if decision is None or (decision.answer not in JUDGED and tier != answer.tier):
        return None
    words = partial(setting_words, context.paper)
    return {
        "tier": tier,
        "row": claim_cells(answer.claim, answer.title, decision),
        "primary": [judged_cells(words(name), other) for name, other in decision.co_primary.items()],
        "rows": rows_of(decision),
        "notes": note_lines(decision),
        "alternatives": [
            (words(name), one) for name, one in decision.alternatives.items() if one.answer in JUDGED or one.flips
        ],
        "experiments": decision.experiments,
    }


def _settings(context: Context) -> list[tuple[str, ...]]:
    """List how near each setting is to the paper's numbers; none where only ours can be compared."""
    ranked = distances(context.paper, context.runs)
    return lines(ranked) if len(ranked) > 1 else []


def _outcomes(tiers: Mapping[str, Context]) -> dict[str, str]:
    """Say of every alternative of the paper's assumptions how far it is, at the fullest tier that has run it."""
    every = [(tier, outcome) for tier, context in tiers.items() for outcome in outcomes(context)]
    states = {outcome.suffix: outcome.state for _, outcome in reversed(every)}
    for tier, outcome in reversed(every):
        if outcome.was_run:
            state = outcome.state
            states[outcome.suffix] = state if tier == FULL else f"{PROTOCOLS[tier].lower()}: {state}"
    return states


def _with_runs(paper: Paper, states: Mapping[str, str]) -> list[str]:
    """List the assumptions with an alternative that was run."""
    return [
        key
        for key, entry in paper.assumptions.items()
        if any(states[f"{key}={name}"] not in ABSENCES for name in entry.alternatives)
    ]


def _display(context: Context, entry: Entry, folder: Path) -> dict[str, Any] | None:
    """Make a figure or table; None where its file is missing or no experiment of it was run."""
    if entry.display.function == "shared.claims" or find_absence(context, entry):
        return None
    figure = entry.kind == "figures"
    file = folder / entry.kind / f"{entry.name}.{'svg' if figure else 'csv'}"
    if not file.is_file():
        return None
    shown = {"entry": entry, "facts": cards.replicas_of(context, entry.id), "image": None, "table": None, "notes": ""}
    if figure:
        return shown | {"image": _image(file, context.tier)}
    # Made anew: a file may hold anything, and markup on the page is what wrote it, the project alone.
    table, end, notes_ = make_table(context, entry).html().rpartition("</table>")
    return shown | {"table": Markup(table + end), "notes": Markup(notes_)}


def _image(file: Path, tier: str) -> Markup:
    """Write a drawing as an address of an image, in which a browser runs nothing.

    Inline, identifiers inside one drawing would meet those of another. It stays readable, so that it is packed well.
    """
    try:
        text = file.read_text(encoding="utf-8")
        if not ElementTree.fromstring(text).tag.endswith("svg"):
            raise ValueError
    except (ValueError, ElementTree.ParseError):
        raise UserError(f"{file}: not a drawing; run `python -m reprise render --tier {tier}`") from None
    return Markup(escape("data:image/svg+xml," + text.translate(_UNSAFE)))


def _script_hash(script: str) -> str:
    """Return what a Content-Security-Policy calls a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
