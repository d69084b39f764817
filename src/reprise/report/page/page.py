"""The page: one file without a server, from what was collected at every tier and the files already rendered.

The first screen is plain HTML. All else is folded: its HTML stands compressed in the file and is unpacked where a
reader unfolds it.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reprise.config.displays import Entry, entries
from reprise.config.project import Project
from reprise.errors import UserError
from reprise.evidence.readings import HEAD
from reprise.evidence.verdicts import EQUIVALENCE_TAIL, JUDGED, TAIL
from reprise.evidence.verdicts.kinds import CLEAR
from reprise.evidence.words.forms import number, percent
from reprise.evidence.words.sentences import answer as words_of
from reprise.evidence.words.sentences import reading_line, size_words
from reprise.files import write_atomically
from reprise.records.resolved import FULL
from reprise.report.page import cards, first
from reprise.report.page.answers import Answer, Tiers, answers, judging, of_paper
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import fixed, integer
from reprise.report.parts.verdicts import comparisons, decided_by, outcomes, reading_table, under
from reprise.report.parts.words import PROTOCOLS, cut, sentence
from reprise.report.render import find_function

TIERS = {
    FULL: "the papers' own protocol",
    "reduced": "the papers' sizes at fewer epochs, folds or less text, as each experiment says",
    "quick": "minutes: every step of the pipeline on generated data; no replication",
}
"""In the order in which a claim's answer is looked for."""
_FILTERS = (sentence, cut, integer, fixed, number, percent)
_GLOBALS = {"comparisons": comparisons, "under": under, "words_of": words_of, "size_words": size_words}
_GLOBALS |= {"reading_line": reading_line}
_GLOBALS |= {"protocols": PROTOCOLS, "about": TIERS, "head": HEAD}
_GLOBALS |= {"tail": TAIL, "equivalence_tail": EQUIVALENCE_TAIL, "clear": CLEAR}


def write_page(project: Project, tiers: Tiers) -> Path:
    """Writes results/report.html from the files that are there; returns its path."""
    path = project.root / "results" / "report.html"
    write_atomically(path, page(project, tiers))
    return path


def page(project: Project, tiers: Tiers) -> str:
    """The text of the page; equal inputs give equal text.

    `tiers`: the contexts of every tier that was collected. Claims are answered by the tiers of the papers' protocol
    and the reduced one; by the quick one where there is no other.
    """
    tiers = {tier: tiers[tier] for tier in TIERS if tier in tiers}
    judged = judging(tiers)
    contexts = list(next(iter(tiers.values())).values())
    found = answers(judged)
    layout = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, **layout)
    environment.filters |= {function.__name__: function for function in _FILTERS}
    environment.globals |= _GLOBALS
    blocks, index = {}, []
    for context in contexts:
        here = {tier: there[context.paper_id] for tier, there in tiers.items()}
        blocks |= _blocks(environment, project, context, here, of_paper(found, context.paper_id), index)
    script = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
    blocks["index"] = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    return environment.get_template("page.html.j2").render(
        overall=first.overall(found, contexts),
        sentences=first.sentences(found, contexts),
        plots=[Markup(first.plot(found, contexts, narrow=narrow)) for narrow in (False, True)],
        strips=first.strips(found),
        trust=first.trust(judged, found),
        blocks={name: Markup(packed(text)) for name, text in blocks.items()},
        tiers=list(judged),
        script=Markup(script),
        script_hash=_script_hash(script),
    )


