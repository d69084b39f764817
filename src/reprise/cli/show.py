"""Show one experiment or claim, as a card of the page, or what a figure or table is made of."""

import argparse
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

from reprise.cli.common import (
    LOG_SUFFIX,
    describe_other_tiers,
    find_experiment,
    format_number,
    index_numbers,
    list_existing_records,
    load_tier,
    make_console,
    make_table,
    make_tier_error,
    summarise_values,
)
from reprise.config.claims import Claim
from reprise.config.displays import Entry, list_entries
from reprise.config.project import Project
from reprise.config.resolve import resolve_all
from reprise.config.schema import Paper
from reprise.errors import UserError
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import Decision, read_claims
from reprise.evidence.load import find_last_digits, load_paper, load_runs
from reprise.evidence.verdicts import JUDGED, NO_DATA
from reprise.evidence.verdicts.claims import asks_evaluations
from reprise.records.record import read_records
from reprise.records.resolved import FULL, Resolved
from reprise.units import is_ratio_scale

_NEIGHBOURS = 5
"""The number of neighbours listed of each word."""


def show_command(options: argparse.Namespace) -> None:
    """Show one experiment or claim: equation, settings with origins, records, the paper's number, ours, the command.

    Of a figure or table, <paper>-<name>, it shows the experiments and the commands that train and draw them again.
    """
    project, experiments = load_tier(options.tier)
    by_id = {e.id: e for e in experiments}
    paper, _, key = options.name.partition("/")
    if options.weights and not options.words:
        raise UserError(f"--weights {options.weights}: is read for --words alone; add --words, or omit it")
    if options.words:
        _print_neighbours(project, find_experiment(options.tier, options.name)[1], options.weights)
    elif options.name in by_id:
        _print_experiment(project, by_id[options.name])
    elif paper in project.papers and key in project.papers[paper].claims:
        decisions = {
            tier: read_claims(project.root, tier).get(paper, {}).get(key) for tier in (FULL, "reduced", "quick")
        }
        print(write_claim(paper, key, project.papers[paper], decisions, options.tier))
        _print_losses_by_count(project, paper, project.papers[paper].claims[key], options.tier)
    elif options.name in (displays := list_entries(project.papers, project.root)):
        _print_display(project, displays[options.name], experiments)
    elif options.name in project.papers:
        raise UserError(f"'{options.name}' is a paper; run `reprise list {options.name}`, or name what that lists")
    else:
        claims = [f"{name}/{claim}" for name, content in project.papers.items() for claim in content.claims]
        names = [*by_id, *claims, *displays]
        raise make_tier_error(project.config.tier, "experiment, claim, figure or table", options.name, names)


def _print_losses_by_count(project: Project, paper: str, claim: Claim, tier: str | None) -> None:
    """Print the losses by counts of words that a claim rests on, for each tier with evaluations of its models."""
    if not asks_evaluations(claim):
        return
    from reprise.report.papers.shared.tables import make_loss_table

    compared_names = {term.experiment for term in list_terms(claim)}
    names = [name for name in project.papers[paper].experiments if name in compared_names]
    for shown_tier in [tier] if tier else [FULL, "reduced"]:
        experiments = [
            e for e in resolve_all(project) if (e.tier, e.paper) == (shown_tier, paper) and e.experiment in names
        ]
        runs = load_paper(project, paper, experiments)
        losses = make_loss_table([runs[name] for name in names], claim.split)
        if len(losses.rows):
            title = f"\nNats per word by its count in the training text, {claim.split}, tier {shown_tier}"
            titles = [column.title for column in losses.columns]
            make_console().print(make_table(titles, losses.formatted_rows.to_numpy(), title=title))
            make_console().print(*losses.notes, sep="\n")


def _print_experiment(project: Project, experiment: Resolved) -> None:
    from reprise.report.page.cards import find_equations, list_settings, make_command

    out = make_console()
    line, heading = partial(out.print, soft_wrap=True), partial(out.print, style="bold cyan")
    entry = project.papers[experiment.paper].experiments[experiment.base]
    out.print(f"{experiment.id}: {experiment.title} (tier {experiment.tier})", style="bold")
    if experiment.assumption:
        out.print(f"variant: {experiment.assumption} = {experiment.alternative}")
    if entry.note:
        out.print(" ".join(entry.note.split()))
    if entry.model and (lines := find_equations(entry.model)):
        heading("\nequation")
        out.print(lines)
    heading(f"\nsettings (configuration {experiment.config_hash})")
    stated = ((name, str(value), origin) for name, value, origin in list_settings(experiment))
    out.print(make_table(("setting", "value", "from"), stated))
    records = read_records(experiment, project.root)
    heading(f"\nnumbers ({len(records)} of {experiment.replicas} replicas trained)")
    if rows := list(_make_number_rows(project, experiment, records)):
        out.print(make_table(("metric", "split", "paper", "ours", "SD", "n", "unit"), rows, id_columns=2))
    for record in records:
        run, path = record["run"], experiment.get_record_path(record["replica"])
        line(f"{path}: {record['status']}, {run['engine']}, {run['device']}, {run['wall_seconds']:.0f} s")
    if hint := describe_other_tiers(project.root, experiment.tier, experiment.id):
        line(hint)
    # With the engine that made the first record, which alone gives its bits again.
    heading("\ntrain it again" if records else "\ntrain it")
    line(make_command(experiment, next(((record["replica"], record["run"]["engine"]) for record in records), None)))


