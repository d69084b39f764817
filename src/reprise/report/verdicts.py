"""Verdicts where people look at numbers: beside the experiments that they rest on, and under other choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from reprise.evidence.verdicts import NOT_RUN, VERDICTS
from reprise.report.context import Context
from reprise.report.rounding import NONE, plural
from reprise.report.tables import Column, Table


def of_experiment(context: Context, name: str) -> str:
    """ "R1 reproduced; R4, R20 not run": the claims that rest on an experiment, or on a variant; "" without any."""
    base, _, suffix = name.partition("@")
    found: dict[str, list[str]] = {}
    for key, claim in in_order(context):
        judged = claim["alternatives"].get(suffix) if suffix else claim
        if judged and base in judged["experiments"]:
            found.setdefault(judged["verdict"], []).append(key)
    return "; ".join(f"{', '.join(found[verdict])} {verdict}" for verdict in VERDICTS if verdict in found)


def in_order(context: Context) -> list[tuple[str, Mapping[str, Any]]]:
    """What was found on each claim, in the order of the paper's file."""
    return [(key, context.claims[key]) for key in context.paper.claims if key in context.claims]


def beside(context: Context, table: Table) -> Table:
    """The table with a last column of the claims that rest on a row's experiment; itself where there are none.

    Of several rows of one experiment the first has them. "<paper>/<experiment>" is an experiment of another paper.
    """
    said, before = [], None
    for name in table.rows.experiment:
        paper, _, own = name.rpartition("/")
        there = context.papers.get(paper, context)
        said.append(of_experiment(there, own) if name != before else "")
        before = name
    if not any(said):
        return table
    columns = [*table.columns, Column("Claims", lambda row: row["claims"] or NONE, words=True)]
    return replace(table, columns=columns, rows=table.rows.assign(claims=said))


def was_judged(alternative: Mapping[str, Any]) -> bool:
    """Whether a claim has a verdict under an alternative and one under the choice to set beside it."""
    return NOT_RUN not in {alternative["verdict"], alternative["before"]}


def flips(alternatives: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """ "weight-law=corrected (direction only)" of every alternative that turns a claim."""
    return [f"{name} ({found['verdict']})" for name, found in alternatives.items() if found["flips"]]


def how_many_run(alternatives: Mapping[str, Mapping[str, Any]]) -> str:
    """ "2 of 5 alternatives run": of those that a claim can be judged under; "" where there is none."""
    run = sum(was_judged(found) for found in alternatives.values())
    return f"{run} of {plural(len(alternatives), 'alternative')} run" if alternatives else ""


def turns(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """ "U1, U3: inconclusive → direction only": claims with what they are as chosen and under one alternative."""
    found: dict[str, list[str]] = {}
    for key, entry in entries:
        turn = f"{entry['before']} → {entry['verdict']}"
        found.setdefault(NOT_RUN if turn == f"{NOT_RUN} → {NOT_RUN}" else turn, []).append(key)
    return "; ".join(f"{', '.join(keys)}: {turn}" for turn, keys in found.items())
