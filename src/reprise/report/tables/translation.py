"""Document 003, section 2.6: the translation model with its extensions one after another, and what it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reprise.report import verdicts
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import NONE, fixed, integer, least_of, mean, spread
from reprise.report.spreads import INTERVAL, measured, noted, passes
from reprise.report.tables import Column, Table
from reprise.report.translation import corpora, signatures, translations
from reprise.report.words import counted, replicas_or_absence

_QUANTITIES = {
    "perplexity": ("perplexity", "test"),
    "bleu": ("bleu", "test"),
    "valid_perplexity": ("perplexity", "valid"),
    "best_epoch": ("best_epoch", "valid"),
}


def ladder(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a model: test perplexity and BLEU, validation perplexity and the epoch that they are of."""
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_row(context, name) for name in names]).astype({"parameters": "Int64"})
    notes = [f"BLEU by sacrebleu, {found.removeprefix('BLEU|')}." for found in signatures(context, names)]
    notes += [*_alike(rows), *_cut_short(context, rows)]
    cut = passes(rows, *((key, f"{key}_reach") for key in ("perplexity", "valid_perplexity")))
    notes += [*corpora(context, names), *noted(context, names, rows, least=cut)]
    return verdicts.beside(context, Table(_COLUMNS, rows, notes), lambda row: ("perplexity *", "bleu *"))


def _alike(rows: pd.DataFrame) -> list[str]:
    """The sentence on models that have one translation for everything: their numbers do not depend on the source."""
    titles = [_title(row, int(row["alike"])) for row in rows.to_dict("records") if row["alike"]]
    if not titles:
        return []
    said = "One and the same translation of all sentences, so that nothing of a source is in it"
    return [f"{said}: {'; '.join(titles)}."]


def _cut_short(context: Context, rows: pd.DataFrame) -> list[str]:
    """The sentence on models whose best epoch is the last one that is allowed: more epochs might be better."""
    titles = []
    for row in rows.to_dict("records"):
        most = context.setting(row["experiment"], "training.max_epochs")
        last = int((context.values(row["experiment"], "best_epoch", "valid") == most).sum())
        if last:
            titles.append(_title(row, last))
    if not titles:
        return []
    return [f"The best epoch is the last that this tier allows, so that more might be better: {'; '.join(titles)}."]


def _title(row: Mapping[str, Any], concerned: int) -> str:
    """The model's title, and of how many of its replicas something is said where it has several."""
    return f"{row['title']} ({concerned} of {row['n']} replicas)" if row["n"] > 1 else row["title"]


def _row(context: Context, name: str) -> dict[str, Any]:
    parameters = of_experiment(context.metrics, name).parameters.dropna()
    texts = [sample["texts"] for sample in translations(context, name)]
    row = {
        "experiment": name,
        "title": context.entry(name).title,
        "parameters": int(parameters.iloc[0]) if len(parameters) else None,
        "different": mean([len(set(found)) for found in texts]),
        "translated": len(texts[0]) if texts else None,
        "alike": sum(len(found) > 1 and len(set(found)) == 1 for found in texts),
        **counted(context.status(name)),
    }
    for key, quantity in _QUANTITIES.items():
        found = measured(context, name, *quantity)
        row |= {key: found.mean, f"{key}_std": found.own, f"{key}_reach": found.reach}
    return row


def examples(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Rows of each sentence: its source and reference, and what the first replica of each model makes of it."""
    names = context.cited_by(table_id)
    shown = {
        name: {sample["line"]: sample for sample in context.samples(name) if sample["kind"] == "example"}
        for name in names
    }
    rows: list[dict[str, Any]] = []
    # Models of one tier may read different texts: a text is told by its line and its source.
    texts = dict.fromkeys((line, s["source"], s["reference"]) for found in shown.values() for line, s in found.items())
    for line, source, reference in sorted(texts):
        rows += [_said(line, "source", source), _said(line, "reference", reference)]
        for name in names:
            sample = shown[name].get(line)
            if sample and sample["source"] == source:
                rows.append(_said(line, context.entry(name).title, sample["text"]))
    columns = [
        Column("Line", lambda row: integer(row["line"]) if row["whose"] == "source" else ""),
        Column("Whose", lambda row: row["whose"], words=True),
        Column("Text", lambda row: row["text"], words=True),
    ]
    absent = [f"{context.entry(name).title}: {context.status(name).absence}." for name in names if not shown[name]]
    used = dict.fromkeys(context.replaced_dataset(n) or context.entry(n).data.dataset for n in names if shown[n])
    cited = [f"Sources and references: {_of(context, dataset)}." for dataset in used]
    return Table(columns, pd.DataFrame(rows, columns=["line", "whose", "text"]), [*cited, *absent])


def _said(line: int, whose: str, text: str) -> dict[str, Any]:
    return {"line": line, "whose": whose, "text": text}


def _of(context: Context, name: str) -> str:
    dataset = context.datasets[name]
    return f"{dataset.title} ({dataset.licence})"


def _different(row: Mapping[str, Any]) -> str:
    """Of all test sentences, how many were not translated like another one."""
    return NONE if pd.isna(row["different"]) else f"{integer(row['different'])} of {integer(row['translated'])}"


def _spread(key: str, places: int) -> Any:
    least = least_of(_QUANTITIES[key][0])
    return lambda row: spread(row[key], row[f"{key}_reach"], places, least=least)


_COLUMNS = [
    Column("Model", lambda row: row["title"], words=True),
    Column("Parameters", lambda row: integer(row["parameters"])),
    Column(f"Test perplexity ± {INTERVAL}", _spread("perplexity", 2)),
    Column(f"BLEU ± {INTERVAL}", _spread("bleu", 2)),
    Column("Different translations", _different),
    Column(f"Validation perplexity ± {INTERVAL}", _spread("valid_perplexity", 2)),
    Column("Epoch", lambda row: fixed(row["best_epoch"], 0 if row["n"] == 1 else 1)),
    Column("Replicas", replicas_or_absence),
]