def _print_display(project: Project, entry: Entry, experiments: Sequence[Resolved]) -> None:
    """Print the experiments of a figure or table, its files, and the commands that train and draw them again."""
    out, display, tier = make_console(), entry.display, project.config.tier
    line, heading = partial(out.print, soft_wrap=True), partial(out.print, style="bold cyan")
    out.print(f"{entry.name}: {display.title} ({display.place}; tier {tier})", style="bold")
    out.print(" ".join(display.caption.split()))
    cited = [name for name, e in project.papers[entry.paper].experiments.items() if entry.id in e.cited_by]
    shown = [e for e in experiments if e.paper == entry.paper and e.experiment in cited]
    heading("\nexperiments")
    counts = ((e.id, e.title, f"{len(list_existing_records(e, project.root))} of {e.replicas}") for e in shown)
    out.print(make_table(("experiment", "title", "trained"), counts))
    for path in sorted((project.root / "results" / tier / entry.kind).glob(f"{entry.name}.*")):
        line(str(path.relative_to(project.root)))
    heading("\ndraw it again")
    line(f"reprise render {entry.name} --tier {tier}")
    if shown:
        heading("\ntrain it again, in another clone")
        # One experiment a corpus: the paper's other corpora may be missing.
        readers = {e.corpus: e.id for e in reversed(shown) if e.corpus}.values()
        steps = ("fetch", "prepare") if readers else ()
        commands = [
            *(f"reprise {step} {shlex.join(reversed(readers))} --tier {tier}" for step in steps),
            f"rm -rf {shlex.join(str(Path(e.get_record_path(0)).parent) for e in shown)}",
            f"reprise run --tier {tier} --experiment {shlex.join(e.id for e in shown)}",
            f"reprise collect --tier {tier}",
            f"reprise verify --tier {tier}",
            f"reprise render {entry.name} --tier {tier}",
        ]
        line(" &&\n".join(commands))


def _print_neighbours(project: Project, experiment: Resolved, weights: Path | None) -> None:
    """Print the words whose matrix is their own, each with its neighbours by vector and by matrix.

    Both are compared by the cosine. Document 001 compares none. Its motivation is that predicates and function words
    act on what was read, and so have matrices of their own.
    """
    from reprise.cli.evaluate import find_corpus, load_trained, require_trained
    from reprise.data.corpus import Corpus
    from reprise.evaluation.neighbours import find_neighbours, find_words_with_matrices

    require_trained(project, experiment, 0, weights)
    corpus = find_corpus(project, experiment, None)
    training = load_trained(project, experiment, 0, weights, corpus).training
    model, out = training.get_readable_model(), make_console()
    if (tables := find_words_with_matrices(model)) is None:
        raise UserError(f"{experiment.id}: has no matrices of single words; name an r-RNTN, an r-GRU or an r-LSTM")
    vocabulary, (vectors, matrices) = Corpus.load(corpus).vocabulary, tables
    words = range(len(matrices) - 1)  # the last matrix is that of all other words
    by_vector, by_matrix = (find_neighbours(table[: len(words)], _NEIGHBOURS) for table in (vectors, matrices))
    rows = (
        (
            vocabulary[word],
            *(", ".join(vocabulary[i] for i in neighbours_of[word]) for neighbours_of in (by_vector, by_matrix)),
        )
        for word in words
    )
    out.print(f"{experiment.id}, replica 0: nearest words by cosine, among the {len(words)} with a matrix of their own")
    out.print(make_table(("word", "by embedding", "by matrix"), rows))


def write_claim(
    paper_id: str, key: str, paper: Paper, decisions: Mapping[str, Decision | None], tier: str | None = None
) -> str:
    """Write a claim at a tier; without a tier, at the fullest one that judged it.

    Args:
        paper_id: The paper's id.
        key: The claim's id.
        paper: The paper's file.
        decisions: The claim's decision by tier, the fullest first; None for a tier that was not judged.
        tier: The tier that is shown.

    Returns:
        The card, wrapped to the width of the console.
    """
    from reprise.report.parts.answers import select_answer
    from reprise.report.parts.rows import make_comparison_rows
    from reprise.report.parts.templates import render_claim_notes, render_text
    from reprise.report.parts.verdicts import list_decision_rules
    from reprise.report.parts.wording import explain_symbols

    claim = paper.claims[key]
    answer = select_answer(paper_id, key, claim.label, _select_decisions(decisions, tier))
    decision = answer.decision
    rows = make_comparison_rows(decision) if decision else []
    written = " ".join([claim.tested, answer.cells.compared, *(row.compared for row in rows)])
    text = render_text(
        "claim.txt.j2",
        symbols=explain_symbols(paper.symbols, written),
        paper=paper_id,
        key=key,
        claim=claim,
        answer=answer,
        missing_data=_describe_missing_data(decisions, answer.tier),
        rows=rows,
        notes=render_claim_notes(decision) if decision else [],
        **_list_judged_settings(paper, decision),
        rules=list_decision_rules(claim, decision),
        other_tiers=_list_other_tiers(key, claim, decisions, answer.tier),
        experiments=decision.n if decision else dict.fromkeys(side.experiment for _, side in claim.list_sides()),
    )
    return _wrap_text(text.strip())