def packed(text: str) -> str:
    """A text as a browser's DecompressionStream("deflate") takes it, in base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode()


def _blocks(
    environment: Environment,
    project: Project,
    context: Context,
    tiers: Mapping[str, Context],
    found: Sequence[Answer],
    index: list[list[str]],
) -> dict[str, str]:
    """The folded parts of a paper by name, and their entries in the index: address, words."""
    paper, name = context.paper, context.paper_id
    blocks, parts = {}, []
    shown = [entry for entry in entries({name: paper}).values() if entry.display.function != "shared.claims"]
    for tier, here in tiers.items():
        displays = [d for entry in shown if (d := _display(here, entry, project.root / "results" / tier))]
        experiments = [cards.card(here, experiment) for experiment in here.experiments]
        experiments.sort(key=lambda card: not card["status"].run)
        ran = [card for card in experiments if card["status"].run]
        if not ran and not displays:
            continue
        address = f"{name}/{tier}"
        parts.append({"tier": tier, "ran": len(ran), "of": len(experiments)})
        given = {"address": address, "paper": name, "tier": tier, "displays": displays, "cards": experiments}
        for block, template in ((address, "tier"), (f"{address}/experiments", "experiments")):
            blocks[block] = environment.get_template(f"{template}.html.j2").render(given)
        for display in displays:
            entry = display["entry"]
            index.append([f"{address}/{entry.id}", f"{entry.display.title} · {name}, {tier}"])
        for card in ran:
            key = card["experiment"].experiment
            words = f"{card['entry'].title} {card['variant']} · {key} · {tier}"
            index.append([f"{address}/experiments/{key}", words])
    index += [[answer.link, f"{answer.claim}: {answer.text} · {name}"] for answer in found]
    blocks[name] = environment.get_template("paper.html.j2").render(
        id=name,
        paper=paper,
        claims=_claims(found, tiers),
        tiers=parts,
        readings=[(PROTOCOLS[tier], there) for tier, here in tiers.items() if (there := reading_table(here))],
        outcomes=_outcomes(tiers),
    )
    return blocks


def _claims(found: Sequence[Answer], tiers: Mapping[str, Context]) -> list[dict[str, Any]]:
    """Every claim with what claims.json says of it at each tier that judged it; those that were judged first."""
    rows = []
    for answer in found:
        there = {tier: c.claims[answer.claim] for tier, c in tiers.items() if answer.claim in c.claims}
        judged = {tier: decision for tier, decision in there.items() if decision.answer in JUDGED}
        claim = next(iter(tiers.values())).paper.claims[answer.claim]
        decided = decided_by(claim, next(iter(there.values()), None))
        rows.append({"answer": answer, "claim": claim, "judged": judged, "decided": decided})
    return sorted(rows, key=lambda row: not row["judged"])


def _outcomes(tiers: Mapping[str, Context]) -> dict[str, str]:
    """Of every alternative of the paper's assumptions how far it is, at the fullest tier that has run it."""
    found: dict[str, str] = {}
    for tier, context in tiers.items():
        for outcome in outcomes(context):
            key = outcome.suffix
            if key not in found or (outcome.status.run and found[key] == outcome.status.absence):
                late = tier != FULL and outcome.status.run
                found[key] = f"{PROTOCOLS[tier].lower()}: {outcome.state}" if late else outcome.state
    return found


def _display(context: Context, entry: Entry, folder: Path) -> dict[str, Any] | None:
    """A figure or table; None where its file is missing or no experiment of it was run."""
    if context.of_experiments(entry.id) and not context.total(context.cited_by(entry.id)).run:
        return None
    figure = entry.kind == "figures"
    file = folder / entry.kind / f"{entry.name}.{'svg' if figure else 'csv'}"
    if not file.is_file():
        return None
    shown = {"entry": entry, "facts": cards.replicas_of(context, entry.id), "image": None}
    if figure:
        return shown | {"image": _image(file, context.tier)}
    # Drawn anew: a file may hold anything, and markup on the page is what wrote it, the project alone.
    made = find_function(entry.kind, entry.display.function)(context, entry.id, entry.options()).html()
    table, end, notes = made.rpartition("</table>")
    return shown | {"table": Markup(re.sub("<th(?=[ >])", '<th scope="col"', table) + end), "notes": Markup(notes)}


def _image(file: Path, tier: str) -> Markup:
    """A drawing as an address of an image, in which a browser runs nothing.

    Inline, identifiers inside one drawing would meet those of another. It stays readable, so that it is packed well.
    """
    try:
        text = file.read_text(encoding="utf-8")
        if not ElementTree.fromstring(text).tag.endswith("svg"):
            raise ValueError
    except (ValueError, ElementTree.ParseError):
        raise UserError(f"{file}: not a drawing; run `python -m reprise render --tier {tier}`") from None
    return Markup(escape("data:image/svg+xml," + quote(text, safe=" \n!$&'()*+,-./:;=?@[]_~{}|^`")))


def _script_hash(script: str) -> str:
    """What a Content-Security-Policy calls a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
