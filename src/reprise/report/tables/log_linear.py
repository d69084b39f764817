"""Document 004, Tables 1 to 3: a treebank's splits, sizes and tags, from the records of `corpus-facts` experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.report.context import Context, of_experiment
from reprise.report.rounding import NONE, fixed, integer
from reprise.report.tables import Column, Table
from reprise.report.words import settings

SPLITS = {"train": "Training", "valid": "Validation", "test1": "Test1", "test2": "Test2"}
STATISTICS = {
    "sentences": ("Total sentences", 0),
    "tokens": ("Tokens", 0),
    "average_sentence_length": ("Avg. sent. length", 2),
    "types": ("Types", 0),
    "token_type_ratio": ("Token-type ratio", 2),
}
"""Metric -> what Table 2 calls it, and its decimals there."""
_POS = "ADJ ADP ADV AUX CONJ DET INTJ NIL NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _"
_FEATURES = {
    "Case": "Abl Acc Nom Voc",
    "Definite": "Def Ind",
    "Degree": "Cmp",
    "Gender": "Fem Masc Neut",
    "Mood": "Cnd Imp Ind Sub",
    "Number": "Plur Sing",
    "Person": "1 2 3",
    "PronType": "Dem Ind Int Neg Prs Rel",
    "Reflex": "Yes",
    "Tense": "Fut Imp Past Pres",
    "VerbForm": "Fin Inf Part",
}
PAPER_TAGS = [f"{name}:{value}" for name, values in {"POS": _POS, **_FEATURES}.items() for value in values.split(" ")]
"""The 52 tags of Table 3, in its order; names that are cut there (POS:PUNC, POS:SCON, PronType:In) in full."""


def splits(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 1: sentences of every split, a row a corpus and split, with the variants that this tier has."""
    return _compared(context, table_id, [(split, "sentences", title, 0) for split, title in SPLITS.items()], "Split")


def statistics(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 2: sentences, tokens, types and their ratios, a row a corpus and number, with this tier's variants."""
    quantities = [("all", metric, title, places) for metric, (title, places) in STATISTICS.items()]
    return _compared(context, table_id, quantities, "Statistic")


def tags(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 3: a row a tag of the paper or of a corpus, with the tokens and types of each corpus that bear it."""
    names = context.cited_by(table_id)
    counts = {name: {kind: _by_tag(context, name, kind) for kind in ("tokens", "types")} for name in names}
    others = {tag for kinds in counts.values() for tag in kinds["tokens"]} - set(PAPER_TAGS)
    rows = []
    for tag in [*PAPER_TAGS, *sorted(others, key=lambda tag: (not tag.startswith("POS:"), tag))]:
        row: dict[str, Any] = {"tag": tag, "paper": tag in PAPER_TAGS}
        for name in names:
            for kind, found in counts[name].items():
                row[f"{name}.{kind}"] = found.get(tag, 0) if found else None
        rows.append(row)
    columns = [Column("Tag", lambda row: row["tag"], words=True)]
    columns.append(Column("In the paper", lambda row: "yes" if row["paper"] else "no", words=True))
    for name in names:
        title = context.paper.experiments[name].title
        absence = context.status(name).absence_of(counts[name]["tokens"] or None)
        columns += [_count_column(f"{title}: {kind}", f"{name}.{kind}", absence) for kind in ("tokens", "types")]
    return Table(columns, pd.DataFrame(rows), [_tag_note(context, name, counts[name]["tokens"]) for name in names])


def _compared(context: Context, table_id: str, quantities: list[tuple[str, str, str, int]], what: str) -> Table:
    """The paper's number and ours for (split, metric, title, decimals), of every cited experiment and its variants."""
    rows = []
    for name in _with_variants(context, context.cited_by(table_id)):
        for split, metric, title, places in quantities:
            values = context.values(name, metric, split)
            ours, paper = (float(values[0]) if len(values) else None), context.reported(name, metric, split)[1]
            given = ours is not None and paper is not None
            rows.append(
                {
                    "experiment": name,
                    "title": _title(context, name),
                    "corpus": _corpus(context, name),
                    "quantity": title,
                    "decimals": places,
                    "paper": paper,
                    "ours": ours,
                    "difference": ours - paper if given else None,
                    "absence": context.status(name).absence_of(ours),
                }
            )
    columns = [
        Column("Experiment", lambda row: row["title"], words=True),
        Column("Corpus", lambda row: row["corpus"], words=True),
        Column(what, lambda row: row["quantity"], words=True),
        Column("Paper", lambda row: fixed(row["paper"], row["decimals"])),
        Column("Ours", lambda row: row["absence"] if pd.isna(row["ours"]) else fixed(row["ours"], row["decimals"])),
        Column("Ours − paper", lambda row: fixed(row["difference"], row["decimals"])),
    ]
    return Table(columns, pd.DataFrame(rows))


def _with_variants(context: Context, names: list[str]) -> list[str]:
    """Each experiment, and after it those of its variants that this tier has."""
    variants = [e for e in context.experiments if e.assumption]
    return [run for name in names for run in (name, *(v.experiment for v in variants if v.base == name))]


def _title(context: Context, name: str) -> str:
    _, _, variant = name.partition("@")
    title = context.entry(name).title
    if not variant:
        return title
    assumption, _, alternative = variant.partition("=")
    return f"{title} ({settings(context.paper.assumptions[assumption].alternatives[alternative].settings)})"


def _corpus(context: Context, name: str) -> str:
    """The corpus that the tier reads, else the one of the paper's file."""
    resolved, stated = context.resolved(name), context.entry(name).data
    if resolved is not None:
        return context.dataset_title(resolved.config["data"]["dataset"])
    return context.dataset_title(stated.dataset) if stated else NONE


def _by_tag(context: Context, name: str, kind: str) -> dict[str, float]:
    """Tokens or types by tag, from the first finished replica; empty where there is none."""
    start = f"tag_{kind}."
    rows = of_experiment(context.metrics, name)
    rows = rows[(rows.status == "finished") & rows.metric.str.startswith(start)]
    return {row.metric.removeprefix(start): row.value for row in rows.drop_duplicates("metric").itertuples()}


def _count_column(title: str, key: str, absence: str) -> Column:
    return Column(title, lambda row: absence if pd.isna(row[key]) else integer(row[key]))


def _tag_note(context: Context, name: str, counts: Mapping[str, float]) -> str:
    title = f"{context.paper.experiments[name].title} ({_corpus(context, name)})"
    if not counts:
        return f"{title}: {context.status(name).absence_of(None)}."
    missing = [tag for tag in PAPER_TAGS if tag not in counts]
    added = sorted(set(counts) - set(PAPER_TAGS))
    named = [f"{words} {', '.join(them)}" for words, them in (("without", missing), ("besides", added)) if them]
    return f"{title}: {len(counts)} tags, the paper's {len(PAPER_TAGS)}{' ' + '; '.join(named) if named else ''}."