def _list_judged_settings(paper: Paper, decision: Decision | None) -> dict[str, list[tuple[Any, ...]]]:
    """List the settings of equal rank and the judged alternatives of a decision, for the card's template."""
    from reprise.report.parts.rows import make_co_primary_rows
    from reprise.report.parts.verdicts import name_alternative

    if decision is None:
        return {"co_primary": [], "alternatives": []}
    return {
        "co_primary": make_co_primary_rows(decision, partial(name_alternative, paper)),
        "alternatives": [
            (name_alternative(paper, suffix), alternative)
            for suffix, alternative in decision.alternatives.items()
            if alternative.answer in JUDGED and suffix not in decision.co_primary
        ],
    }


def _list_other_tiers(
    key: str, claim: Claim, decisions: Mapping[str, Decision | None], shown_tier: str
) -> list[tuple[str, Any]]:
    """List the rows of a claim at the tiers besides the shown one and `quick`, if they judged it."""
    from reprise.report.parts.rows import make_claim_cells

    return [
        (tier, make_claim_cells(key, claim.label, decision))
        for tier, decision in decisions.items()
        if tier not in (shown_tier, "quick") and decision and decision.answer in JUDGED
    ]


def _select_decisions(decisions: Mapping[str, Decision | None], tier: str | None) -> Mapping[str, Decision | None]:
    """Select the decisions of the named tier; else of all tiers, with `quick` only if no other tier judged."""
    if tier:
        return {tier: decisions[tier]}
    without_quick = {name: decision for name, decision in decisions.items() if name != "quick"}
    return without_quick if any(without_quick.values()) else decisions


def _describe_missing_data(decisions: Mapping[str, Decision | None], tier: str) -> list[str]:
    """Describe why the fullest tier without data has none, if that is not the shown tier."""
    from reprise.report.parts.rows import ANSWER_NAMES
    from reprise.report.parts.templates import render_claim_notes

    lines = [
        f"Tier {name}: {ANSWER_NAMES[decision.answer]}. {' '.join(render_claim_notes(decision))}"
        for name, decision in decisions.items()
        if decision and decision.answer == NO_DATA and name != tier
    ]
    return lines[:1]


def _wrap_text(text: str) -> str:
    """Wrap lines at blanks to the width of the console, with their indents; no identifier breaks."""
    width, lines = make_console().width, []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(lines)


def _make_number_rows(
    project: Project, experiment: Resolved, records: list[dict[str, Any]]
) -> Iterator[tuple[str, ...]]:
    """Yield a row a metric and split: those that the paper prints first."""
    entry = project.papers[experiment.paper].experiments[experiment.base]
    # Nobody compares perplexities of two texts.
    is_other_text = entry.data is not None and entry.data.dataset != experiment.config.get("data", {}).get("dataset")
    stated = {(r.metric, r.split): r for r in entry.reported}
    digits = find_last_digits(project.papers[experiment.paper])[experiment.base]
    measured: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for record in records:
        for key, number in index_numbers(record).items():
            measured.setdefault(key, []).append(number)
    for key in dict.fromkeys([*stated, *measured]):
        paper, numbers = stated.get(key), measured.get(key, [])
        is_log = is_ratio_scale(key[0])
        center, deviation = summarise_values([value for value, _ in numbers], is_log) if numbers else (None, None)
        printed = (
            ""
            if paper is None or paper.value is None
            else f"{paper.value:.{-round(math.log10(digits[key]))}f} {paper.unit or ''}".strip()
        )
        if printed and numbers and paper.unit not in (None, numbers[0][1]):
            runs = load_runs(project, [experiment])[experiment.paper][experiment.experiment]
            converted = runs.get_reported_in_our_unit(key)
            printed += "" if converted is None else f" = {format_number(converted)}"
        if printed and is_other_text:
            printed += " (another text)"
        mean, sd = ("" if value is None else format_number(value) for value in (center, deviation))
        sd += LOG_SUFFIX if sd and is_log else ""
        unit = numbers[0][1] if numbers and numbers[0][1] != "1" else ""
        yield *key, printed, mean, sd, str(len(numbers)), unit
